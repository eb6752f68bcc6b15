package activities

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
)

// Step runs one attempt of one proposed step, or settles what a lost execution of it left. See spec §4.4–4.7 and
// architecture A3.6.
func (a *Activities) Step(ctx context.Context, in work.StepIn) (work.StepOut, error) {
	defer a.beat(ctx, in.Ident.Session, in.ID)()
	out, err := a.step(ctx, in)
	if err != nil {
		return work.StepOut{}, a.leave(err, fmt.Sprintf("step %d.%d of %s", in.Turn, in.Step, in.Ident.Session))
	}
	return *out, nil
}

func (a *Activities) step(ctx context.Context, in work.StepIn) (*work.StepOut, error) {
	s, err := a.openStep(ctx, in)
	if err != nil {
		return nil, err
	}
	defer s.beside.Wait()
	out, err := s.run(ctx)
	if err == nil {
		s.tidy(ctx)
	}
	return out, err
}

// A step is one execution of [Activities.Step]. Its phases run in the order of spec §4.4–4.7; each returns an answer if
// it ends the step, nothing if the next one is to run, and an error if nothing can be said.
type step struct {
	*Activities
	in   work.StepIn
	kind *kind
	spec work.Spec
	exec int
	acts *collector

	head    work.Head        // what is durable
	state   *session.State   // of head and pending
	pending []session.Record // not durable yet
	lent    int              // of pending: the tail, which the caller keeps too
	batch   []session.Message

	entered   bool // step/start is in the log, or in pending
	committed bool // the entered users are
	users     []string
	asm       assembly
	asmHash   string
	kept      <-chan kept          // the assembly's blob
	parts     []plugin.ContextText // what the runtime contexts say
	silent    bool                 // an assembly gate suppressed them
	snapshot  *session.Message

	proposal session.Proposal
	unserved error // why nobody serves the route
	prepared *llm.Prepared
	request  llm.Request
	earlier  []work.Act // of an earlier execution

	old    *store.Journal // outdated
	beside sync.WaitGroup
}

type phase func(context.Context) (*work.StepOut, error)

func (a *Activities) openStep(ctx context.Context, in work.StepIn) (*step, error) {
	k, err := a.enter(ctx, in.Ident)
	if err != nil {
		return nil, err
	}
	spec, err := a.spec(ctx, in.Ident.Spec)
	if err != nil {
		return nil, err
	}
	again := in.Attempt > 1
	return &step{
		Activities: a, in: in, kind: k.of(spec), spec: spec, exec: a.Execution(ctx),
		head: in.Head, entered: again, committed: again,
		acts: &collector{session: in.Ident.Session, definition: k.Name, place: fmt.Sprintf("%d.%d", in.Turn, in.Step)},
	}, nil
}

func (s *step) run(ctx context.Context) (*work.StepOut, error) {
	if s.in.Mode == work.StepSettle {
		return s.settleLost(ctx)
	}
	s.publishHead(ctx)
	return first(ctx, s.resume, s.load, s.assemble, s.decide, s.enter, s.propose, s.prepare, s.commit, s.begin, s.freeze, s.converse)
}

// first runs phases until one answers.
func first(ctx context.Context, phases ...phase) (*work.StepOut, error) {
	for _, p := range phases {
		if out, err := p(ctx); out != nil || err != nil {
			return out, err
		}
	}
	return nil, errors.New("no phase answered")
}

// publishHead names the head it was given in the store, so that the log can be found without a worker. Its failure
// costs a reader only freshness. See architecture A3.3.
func (s *step) publishHead(ctx context.Context) {
	if s.in.Head.Count == 0 {
		return
	}
	s.beside.Go(func() {
		if err := s.Store.PublishHead(ctx, s.in.Ident.Session, s.in.Ident.Epoch, store.Head(s.in.Head)); err != nil {
			s.Log(ctx, "head not published", "session_id", s.in.Ident.Session, "error", err)
		}
	})
}

// load folds the log up to the lent tail. Only hydrated events go into the log.
func (s *step) load(ctx context.Context) (*work.StepOut, error) {
	var err error
	if s.state, err = s.Store.State(ctx, s.in.Ident.Session, store.Head(s.in.Head)); err != nil {
		s.state = session.NewState()
		return s.stopped(ctx, err)
	}
	s.outdate(s.state)
	tail, err := s.Store.Hydrate(ctx, s.in.Tail)
	if err != nil {
		return s.stopped(ctx, err)
	}
	claimed := map[string]session.Message{}
	for _, r := range tail {
		noteClaim(claimed, s.state.Inbox(), r)
		if err := s.add(r); err != nil {
			s.pending = nil
			return s.fail(ctx, fmt.Errorf("the events lent to the step do not continue the log: %w", err))
		}
	}
	s.lent = len(s.pending)
	if s.in.Attempt > 1 {
		return nil, nil
	}
	if s.batch, err = s.findBatch(ctx, claimed); err != nil {
		return s.fail(ctx, err)
	}
	return nil, nil
}

// stopped answers that the activity was cancelled if that is why the store failed. A log that cannot be read again is a
// failed step; any other fault may pass.
func (s *step) stopped(ctx context.Context, err error) (*work.StepOut, error) {
	if out, stop := s.check(ctx); out != nil || stop != nil {
		return out, stop
	}
	if hopeless(err) && !errors.Is(err, store.ErrFenced) {
		s.pending, s.lent = nil, 0
		return s.end(ctx, work.StepFailed, storeFailure(err))
	}
	return nil, err
}

// add gives a record its place at the end of the log.
func (s *step) add(r session.Record) error {
	r.Seq = s.state.Count()
	if err := s.state.Apply(r); err != nil {
		return err
	}
	s.pending = append(s.pending, r)
	return nil
}

// log adds an event of the step's own.
func (s *step) log(e session.Event, sources ...int64) error {
	return s.add(session.NewRecord(s.now(), e, sources...))
}

// write makes the pending records durable: one segment.
func (s *step) write(ctx context.Context, tries int) error {
	if len(s.pending) == 0 {
		return nil
	}
	head, err := s.append(ctx, tries, s.in.Ident, s.head, s.pending)
	if err != nil {
		return err
	}
	own := s.pending[s.lent:]
	s.head, s.pending, s.lent = head, nil, 0
	s.tell(ctx, s.in.Ident.Session, own)
	return nil
}

// check answers if the agent's activity was cancelled, by the context or by a hook. A context that ended for another
// reason is an error: the step will be executed again. See spec §5.
func (s *step) check(ctx context.Context) (*work.StepOut, error) {
	if !s.cancelled(ctx) {
		return nil, nil
	}
	if err := s.halted(ctx); err != nil {
		return nil, err
	}
	return s.end(ctx, work.StepCancelled, nil)
}

func (s *step) cancelled(ctx context.Context) bool { return ctx.Err() != nil || s.acts.cancelled() }

// fail ends the step with an error that is not the model's. A cancel beats it. See spec §4.10.
func (s *step) fail(ctx context.Context, err error) (*work.StepOut, error) {
	if out, stop := s.check(ctx); out != nil || stop != nil {
		return out, stop
	}
	return s.end(ctx, work.StepFailed, failureOf(err))
}

// end answers before the model was asked. What the step entered is written first; a step that was not entered leaves
// the log as it was lent.
func (s *step) end(ctx context.Context, outcome string, f *session.Failure) (*work.StepOut, error) {
	if len(s.pending) > s.lent {
		if err := s.write(ctx, quickTries); err != nil {
			return s.unwritten(ctx, outcome, err)
		}
	}
	return s.answer(ctx, work.StepOut{Outcome: outcome, Failure: f})
}

// unwritten answers that the store refused what the step wanted to log, which is therefore not in the log. See
// spec §4.11, C-273.
func (s *step) unwritten(ctx context.Context, outcome string, err error) (*work.StepOut, error) {
	if errors.Is(err, store.ErrFenced) {
		return nil, err
	}
	again := s.in.Attempt > 1
	s.head, s.pending, s.users, s.entered, s.committed = s.in.Head, nil, nil, again, again
	out := work.StepOut{Outcome: work.StepFailed, Failure: storeFailure(err)}
	if outcome == work.StepCancelled {
		out = work.StepOut{Outcome: outcome}
	}
	return s.answer(ctx, out)
}

// answer completes an answer with what every one says.
func (s *step) answer(ctx context.Context, out work.StepOut) (*work.StepOut, error) {
	acts, err := s.take(ctx, s.acts)
	if err != nil {
		return nil, err
	}
	out.Echo = s.echo()
	out.Head = s.head
	out.Entered, out.Committed, out.Users = s.entered, s.committed, s.users
	out.Assembly = s.asmHash
	out.Acts = slices.Concat(s.earlier, acts)
	out.Execution = s.exec
	out.Worker = s.worker(s.kind, s.in.Ident)
	return &out, nil
}

// echo repeats what the step was lent. See architecture A3.2.
func (s *step) echo() work.Echo { return work.EchoOf(s.in.Head.Count, s.in.Tail) }

func (s *step) view() plugin.View {
	seed := s.seed()
	return plugin.View{
		Session: s.in.Ident.Session, Turn: s.in.Turn, Step: s.in.Step,
		Provider: seed.Provider, Model: seed.Model, CWD: s.spec.CWD, Params: s.spec.Params, Plan: s.in.Plan,
	}
}

// seed is the configuration that the request starts from. One that was declared anew counts for the next request, whatever
// the last header says. See spec §4.5.1.
func (s *step) seed() session.CallConfig { return seedConfig(s.state, s.declared(), s.in.Rerouted) }

func seedConfig(st *session.State, declared session.CallConfig, rerouted bool) session.CallConfig {
	if rerouted {
		return declared
	}
	return st.SeedConfig(declared)
}

// declared is the agent's own configuration: the definition's, overridden by what it was created with.
func (s *step) declared() session.CallConfig { return declaredConfig(s.kind.Definition, s.spec) }

func (s *step) point(ctx context.Context, name string) error {
	return s.probe(ctx, name, s.in.Ident.Session, s.in.Turn, s.in.Step, s.in.Attempt)
}
