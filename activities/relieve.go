package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
)

// relieved is the definition with compaction as the innermost part of its pre-step gate. See spec §9.3.
func (s *step) relieved() *plugin.Definition {
	if s.kind.Compaction == nil || s.kind.Compaction.ManualOnly {
		return s.kind.Definition
	}
	d := *s.kind.Definition
	d.PreStep = append(slices.Clip(d.PreStep), s.relieve)
	return &d
}

// relieve compacts under pressure. A failure is a warning: the step goes on with the whole history.
func (s *step) relieve(ctx context.Context, in plugin.PreStep, next func(context.Context, plugin.PreStep) (plugin.Decision, error)) (plugin.Decision, error) {
	rewritten, err := s.relievePressure(ctx, in.Messages)
	if err != nil {
		s.Log(ctx, "history not compacted", "session_id", s.in.Ident.Session, "turn", s.in.Turn, "step", s.in.Step, "error", err)
	}
	out, err := next(ctx, in)
	if err != nil || !rewritten || s.snapshot != nil {
		return out, err
	}
	again, err := s.findSnapshot(ctx, s.parts) // the retained one may be gone, §8.6
	if again != nil {
		out.Messages = append(out.Messages, *again)
	}
	return out, err
}

// relievePressure compacts if the request would fill too much of the window.
func (s *step) relievePressure(ctx context.Context, batch []session.Message) (rewritten bool, err error) {
	c := s.compaction("pressure", s.seed())
	c.window = s.windowOf(ctx, s.state, c.route)
	req := llm.Request{System: s.asm.System, Tools: s.asm.Tools, Messages: append(s.state.Messages(), batch...)}
	if s.snapshot != nil {
		req.Messages = append(req.Messages, *s.snapshot)
	}
	c.total = requestSize(req)
	if c.window == 0 || c.total < int(c.options.ThresholdRatio*float64(c.window)) {
		return false, nil
	}
	_, err = c.run(ctx)
	return err == nil, err
}

// relieveOverflow compacts because the provider refused the request as too long. It reports whether the surface was
// rewritten, so that another try makes sense. See spec §4.7.6, C-141, C-142.
func (s *step) relieveOverflow(ctx context.Context, f session.Failure) bool {
	if f.Code != string(llm.ContextWindowExceeded) || s.kind.Compaction == nil || s.kind.Compaction.ManualOnly {
		return false
	}
	c := s.compaction("overflow", s.config())
	n, err := s.overflows(ctx)
	if err == nil && n > c.options.OverflowRetries {
		return false
	}
	before := s.state.Clone()
	if err == nil {
		c.total = requestSize(RequestAt(s.state, s.in.Ident.Session))
		if s.prepared != nil {
			c.window = s.prepared.ContextWindow
		}
		_, err = c.run(ctx)
	}
	if stored := s.write(ctx, quickTries); stored != nil { // the attempt itself is in the log already
		s.state, s.pending, err = before, nil, stored
	}
	if err != nil {
		s.Log(ctx, "history not compacted", "session_id", s.in.Ident.Session, "turn", s.in.Turn, "step", s.in.Step, "error", err)
	}
	return err == nil
}

// overflows counts the attempts of this step that were refused as too long, the latest included.
func (s *step) overflows(ctx context.Context) (n int, err error) {
	for r, err := range s.Store.Facts(ctx, s.in.Ident.Session, store.Head(s.head), s.asm.Start) {
		if err != nil {
			return 0, err
		}
		e, ok := r.Event.(session.AssistantAttempt)
		if ok && e.Turn == s.in.Turn && e.Step == s.in.Step && e.Failure != nil && e.Failure.Code == string(llm.ContextWindowExceeded) {
			n++
		}
	}
	return n, nil
}

// compaction is one of the step's.
func (s *step) compaction(why string, route session.CallConfig) *compaction {
	return &compaction{
		Activities: s.Activities, options: s.kind.Compaction.WithDefaults(), session: s.in.Ident.Session, why: why,
		turn: &s.in.Turn, route: route,
		log: ledger{
			head: store.Head(s.head), pending: func() []session.Record { return s.pending },
			state: func() *session.State { return s.state }, add: s.add,
		},
	}
}

// windowOf is the context window of a route: the log's word if it is about this route, else the provider's. 0: unknown.
func (a *Activities) windowOf(ctx context.Context, st *session.State, route session.CallConfig) int {
	if last := st.LastContext(); last != nil && last.Provider == route.Provider && last.Model == route.Model {
		return last.ContextWindow
	}
	prepared, err := a.Registry.Prepare(ctx, route)
	if err != nil {
		return 0 // the step will say so
	}
	return prepared.ContextWindow
}

// The failures of a compaction on demand.
const (
	CodeCompactionBusy    = "COMPACTION_BUSY"    // a bracket is open
	CodeCompactionSummary = "COMPACTION_SUMMARY" // no summary that is smaller than its source
)

// compact is the maintenance task [plugin.CompactTask].
func (a *Activities) compact(ctx context.Context, k *kind, in work.MaintainIn, l *taskLog) (any, error) {
	spec, err := a.spec(ctx, in.Ident.Spec)
	if err != nil {
		return nil, err
	}
	c := &compaction{
		Activities: a, options: k.Compaction.WithDefaults(), session: in.Ident.Session, why: "manual",
		route: seedConfig(l.state, declaredConfig(k.Definition, spec), in.Rerouted), total: requestSize(RequestAt(l.state, in.Ident.Session)),
		log: ledger{
			head: store.Head(in.Head), pending: func() []session.Record { return l.records },
			state: l.State, add: l.add,
		},
	}
	c.window = a.windowOf(ctx, l.state, c.route)
	out, err := c.run(ctx)
	switch {
	case errors.Is(err, errNothingToCompact):
		return compacted{}, nil
	case errors.Is(err, errCompacting):
		return nil, failureError{session.Failure{Code: CodeCompactionBusy, Message: err.Error()}}
	case err != nil && ctx.Err() == nil:
		return nil, failureError{session.Failure{Code: CodeCompactionSummary, Message: clip(fmt.Sprintf("not compacted: %v", err))}}
	}
	return out, err
}
