package activities

import (
	"context"
	"fmt"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/tools"
)

// inlineTotal bounds the arguments that travel in one answer, in bytes.
const inlineTotal = 64 << 10

// calls are the tool calls of a message with the traits of their tools. See spec §4.8.1.
func (s *step) calls(ctx context.Context, content session.Content) ([]work.Call, error) {
	var out []work.Call
	total, view := 0, viewOf(s.kind, s.spec, s.in.Ident.Session, s.in.Turn, s.in.Step)
	for _, b := range content.ToolCalls() {
		c := work.Call{ID: b.ID, Name: b.Name, Arguments: b.Arguments, Effect: string(tools.Once), Gated: s.kind.gated(), Posted: s.kind.posted()}
		if t, ok := s.kind.tool(view, b.Name); ok {
			c.Parallel = t.ParallelWith(b.Arguments)
			c.Effect, c.Queue = string(effectOf(t)), t.Queue
			c.TimeoutMS = timeoutOf(t).Milliseconds()
			c.Gated = c.Gated || t.NeedsApproval != ""
		}
		if total += len(b.Arguments); len(b.Arguments) > work.InlineLimit || total > inlineTotal {
			ref, err := s.storeArguments(ctx, b.Arguments)
			if err != nil {
				return nil, fmt.Errorf("arguments of call %s: %w", b.ID, err)
			}
			c.Arguments, c.Blob = "", &ref
		}
		out = append(out, c)
	}
	return out, nil
}

func (a *Activities) storeArguments(ctx context.Context, text string) (ref session.Artifact, err error) {
	err = a.try(ctx, patientTries, func(ctx context.Context) error {
		ref, err = a.Store.PutBlob(ctx, []byte(text), work.ArgumentsMediaType)
		return err
	})
	return ref, err
}
