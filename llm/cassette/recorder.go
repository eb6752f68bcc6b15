package cassette

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"os"
	"sync"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
)

// A Recorder is a provider that writes down what another one does. Close it to learn whether all of it was written.
type Recorder struct {
	inner llm.Provider

	mu       sync.Mutex
	out      io.WriteCloser
	prepared map[string]bool // configurations that were written
	err      error           // the first one
}

var _ llm.Provider = (*Recorder)(nil)

// Record begins a recording. An existing file is replaced.
func Record(inner llm.Provider, path string) (*Recorder, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("record cassette: %w", err)
	}
	r := &Recorder{inner: inner, out: f, prepared: map[string]bool{}}
	r.write(line{Header: &header{Version: version, Provider: inner.Name()}})
	return r, nil
}

// Name is the inner provider's.
func (r *Recorder) Name() string { return r.inner.Name() }

// Prepare prepares a call with the inner provider. What comes of a configuration is written once.
func (r *Recorder) Prepare(ctx context.Context, config session.CallConfig) (*llm.Prepared, error) {
	call, err := r.inner.Prepare(ctx, config)
	if err != nil {
		f := llm.FailureOf(err)
		r.writePrepared(prepared{Config: config, Failure: &f})
		return nil, err
	}
	r.writePrepared(prepared{Config: config, Facts: factsOf(call)})
	recorded := *call
	recorded.Stream = func(ctx context.Context, req llm.Request) iter.Seq2[session.Chunk, error] {
		return r.stream(ctx, call, req)
	}
	return &recorded, nil
}

func factsOf(p *llm.Prepared) *facts {
	return &facts{
		Config: p.Config, Defaults: p.Defaults, ContextWindow: p.ContextWindow,
		SystemPromptUpdate: p.SystemPromptUpdate, Images: p.Images, Retry: p.Retry, Idle: p.Idle,
	}
}

// stream passes a stream through and writes it down when it is over, however it ends.
func (r *Recorder) stream(ctx context.Context, call *llm.Prepared, req llm.Request) iter.Seq2[session.Chunk, error] {
	return func(yield func(session.Chunk, error) bool) {
		s := &stream{Request: DigestOf(req), Chunks: chunks{}, Cut: true}
		defer func() { r.write(line{Stream: s}) }()
		for chunk, err := range call.Stream(ctx, req) {
			s.add(ctx, chunk, err)
			if !yield(chunk, err) {
				return
			}
		}
		s.Cut = ctx.Err() != nil && s.Cut
	}
}

func (s *stream) add(ctx context.Context, chunk session.Chunk, err error) {
	switch {
	case err != nil && ctx.Err() != nil: // the caller's doing
	case err != nil:
		f := llm.FailureOf(err)
		s.Failure, s.Cut = &f, false
	default:
		s.Chunks = append(s.Chunks, chunk)
		if _, last := chunk.(session.Finish); last {
			s.Cut = false
		}
	}
}

func (r *Recorder) writePrepared(p prepared) {
	key := text(p.Config)
	r.mu.Lock()
	written := r.prepared[key]
	r.prepared[key] = true
	r.mu.Unlock()
	if !written {
		r.write(line{Prepare: &p})
	}
}

func (r *Recorder) write(l line) {
	raw, err := json.Marshal(l)
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		_, err = r.out.Write(append(raw, '\n'))
	}
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("record cassette: %w", err)
	}
}

// Close ends the recording.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.out.Close(); err != nil && r.err == nil {
		r.err = fmt.Errorf("record cassette: %w", err)
	}
	return r.err
}
