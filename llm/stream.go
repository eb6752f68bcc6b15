package llm

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/everturn/everturn/session"
)

// linger is how long [Stream] waits for a provider to notice that its context ended. A provider that ignores its
// context must not hold up the agent.
const linger = 5 * time.Second

// Stream performs a prepared call and guards it. It differs from [Prepared].Stream in four ways:
//
//   - A read that takes longer than the call's Idle time ends with a [session.Finish] of kind error and code TIMEOUT.
//     Waiting for the first chunk is such a read; the time the caller spends on a chunk does not count.
//   - An error or a panic of the provider becomes a Finish of kind error with the facts of the failure, or of kind
//     aborted with code ABORTED if the provider says that the call was aborted although ctx is alive.
//   - When ctx ends it yields ctx.Err() and no Finish: the caller knows better why it stopped.
//   - Nothing follows a Finish.
//
// A provider that ends without a Finish is left as it is: that counts as a normal stop. When the loop ends, the
// provider's context is cancelled and its goroutine is awaited. See spec §4.7.
func Stream(ctx context.Context, call *Prepared, req Request) iter.Seq2[session.Chunk, error] {
	return func(yield func(session.Chunk, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(nil, err)
			return
		}
		if call == nil || call.Stream == nil {
			yield(failed(Errorf(NoAdapter, "the call was not prepared by any provider", nil)), nil)
			return
		}
		s := start(ctx, call, req)
		defer s.close()
		for {
			chunk, more, err := s.next(ctx)
			if !more {
				return
			}
			if !yield(chunk, err) || err != nil || isFinish(chunk) {
				return
			}
		}
	}
}

func isFinish(c session.Chunk) bool {
	_, ok := c.(session.Finish)
	return ok
}

// stream is a provider's stream that runs in a goroutine of its own, in lock step with its reader.
type stream struct {
	idle   time.Duration
	items  chan item     // one at a time; closed at the end
	resume chan struct{} // the reader wants another item
	ended  <-chan struct{}
	cancel context.CancelFunc
}

type item struct {
	chunk session.Chunk
	err   error
}

func start(ctx context.Context, call *Prepared, req Request) *stream {
	ctx, cancel := context.WithCancel(ctx)
	s := &stream{idle: call.Idle, items: make(chan item), resume: make(chan struct{}), ended: ctx.Done(), cancel: cancel}
	if s.idle <= 0 {
		s.idle = DefaultIdle
	}
	go s.run(ctx, call, req)
	return s
}

// run drives the provider. A panic, or a provider that makes the goroutine exit, becomes an item as well.
func (s *stream) run(ctx context.Context, call *Prepared, req Request) {
	defer close(s.items)
	fault := Errorf(Unknown, "the provider left its stream without a word", nil)
	defer func() {
		if v := recover(); v != nil {
			fault = Errorf(Unknown, fmt.Sprintf("the provider panicked: %v", v), nil)
		}
		if fault != nil {
			s.send(item{err: fault})
		}
	}()
	s.copy(call.Stream(ctx, req))
	fault = nil
}

// copy hands over one item per request of the reader.
func (s *stream) copy(provider iter.Seq2[session.Chunk, error]) {
	if !s.await() {
		return
	}
	for chunk, err := range provider {
		if !s.send(item{chunk, err}) || !s.await() {
			return
		}
	}
}

func (s *stream) send(it item) bool {
	select {
	case s.items <- it:
		return true
	case <-s.ended:
		return false
	}
}

func (s *stream) await() bool {
	select {
	case <-s.resume:
		return true
	case <-s.ended:
		return false
	}
}

// next reads one item. Only the time spent here counts for the watchdog.
func (s *stream) next(ctx context.Context) (chunk session.Chunk, more bool, err error) {
	timer := time.NewTimer(s.idle)
	defer timer.Stop()
	resume := s.resume
	for {
		select {
		case resume <- struct{}{}:
			resume = nil
		case it, open := <-s.items:
			if ctx.Err() != nil {
				return nil, true, ctx.Err()
			}
			return normalise(it), open, nil
		case <-timer.C:
			return failed(idleError(s.idle)), true, nil
		case <-ctx.Done():
			return nil, true, ctx.Err()
		}
	}
}

// close ends the provider and waits for it.
func (s *stream) close() {
	s.cancel()
	timer := time.NewTimer(linger)
	defer timer.Stop()
	for {
		select {
		case _, open := <-s.items:
			if !open {
				return
			}
		case <-timer.C:
			return
		}
	}
}

func normalise(it item) session.Chunk {
	switch {
	case it.err != nil:
		return failed(it.err)
	case it.chunk == nil:
		return failed(Errorf(MalformedResponse, "the provider yielded neither a chunk nor an error", nil))
	default:
		return it.chunk
	}
}

// failed is the chunk that a provider's error stands for.
func failed(err error) session.Finish {
	f := FailureOf(err)
	kind := session.FinishError
	if Code(f.Code) == Aborted {
		kind = session.FinishAborted
	}
	return session.Finish{Reason: session.FinishReason{Kind: kind, Failure: &f}}
}

func idleError(idle time.Duration) error {
	return Errorf(Timeout, fmt.Sprintf("the model sent nothing for %s", idle), context.DeadlineExceeded)
}

// contextFailure names the context errors, which a provider may pass on as they are.
func contextFailure(err error) (session.Failure, bool) {
	switch {
	case errors.Is(err, context.Canceled):
		return session.Failure{Code: string(Aborted), Message: "the provider aborted the call: " + err.Error()}, true
	case errors.Is(err, context.DeadlineExceeded):
		return session.Failure{Code: string(Timeout), Message: "the call ran out of time: " + err.Error()}, true
	default:
		return session.Failure{}, false
	}
}
