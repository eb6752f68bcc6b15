package activities

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/everturn/everturn/internal/stream"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
)

// An exchange is one call of the model: what it has said so far.
type exchange struct {
	asm  session.Assembler
	seqs []int64 // of its chunks
	n    int     // of the next frame
	own  error   // an exception that is not the provider's
	cut  bool    // the call was cancelled before its end
}

// converse calls the model and settles what it said. See spec §4.7.
func (s *step) converse(ctx context.Context) (*work.StepOut, error) {
	x := &exchange{seqs: []int64{}}
	s.show(x, stream.Frame{Kind: stream.KindStart})
	calling, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	j := s.openJournal(ctx, func(err error) { stop(err) })
	call := plugin.StreamCall{View: s.view(), Attempt: s.in.Attempt, Request: s.request}
	chunks := s.kind.Streamed(s.acts.at(calling, s.atAttempt("stream")), call, s.send)
	if err := s.listen(ctx, x, j, chunks); err != nil {
		j.close(false)
		return nil, err
	}
	if s.unserved != nil && errors.Is(x.own, s.unserved) && len(x.seqs) == 0 { // nothing started
		j.close(false)
		s.show(x, stream.Frame{Kind: stream.KindEnd, Outcome: &stream.Outcome{Kind: stream.Abandoned}})
		return s.fail(ctx, s.unserved)
	}
	if err := s.ended(ctx, calling, x); err != nil {
		j.close(true)
		return nil, err
	}
	j.close(false)
	if err := s.point(ctx, "stream/end"); err != nil {
		return nil, err
	}
	return s.settle(ctx, x, j)
}

// send is the innermost answer of the stream gate: the prepared call.
func (s *step) send(ctx context.Context, req llm.Request) iter.Seq2[session.Chunk, error] {
	if s.unserved != nil {
		return func(yield func(session.Chunk, error) bool) { yield(nil, s.unserved) }
	}
	return llm.Stream(ctx, s.prepared, req)
}

// ended says why a stream without a finish ended. Its error means that it was not the agent who wanted that: another
// execution takes over.
func (s *step) ended(ctx, calling context.Context, x *exchange) error {
	switch {
	case x.asm.Finish() != nil:
		return nil
	case s.cancelled(ctx):
		x.cut = x.own == nil
		return s.halted(ctx)
	case calling.Err() != nil:
		x.own = context.Cause(calling) // the journal broke
	}
	return nil
}

// listen takes chunks until the stream ends, is cancelled or breaks. Its error is the end of this worker.
func (s *step) listen(ctx context.Context, x *exchange, j *journal, chunks iter.Seq2[session.Chunk, error]) error {
	for c, err := range chunks {
		if s.cancelled(ctx) {
			return nil
		}
		if err != nil {
			x.own = err // of a gate, or of the journal, which ended the call
			return nil
		}
		if x.own = s.hear(x, j, readable(c)); x.own != nil {
			return nil
		}
		if err := s.point(ctx, "chunk"); err != nil {
			return err
		}
		if x.asm.Finish() != nil {
			return nil // nothing follows a finish
		}
	}
	return nil
}

// hear logs one chunk, then shows it: §4.7.2.
func (s *step) hear(x *exchange, j *journal, c session.Chunk) error {
	seq := s.state.Count()
	if err := s.log(session.AssistantChunk{Turn: s.in.Turn, Step: s.in.Step, Chunk: c}); err != nil {
		return fmt.Errorf("chunk refused: %w", err)
	}
	x.hear(seq, c)
	s.show(x, stream.Frame{Kind: stream.KindChunk, Chunk: c, Seq: seq})
	if x.asm.Finish() != nil {
		return nil // the settlement follows at once
	}
	return j.add(s.pending[len(s.pending)-1])
}

func (x *exchange) hear(seq int64, c session.Chunk) {
	x.seqs = append(x.seqs, seq)
	x.asm.Add(c)
}

// replay is the exchange that led to these chunks.
func replay(chunks []session.Record) *exchange {
	x := &exchange{seqs: []int64{}}
	for _, r := range chunks {
		if e, ok := r.Event.(session.AssistantChunk); ok {
			x.hear(r.Seq, e.Chunk)
		}
	}
	return x
}

// show publishes a frame of the exchange. See architecture A3.14.
func (s *step) show(x *exchange, f stream.Frame) {
	if s.Broker == nil {
		return
	}
	in := s.in
	f.Session, f.Time, f.Epoch = in.Ident.Session, s.now(), in.Ident.Epoch
	f.Turn, f.Step, f.Attempt, f.Execution, f.N = in.Turn, in.Step, in.Attempt, s.exec, x.n
	f.AttemptID = fmt.Sprintf("%s/%d.%d/%d.%d", in.Ident.Session, in.Turn, in.Step, in.Attempt, s.exec)
	x.n++
	s.Broker.Publish(f)
}
