package activities

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// An assembly is what the first attempt decided and later attempts reuse. See spec §4.7.4.
type assembly struct {
	System  string               `json:"system,omitempty"`
	Tools   []session.ToolSchema `json:"tools,omitempty"`
	Entered []session.Message    `json:"entered,omitempty"`
	Series  bool                 `json:"series,omitempty"`
	Start   int64                `json:"start"` // seq of step/start
}

// assemblyMediaType marks a stored assembly.
const assemblyMediaType = "application/vnd.everturn.assembly+json"

// assemble renders prompt, tools and runtime contexts: §4.4.1–3. Later attempts read what the first one decided.
func (s *step) assemble(ctx context.Context) (*work.StepOut, error) {
	if s.in.Attempt > 1 {
		return s.reassemble(ctx)
	}
	parts, err := s.kind.Assemble(s.acts.at(ctx, "assemble"), s.view())
	if err != nil {
		return s.fail(ctx, fmt.Errorf("assembly: %w", err))
	}
	tools, err := canonical(parts.Tools)
	if err != nil {
		return s.fail(ctx, fmt.Errorf("assembly: %w", err))
	}
	s.asm, s.parts, s.silent = assembly{System: parts.System, Tools: tools}, parts.Contexts, parts.NoSnapshot
	if err := s.point(ctx, "step/assembled"); err != nil {
		return nil, err
	}
	if out, err := s.check(ctx); out != nil || err != nil {
		return out, err
	}
	s.snapshot, err = s.findSnapshot(ctx, parts.Contexts)
	if err != nil {
		return s.stopped(ctx, err)
	}
	return nil, nil
}

// reassemble reads the assembly of attempt 1.
func (s *step) reassemble(ctx context.Context) (*work.StepOut, error) {
	data, err := s.Store.Blob(ctx, s.in.Assembly)
	if err != nil {
		return s.stopped(ctx, fmt.Errorf("assembly of attempt 1: %w", err))
	}
	if err := json.Unmarshal(data, &s.asm); err != nil {
		return s.fail(ctx, fmt.Errorf("assembly of attempt 1: %w", err))
	}
	s.asmHash = s.in.Assembly
	s.asm.Series = false // counts for the first attempt only, §8.5
	return s.check(ctx)
}

// A kept assembly is stored, or is not.
type kept struct {
	hash string
	err  error
}

// keep stores the assembly beside the rest of the step; [step.begin] waits for it. A lean step has it in its journal, and
// stores it only for another attempt.
func (s *step) keep(ctx context.Context) {
	if s.lean() {
		return
	}
	done := make(chan kept, 1)
	s.kept = done
	s.beside.Go(func() {
		hash, err := s.storeAssembly(ctx, quickTries)
		done <- kept{hash, err}
	})
}

// keepForRetry stores an assembly that only the journal has so far: the next attempt knows it by its hash.
func (s *step) keepForRetry(ctx context.Context) (err error) {
	if s.asmHash == "" {
		s.asmHash, err = s.storeAssembly(ctx, patientTries)
	}
	return err
}

func (s *step) storeAssembly(ctx context.Context, tries int) (hash string, err error) {
	data, err := json.Marshal(s.asm)
	if err != nil {
		return "", fmt.Errorf("assembly: %w", err)
	}
	err = s.try(ctx, tries, func(ctx context.Context) error {
		ref, err := s.Store.PutBlob(ctx, data, assemblyMediaType)
		hash = ref.SHA256
		return err
	})
	return hash, err
}

// canonical writes the schemas as a log that is read again has them.
func canonical(tools []session.ToolSchema) ([]session.ToolSchema, error) {
	for i, t := range tools {
		raw, err := json.Marshal(t.Parameters)
		if err != nil {
			return nil, fmt.Errorf("tool %s: parameters: %w", t.Name, err)
		}
		tools[i].Parameters = raw
	}
	return tools, nil
}
