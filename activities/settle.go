package activities

import (
	"context"
	"errors"
	"fmt"

	"github.com/everturn/everturn/internal/stream"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// settle logs the one event that a started attempt ends with, and answers. See the table of spec §4.7.3.
func (s *step) settle(ctx context.Context, x *exchange, j *journal) (*work.StepOut, error) {
	out := work.StepOut{Model: s.model(), Usage: x.asm.Usage()}
	ask, err := s.logSettlement(ctx, x, &out)
	if err != nil {
		return nil, err
	}
	last := s.pending[len(s.pending)-1]
	if err := s.write(ctx, patientTries); err != nil {
		s.show(x, stream.Frame{Kind: stream.KindEnd, Outcome: &stream.Outcome{Kind: stream.Abandoned}})
		return nil, fmt.Errorf("the model's answer could not be logged: %w", err)
	}
	s.show(x, stream.Frame{Kind: stream.KindEnd, Seq: last.Seq, Hash: s.head.Hash,
		Outcome: &stream.Outcome{Kind: stream.Committed, EventType: last.Event.Type(), Seq: last.Seq}})
	if err := s.point(ctx, "assistant/message"); err != nil {
		return nil, err
	}
	if ask {
		if err := s.recover(ctx, &out); err != nil {
			return nil, err
		}
	}
	if out.Recovery != nil {
		if err := s.keepForRetry(ctx); err != nil {
			return nil, fmt.Errorf("the next attempt could not be prepared: %w", err)
		}
	}
	return s.conclude(ctx, j, out)
}

// conclude writes the answer into the journal and gives it.
func (s *step) conclude(ctx context.Context, j *journal, out work.StepOut) (*work.StepOut, error) {
	answer, err := s.answer(ctx, out)
	if err != nil {
		return nil, err
	}
	if err := j.settle(*answer); err != nil {
		s.Log(ctx, "answer not in the journal", "session_id", s.in.Ident.Session, "error", err)
	}
	if err := s.point(ctx, "step/settled"); err != nil {
		return nil, err
	}
	return answer, nil
}

// logSettlement decides by the table; ask says that recovery is to be asked.
func (s *step) logSettlement(ctx context.Context, x *exchange, out *work.StepOut) (ask bool, err error) {
	reason := x.asm.Reason()
	switch {
	case x.own != nil:
		out.Outcome, out.Failure = work.StepAttempt, ownFailure(x.own)
		return false, s.logAttempt(x, out.Failure)
	case x.cut:
		return false, s.logCut(x, out)
	case reason.Kind == session.FinishError || reason.Kind == session.FinishAborted:
		out.Outcome, out.Failure = work.StepAttempt, reported(reason)
		return true, s.logAttempt(x, out.Failure)
	}
	content, replay := x.asm.Message()
	out.Outcome, out.Finish = work.StepMessage, reason.Kind
	if out.Calls, err = s.calls(ctx, content); err != nil {
		return false, err
	}
	return false, s.logMessage(x, content, replay, false)
}

// logCut settles a cancelled call: its visible prefix is a message.
func (s *step) logCut(x *exchange, out *work.StepOut) error {
	if prefix := x.asm.VisiblePrefix(); len(prefix) > 0 {
		out.Outcome, out.Interrupted = work.StepMessage, true
		return s.logMessage(x, prefix, nil, true)
	}
	out.Outcome = work.StepCancelled
	return s.logAttempt(x, nil)
}

func (s *step) logMessage(x *exchange, content session.Content, replay *session.ReplayState, interrupted bool) error {
	config := s.config()
	r := session.NewRecord(s.now(), session.AssistantMessage{
		Turn: s.in.Turn, Step: s.in.Step, Usage: x.asm.Usage(), Interrupted: interrupted,
		Message: session.Message{
			ID: s.id("a", 0), Role: session.RoleAssistant, Content: content,
			Source: session.Source{Kind: session.SourceModel, Provider: config.Provider, Model: config.Model, Replay: replay},
		},
	})
	r.Sources = x.seqs
	return s.add(r)
}

func (s *step) logAttempt(x *exchange, f *session.Failure) error {
	return s.log(session.AssistantAttempt{Turn: s.in.Turn, Step: s.in.Step, ChunkSeqs: x.seqs, Failure: f, Usage: x.asm.Usage()})
}

// ownFailure is an exception that is not the provider's. See spec §4.7.3.
func ownFailure(err error) *session.Failure {
	var u unrecorded
	if errors.As(err, &u) {
		return storeFailure(err)
	}
	return failureOf(err)
}

// reported is the provider's failure; one without facts is UNKNOWN.
func reported(reason session.FinishReason) *session.Failure {
	if reason.Failure == nil {
		return &session.Failure{Code: work.CodeUnknown, Message: fmt.Sprintf("the model's stream ended with %s and no reason", reason.Kind)}
	}
	f := *reason.Failure
	f.Message = clip(f.Message)
	return &f
}

// config is the configuration of the request that was sent.
func (s *step) config() session.CallConfig {
	if h := s.state.LastHeader(); h != nil {
		return h.Header.Config
	}
	return session.CallConfig{}
}

func (s *step) model() string {
	c := s.config()
	return c.Provider + "/" + c.Model
}
