package agents_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/activities"
	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/internal/local"
	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/stream"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
	"github.com/everturn/everturn/tools/builtin"
)

// A place is a local engine with one worker, a client, and what the scripted model says.
type place struct {
	t      *testing.T
	engine *local.Engine
	client *agents.Client
	probes *scripted.Probes
	store  *store.Store

	written *atomic.Int64 // bytes that were put into the store
}

// counted counts the bytes that are written.
type counted struct {
	store.Objects
	written *atomic.Int64
}

func (c counted) Create(ctx context.Context, key string, data []byte) error {
	c.written.Add(int64(len(data)))
	return c.Objects.Create(ctx, key, data)
}

func newPlace(t *testing.T, script string) *place {
	t.Helper()
	objects, err := local.Objects(t.Context(), "mem://")
	require.NoError(t, err)
	return newPlaceOn(t, script, objects)
}

func newPlaceOn(t *testing.T, script string, objects store.Objects) *place {
	t.Helper()
	var err error
	p := &place{t: t, probes: &scripted.Probes{}, written: &atomic.Int64{}}
	objects = counted{objects, p.written}
	provider := scripted.New(scripted.Config{Probes: p.probes,
		Models: map[string]scripted.Model{"script": {Script: scripted.MustParse(script)}}})
	registry, err := llm.NewRegistry(provider)
	require.NoError(t, err)
	broker := &stream.Memory{}
	definition := &plugin.Definition{Name: "helper", Provider: "scripted", Model: "script"}
	definition.Tools, err = builtin.All(t.TempDir())
	require.NoError(t, err)
	work := local.Work(activities.Config{Registry: registry, Definitions: []*plugin.Definition{definition}}, objects)
	p.engine, err = local.New(local.Config{Activities: work, Broker: broker, CheckEveryInput: true})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.engine.Close()) })
	_, err = p.engine.StartWorker()
	require.NoError(t, err)
	p.store, err = local.OpenStore(objects)
	require.NoError(t, err)
	p.client, err = agents.New(agents.Config{Backend: p.engine, Store: p.store, Broker: broker})
	require.NoError(t, err)
	return p
}

func (p *place) create(id string) *agents.Agent {
	p.t.Helper()
	a, err := p.client.Create(p.t.Context(), agents.CreateOptions{ID: id, Definition: "helper"})
	require.NoError(p.t, err)
	return a
}

func (p *place) trace(a *agents.Agent) string {
	p.t.Helper()
	var records []session.Record
	for r, err := range a.Log(p.t.Context(), 0) {
		require.NoError(p.t, err)
		records = append(records, r)
	}
	return session.Trace(records, nil)
}

func TestAskReturnsTheAnswerOfItsOwnTurn(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "text \"one\"\ntool c1 echo {\"text\":\"x\"}\ntext \"two\"")
	a := p.create("a")
	first, err := a.Ask(t.Context(), "first")
	require.NoError(t, err)
	require.Equal(t, "one", first.Text)
	require.Equal(t, 1, first.Turn)
	second, err := a.Ask(t.Context(), "second")
	require.NoError(t, err)
	require.Equal(t, "two", second.Text)
	require.NoError(t, second.Err())
}

func TestAwaitFindsAnAnswerTheAgentHasForgotten(t *testing.T) {
	t.Parallel()
	p := newPlace(t, strings.Repeat("text \"ok\"\n", 140))
	a := p.create("a")
	old, err := a.Followup(t.Context(), agents.Text("the first"))
	require.NoError(t, err)
	for range 139 {
		_, err := a.Ask(t.Context(), "more")
		require.NoError(t, err)
	}
	answer, err := a.Await(t.Context(), old)
	require.NoError(t, err)
	require.Equal(t, 1, answer.Turn)
	require.Equal(t, "ok", answer.Text)
}

func TestAwaitSaysHowTheTurnEnded(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "error AUTH \"no\"")
	answer, err := p.create("a").Ask(t.Context(), "hi")
	require.NoError(t, err)
	require.Equal(t, session.TurnErrored, answer.Outcome.Kind)
	require.ErrorContains(t, answer.Err(), "AUTH")
}

func TestAwaitOfARemovedMessageIsAnError(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "hold here text \"late\"")
	a := p.create("a")
	_, err := a.Followup(t.Context(), agents.Text("works"))
	require.NoError(t, err)
	require.NoError(t, p.probes.Wait(t.Context(), "here"))
	id, err := a.Followup(t.Context(), agents.Text("never mind"))
	require.NoError(t, err)
	found, err := a.Remove(t.Context(), id)
	require.NoError(t, err)
	require.True(t, found)
	p.probes.Release("here")
	_, err = a.Await(t.Context(), id)
	var refused *agents.RefusedError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "DISCARDED", refused.Code)
}

func TestReceiptsSayWhatBecomesOfAMessage(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "hold here text \"late\"\ntext \"b\"\ntext \"c\"")
	a := p.create("a")
	act := func(act string, m agents.Message) signals.Receipt {
		r, err := a.Receipt(t.Context(), act, m, "", false)
		require.NoError(t, err)
		return r
	}
	require.Equal(t, signals.Parked, act(signals.Inject, agents.Text("ctx")).Disposition)
	require.Equal(t, signals.Started, act(signals.Followup, agents.Message{Text: "a", RequestID: "r1"}).Disposition)
	require.Equal(t, signals.Duplicate, act(signals.Followup, agents.Message{Text: "a", RequestID: "r1"}).Disposition)
	require.NoError(t, p.probes.Wait(t.Context(), "here"))
	require.Equal(t, signals.Steered, act(signals.Steer, agents.Text("s")).Disposition)
	require.Equal(t, signals.Queued, act(signals.Followup, agents.Message{ID: "q", Text: "q"}).Disposition)
	_, err := a.Receipt(t.Context(), signals.Followup, agents.Message{ID: "q", Text: "again"}, "", false)
	var refused *agents.RefusedError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "DUPLICATE_ID", refused.Code)
	p.probes.Release("here")
	require.NoError(t, a.WhenIdle(t.Context()))
}

func TestALargeMessageTravelsThroughTheStore(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "text \"ok\"")
	a := p.create("a")
	text := strings.Repeat("x", 300<<10)
	_, err := a.Ask(t.Context(), text)
	require.NoError(t, err)
	state, err := a.Fold(t.Context())
	require.NoError(t, err)
	require.Equal(t, text, state.Messages()[0].Text())

	_, err = a.Followup(t.Context(), agents.Text(strings.Repeat("x", signals.MaxBody+1)))
	var refused *agents.RefusedError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "TOO_LARGE", refused.Code)
}

func TestABodyThatIsNotInTheStoreIsRefused(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "text \"ok\"")
	a := p.create("a")
	_, err := a.Act(t.Context(), signals.Followup, signals.Send{Body: &session.Artifact{SHA256: strings.Repeat("ab", 32), Bytes: 10}})
	var refused *agents.RefusedError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "STORE", refused.Code)
	answer, err := a.Ask(t.Context(), "still there?")
	require.NoError(t, err)
	require.Equal(t, "ok", answer.Text)
}

func TestABodyThatIsNoMessageIsRefused(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "text \"ok\"")
	a := p.create("a")
	for _, body := range []string{`not json`, `[{"type":"tool-result","toolCallId":"c","content":[{"type":"tool-result","toolCallId":"d","content":[]}]}]`, `[]`} {
		blob, err := p.store.PutBlob(t.Context(), []byte(body), session.StoredContent)
		require.NoError(t, err)
		_, err = a.Act(t.Context(), signals.Followup, signals.Send{Body: &blob})
		var refused *agents.RefusedError
		require.ErrorAs(t, err, &refused, body)
	}
	answer, err := a.Ask(t.Context(), "still there?")
	require.NoError(t, err)
	require.Equal(t, "ok", answer.Text)
}

func TestCreateErrorsLeaveTheIDFree(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "text \"ok\"")
	_, err := p.client.Create(t.Context(), agents.CreateOptions{ID: "a", Definition: "nobody"})
	var create *agents.CreateError
	require.ErrorAs(t, err, &create)
	require.Equal(t, signals.ErrUnknownDefinition, create.Code)
	a := p.create("a")
	_, err = p.client.Create(t.Context(), agents.CreateOptions{ID: "a", Definition: "helper"})
	require.ErrorIs(t, err, agents.ErrExists)
	_, err = a.Ask(t.Context(), "hi")
	require.NoError(t, err)
	_, err = p.client.Get(t.Context(), "b")
	require.ErrorIs(t, err, agents.ErrUnknownAgent)
}

// What a fork writes does not depend on how much it inherits, nor on where it begins: no byte of the parent is copied.
func TestAForkCopiesNothing(t *testing.T) { // §7.3
	t.Parallel()
	p := newPlace(t, strings.Repeat("text \"ok\"\n", 41))
	a := p.create("a")
	first, err := a.Ask(t.Context(), "short")
	require.NoError(t, err)
	require.Equal(t, "ok", first.Text)
	require.NoError(t, a.WhenIdle(t.Context()))
	cost := func(id string, o agents.ForkOptions) int64 {
		before := p.written.Load()
		o.ID = id
		child, err := p.client.Fork(t.Context(), "a", o)
		require.NoError(t, err)
		require.NoError(t, child.WhenIdle(t.Context()))
		return p.written.Load() - before
	}
	small := cost("small", agents.ForkOptions{})
	ends := []int64{}
	for range 40 {
		_, err := a.Ask(t.Context(), rand.Text()+strings.Repeat(rand.Text(), 100))
		require.NoError(t, err)
		require.NoError(t, a.WhenIdle(t.Context()))
	}
	for r, err := range a.Log(t.Context(), 0) {
		require.NoError(t, err)
		if _, ok := r.Event.(session.TurnEnd); ok {
			ends = append(ends, r.Seq)
		}
	}
	require.Len(t, ends, 41)
	require.InDelta(t, small, cost("large", agents.ForkOptions{}), 64, "the numbers have more digits")
	for i, at := range []int64{ends[0], ends[20], ends[39], ends[39] + 1} {
		require.InDelta(t, small, cost(fmt.Sprintf("at-%d", i), agents.ForkOptions{At: &at}), 64, "at event %d", at)
	}
}

func TestADamagedExportIsRefusedWhole(t *testing.T) { // C-323
	t.Parallel()
	p := newPlace(t, "tool c1 echo {\"text\":\"x\"}\ntext \"ok\"")
	a := p.create("a")
	_, err := a.Ask(t.Context(), "hi")
	require.NoError(t, err)
	require.NoError(t, a.WhenIdle(t.Context()))
	var out bytes.Buffer
	_, err = a.Export(t.Context(), &out)
	require.NoError(t, err)
	whole := out.Bytes()
	refused := func(file []byte, what string, at int) {
		_, err := p.client.Import(t.Context(), bytes.NewReader(file), "copy")
		require.Error(t, err, "%s at byte %d: %s", what, at, whole[max(0, at-20):min(len(whole), at+20)])
	}
	for at := range whole {
		inside := at > 150 && at < len(whole)-150 // where a sample will do
		if inside && at%5 != 0 {
			continue
		}
		if at < len(whole)-1 { // the last line end may be missing
			refused(whole[:at], "cut", at)
		}
		for _, bit := range []byte{1 << (at % 8), 0x20} { // any bit, and the case of a letter
			flipped := bytes.Clone(whole)
			flipped[at] ^= bit
			refused(flipped, "flipped", at)
		}
	}
	_, err = p.client.Get(t.Context(), "copy")
	require.ErrorIs(t, err, agents.ErrUnknownAgent, "nothing of it is there")
	_, err = p.client.Import(t.Context(), bytes.NewReader(whole), "copy")
	require.NoError(t, err)
	_, err = p.client.Import(t.Context(), bytes.NewReader(whole), "copy")
	var taken *agents.CreateError
	require.ErrorAs(t, err, &taken)
	require.Equal(t, "SESSION_ALREADY_EXISTS", taken.Code)
}

func TestDisposedAgentsKeepTheirLog(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "text \"ok\"")
	a := p.create("a")
	_, err := a.Ask(t.Context(), "hi")
	require.NoError(t, err)
	before := p.trace(a)
	require.NoError(t, a.Dispose(t.Context()))
	require.NoError(t, a.Dispose(t.Context()), "again")
	_, err = a.Followup(t.Context(), agents.Text("hello?"))
	require.ErrorIs(t, err, agents.ErrClosed)
	require.Equal(t, before, p.trace(a))
}

func TestTailShowsTheAnswerWhileItIsMade(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "hold before text \"live\"")
	a := p.create("a")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	deltas := a.Tail(ctx)
	_, err := a.Followup(t.Context(), agents.Text("hi"))
	require.NoError(t, err)
	require.NoError(t, p.probes.Wait(t.Context(), "before"))
	p.probes.Release("before")
	var text string
	for d, err := range deltas {
		require.NoError(t, err)
		if c, ok := d.Chunk.(session.TextDelta); ok {
			text += c.Text
		}
		if d.End {
			break
		}
	}
	require.Equal(t, "live", text)
}

func TestFollowYieldsWhatComesLater(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "text \"ok\"")
	a := p.create("a")
	_, err := a.Followup(t.Context(), agents.Text("hi"))
	require.NoError(t, err)
	seq := int64(0)
	for r, err := range a.Follow(t.Context(), 0) {
		require.NoError(t, err)
		require.Equal(t, seq, r.Seq)
		seq++
		if _, ok := r.Event.(session.TurnEnd); ok {
			break
		}
	}
}

func TestWaitingEndsWithItsContext(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "hold here text \"never\"")
	a := p.create("a")
	_, err := a.Followup(t.Context(), agents.Text("hi"))
	require.NoError(t, err)
	require.NoError(t, p.probes.Wait(t.Context(), "here"))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.True(t, errors.Is(a.WhenIdle(ctx), context.Canceled))
	p.probes.Release("here")
	require.NoError(t, a.WhenIdle(t.Context()))
}
