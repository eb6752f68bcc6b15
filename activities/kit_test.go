package activities

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/store/storetest"
	"github.com/everturn/everturn/internal/stream"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/tools"
)

const (
	sess  = "sess"
	agent = "tester"
)

// A bench is an agent whose driver is the test: it holds head and tail and calls the activities directly.
type bench struct {
	t        *testing.T
	a        *Activities
	store    *store.Store
	faults   *storetest.Faults
	recorder *scripted.Recorder
	probes   *scripted.Probes
	frames   *frames
	ctx      context.Context
	cancel   context.CancelFunc

	head    work.Head
	tail    []session.Record
	state   *session.State
	batch   []string
	turn    int
	step    int
	exec    int
	rules   int      // of the agent
	points  []string // probes passed
	die     string   // the probe at which this execution dies
	at      map[string]func()
	stopped error

	mu sync.Mutex
}

// A setting changes the bench before its activities are made.
type setting func(*bench, *plugin.Definition, *scripted.Model)

// script gives the model its answers.
func script(text string) setting {
	return func(_ *bench, _ *plugin.Definition, m *scripted.Model) { m.Script = scripted.MustParse(text) }
}

func define(f func(*plugin.Definition)) setting {
	return func(_ *bench, d *plugin.Definition, _ *scripted.Model) { f(d) }
}

func route(f func(*scripted.Model)) setting {
	return func(_ *bench, _ *plugin.Definition, m *scripted.Model) { f(m) }
}

func newBench(t *testing.T, settings ...setting) *bench {
	t.Helper()
	b := &bench{
		t: t, faults: storetest.NewFaults(), recorder: new(scripted.Recorder), probes: new(scripted.Probes),
		frames: new(frames), state: session.NewState(), exec: 1, rules: work.Rules, at: map[string]func(){},
	}
	b.ctx, b.cancel = context.WithCancel(t.Context())
	d := &plugin.Definition{Name: agent, Provider: "scripted", Model: "test"}
	m := scripted.Model{Script: scripted.MustParse(`text "ok"`)}
	for _, s := range settings {
		s(b, d, &m)
	}
	var err error
	b.store, err = store.Open(t.Context(), "mem://", store.Options{Wrap: b.faults.Wrap})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, b.store.Close()) })
	b.use(d, m)
	return b
}

// use makes the activities, as a worker with this definition and model would.
func (b *bench) use(d *plugin.Definition, m scripted.Model) {
	b.t.Helper()
	provider := scripted.New(scripted.Config{
		Models: map[string]scripted.Model{"test": m, "other": m}, Probes: b.probes, Recorder: b.recorder,
	})
	registry, err := llm.NewRegistry(provider)
	require.NoError(b.t, err)
	b.a, err = New(Config{
		Store: b.store, Registry: registry, Definitions: []*plugin.Definition{d}, Broker: b.frames,
		Clock:     func() time.Time { return time.UnixMilli(1764500000000) },
		Random:    func() float64 { return 0.5 },
		Sleep:     func(context.Context, time.Duration) {},
		Execution: func(context.Context) int { return b.exec },
		Stopped:   func(context.Context) error { return b.stopped },
		Probe:     b.probe,
	})
	require.NoError(b.t, err)
	b.a.journalEvery = time.Hour // only size counts, unless a test says otherwise
}

var errDied = errors.New("the worker died")

// probe lets the worker die at a point: from there on it writes nothing.
func (b *bench) probe(_ context.Context, point, _ string, _, _, _ int) error {
	b.mu.Lock()
	b.points = append(b.points, point)
	f := b.at[point]
	b.mu.Unlock()
	if f != nil {
		f()
	}
	if point != b.die {
		return nil
	}
	b.faults.Fail(storetest.Match{Op: storetest.Create}, errDied, storetest.Always)
	return errDied
}

// log appends to the tail, as the driver does.
func (b *bench) log(events ...session.Event) {
	b.t.Helper()
	for _, e := range events {
		r := session.NewRecord(1764500000000, e)
		r.Seq = b.head.Count + int64(len(b.tail))
		b.tail = append(b.tail, r)
	}
}

func msg(id, text string) session.Message {
	return session.Message{ID: id, Role: session.RoleUser, Content: session.TextContent(text), Source: session.Source{Kind: session.SourceUser}}
}

// send inserts messages into next-turn.
func (b *bench) send(ids ...string) {
	for _, id := range ids {
		b.log(session.InboxSpliced{Target: session.NextTurn, Start: b.pendingTurn(), Inserted: []session.Message{msg(id, "say "+id)}})
	}
}

func (b *bench) pendingTurn() int { return len(b.fold().Inbox().NextTurn) }

// openTurn opens the next turn and claims.
func (b *bench) openTurn() {
	b.turn, b.step = b.turn+1, 0
	b.log(session.TurnStart{Turn: b.turn})
	inbox := b.fold().Inbox()
	b.batch = nil
	if len(inbox.NextStep) > 0 {
		b.claim(session.NextStep, inbox.NextStep)
	}
	if len(inbox.NextTurn) > 0 {
		b.claim(session.NextTurn, inbox.NextTurn[:1])
	}
}

func (b *bench) claim(list string, messages []session.Message) {
	b.log(session.InboxSpliced{Target: list, RemovedCount: len(messages), Inserted: []session.Message{}})
	for _, m := range messages {
		b.batch = append(b.batch, m.ID)
	}
}

// say sends a message and opens its turn.
func (b *bench) say(id string) {
	b.send(id)
	b.openTurn()
}

func (b *bench) ident() work.Ident {
	return work.Ident{Session: sess, Definition: agent, Epoch: 1, Store: b.store.ID(), Rules: b.rules}
}

// in is the input of the next proposed step, attempt 1.
func (b *bench) in() work.StepIn {
	return work.StepIn{ID: "step-1", Ident: b.ident(), Turn: b.turn, Step: b.step + 1, Attempt: 1, Head: b.head, Tail: b.tail, Batch: b.batch}
}

// run executes a step and takes over its answer.
func (b *bench) run(in work.StepIn) work.StepOut {
	b.t.Helper()
	out, err := b.a.Step(b.ctx, in)
	require.NoError(b.t, err)
	return b.take(in, out)
}

// take takes over an answer, as the driver does.
func (b *bench) take(in work.StepIn, out work.StepOut) work.StepOut {
	b.t.Helper()
	require.Equal(b.t, work.EchoOf(in.Head.Count, in.Tail), out.Echo)
	if out.Head != b.head {
		b.head, b.tail = out.Head, nil
	}
	if out.Entered {
		b.step, b.batch = in.Step, nil
	}
	return out
}

// next runs the next proposed step.
func (b *bench) next() work.StepOut {
	b.t.Helper()
	return b.run(b.in())
}

// retry runs the next attempt of the step that failed.
func (b *bench) retry(in work.StepIn, last work.StepOut) work.StepOut {
	b.t.Helper()
	in.Attempt++
	in.Head, in.Tail, in.Batch, in.Assembly = b.head, b.tail, nil, last.Assembly
	return b.run(in)
}

// closeTurn ends step and turn.
func (b *bench) closeTurn() {
	st := b.fold()
	if _, open := st.Step(); open {
		b.log(session.StepEnd{Turn: b.turn, Step: b.step})
	}
	b.log(session.TurnEnd{Turn: b.turn, Reason: session.TurnReason{Kind: session.TurnCompleted}})
}

// turnOf runs a turn of one step and closes it.
func (b *bench) turnOf(id string) work.StepOut {
	b.t.Helper()
	b.say(id)
	out := b.next()
	b.closeTurn()
	return out
}

// records is the whole log, which must be valid.
func (b *bench) records() []session.Record {
	b.t.Helper()
	var out []session.Record
	for r, err := range b.store.Records(b.t.Context(), sess, store.Head(b.head), 0) {
		require.NoError(b.t, err)
		out = append(out, r)
	}
	return append(out, b.tail...)
}

func (b *bench) fold() *session.State {
	b.t.Helper()
	st, err := session.Fold(0, b.records())
	require.NoError(b.t, err)
	return st
}

// trace is the log in the notation of spec §2.4.4.
func (b *bench) trace() string {
	b.t.Helper()
	b.fold()
	return session.Trace(b.records(), nil)
}

// own is the trace from the last turn/start on.
func (b *bench) own() string {
	trace := b.trace()
	return trace[strings.LastIndex(trace, "TS"):]
}

// events are the events of one type.
func events[E session.Event](b *bench) []E {
	b.t.Helper()
	var out []E
	for _, r := range b.records() {
		if e, ok := r.Event.(E); ok {
			out = append(out, e)
		}
	}
	return out
}

// requests are what the model was sent, each of which must be what the log says at its place.
func (b *bench) requests() []llm.Request {
	b.t.Helper()
	return b.recorder.Requests()
}

// reconstructed holds every recorded request against the log before its first chunk. See spec §4.6.2.
func (b *bench) reconstructed() {
	b.t.Helper()
	st := session.NewState()
	var want []llm.Request
	streaming := false
	for _, r := range b.records() {
		settled := false
		switch r.Event.(type) {
		case session.AssistantChunk:
			if !streaming {
				want = append(want, RequestAt(st, sess))
			}
			streaming = true
		case session.AssistantMessage, session.AssistantAttempt:
			settled = true
		}
		require.NoError(b.t, st.Apply(r))
		streaming = streaming && !settled
	}
	got := slices.DeleteFunc(b.requests(), summary)
	require.Len(b.t, got, len(want))
	for i := range want {
		require.True(b.t, sameJSON(want[i], got[i]), "request %d", i)
	}
}

// summary reports whether a request asks for a summary, which no step has.
func summary(req llm.Request) bool { return req.System == summaryInstructions }

// echoTool answers with its argument.
func echoTool(opts ...tools.Option) *tools.Tool {
	type args struct {
		Text string `json:"text"`
	}
	return tools.Must(tools.New("echo", "Says it again.", func(_ context.Context, in args) (string, error) { return in.Text, nil }, opts...))
}

// frames collects the live feed.
type frames struct {
	stream.Memory
	mu  sync.Mutex
	all []stream.Frame
}

func (f *frames) Publish(fr stream.Frame) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.all = append(f.all, fr)
}

func (f *frames) kinds() []stream.Kind {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []stream.Kind
	for _, fr := range f.all {
		out = append(out, fr.Kind)
	}
	return slices.Compact(out)
}

func storeHead(b *bench) store.Head { return store.Head(b.head) }
