package agents_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/internal/local"
	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// hasty are objects that age so many times faster than the world.
type hasty struct {
	store.Objects
	times time.Duration
}

func (h hasty) Stats(ctx context.Context, prefix string) iter.Seq2[store.Object, error] {
	return func(yield func(store.Object, error) bool) {
		now := time.Now()
		for obj, err := range h.Objects.Stats(ctx, prefix) {
			obj.Made = now.Add(-h.times * max(now.Sub(obj.Made), time.Millisecond))
			if !yield(obj, err) {
				return
			}
		}
	}
}

func (h hasty) DeleteBefore(ctx context.Context, key string, t time.Time) (bool, error) {
	now := time.Now()
	return h.Objects.DeleteBefore(ctx, key, now.Add(-now.Sub(t)/h.times))
}

// oldPlace is a place where everything is old as soon as it is there, so that only being reached keeps it.
func oldPlace(t *testing.T, script string) *place {
	t.Helper()
	objects, err := local.Objects(t.Context(), "mem://")
	require.NoError(t, err)
	return newPlaceOn(t, script, hasty{objects, 1 << 24})
}

func (p *place) collect() agents.Garbage {
	p.t.Helper()
	g, err := p.client.Collect(p.t.Context(), agents.CollectOptions{Grace: store.MinGrace, Delete: true})
	require.NoError(p.t, err)
	return g
}

func long(text string) agents.Message { return agents.Text(text + strings.Repeat(" more", 2000)) }

// said are the texts of all messages of the user that the model was shown.
func (p *place) said(a *agents.Agent) (texts []string) {
	p.t.Helper()
	for r, err := range a.Log(p.t.Context(), 0) {
		require.NoError(p.t, err)
		if m, ok := r.Event.(session.UserMessage); ok && m.Message.Source.Kind == session.SourceUser {
			first, _, _ := strings.Cut(m.Message.Text(), " ")
			texts = append(texts, first)
		}
	}
	return texts
}

func TestACollectionTakesNothingAnAgentMayNeed(t *testing.T) {
	t.Parallel()
	const script = "hold here text \"one\"\ntool c1 echo {\"text\":\"x\"}\ntext \"two\"\ntext \"three\"\ntext \"four\""
	for name, act := range map[string]func(t *testing.T, p *place, a *agents.Agent){
		"a large message that waits while a step runs": func(t *testing.T, p *place, a *agents.Agent) {
			_, err := a.Followup(t.Context(), long("second"))
			require.NoError(t, err)
			_, err = a.Inject(t.Context(), long("third"))
			require.NoError(t, err)
			p.collect()
			p.probes.Open("here")
		},
		"what a step had written when its worker died": func(t *testing.T, p *place, a *agents.Agent) {
			_, err := a.Followup(t.Context(), long("second"))
			require.NoError(t, err)
			p.collect()
			require.NoError(t, p.engine.KillWorker())
			p.collect()
			p.probes.Open("here")
			_, err = p.engine.StartWorker()
			require.NoError(t, err)
			_, err = a.Inject(t.Context(), long("third"))
			require.NoError(t, err)
		},
		"large messages that no worker has taken": func(t *testing.T, p *place, a *agents.Agent) {
			require.NoError(t, p.engine.KillWorker())
			_, err := a.Followup(t.Context(), long("second"))
			require.NoError(t, err)
			_, err = a.Inject(t.Context(), long("third"))
			require.NoError(t, err)
			p.collect()
			p.probes.Open("here")
			_, err = p.engine.StartWorker()
			require.NoError(t, err)
		},
		"a large message that wakes nobody": func(t *testing.T, p *place, a *agents.Agent) {
			p.probes.Open("here")
			require.NoError(t, a.WhenIdle(t.Context()))
			_, err := a.Inject(t.Context(), long("third"))
			require.NoError(t, err)
			p.collect()
			_, err = a.Followup(t.Context(), long("second"))
			require.NoError(t, err)
		},
		"what a terminated agent had accepted": func(t *testing.T, p *place, a *agents.Agent) {
			_, err := a.Followup(t.Context(), long("second"))
			require.NoError(t, err)
			_, err = a.Inject(t.Context(), long("third"))
			require.NoError(t, err)
			require.NoError(t, p.engine.Terminate("a"))
			p.probes.Open("here")
			p.collect()
			_, err = p.client.Resume(t.Context(), "a")
			require.NoError(t, err)
			p.collect()
			_, err = a.Followup(t.Context(), agents.Text("wake"))
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := oldPlace(t, script)
			a, err := p.client.Create(t.Context(), agents.CreateOptions{ID: "a", Definition: "helper", Params: json.RawMessage(`{"k":"v"}`)})
			require.NoError(t, err)
			_, err = a.Followup(t.Context(), long("first"))
			require.NoError(t, err)
			require.NoError(t, p.probes.Wait(t.Context(), "here"))
			act(t, p, a)
			require.NoError(t, a.WhenIdle(t.Context()))
			require.Subset(t, p.said(a), []string{"first", "second", "third"})
			p.collect()
			recorded, err := a.Recorded(t.Context())
			require.NoError(t, err)
			require.JSONEq(t, `{"k":"v"}`, string(recorded.Params))
			_, err = p.client.Fork(t.Context(), "a", agents.ForkOptions{ID: "fork"})
			require.NoError(t, err)
		})
	}
}

// At these points everything that is there is named: in the log, in a journal, in the ledger or in what the workflow was
// told. Between them, for a moment, a step holds what it has just written; that is what the grace period is for.
func TestACollectionAtAnyPointOfAStep(t *testing.T) {
	t.Parallel()
	large := strings.Repeat("z", 6000)
	script := `tool c1 echo {"text":"` + large + `"}` + "\ntext \"done\""
	for _, at := range []local.Point{
		{Name: "activity/start", Activity: "Step", Step: 1}, {Name: "step/assembled", Step: 1}, {Name: "step/start", Step: 1},
		{Name: "chunk", Step: 1}, {Name: "stream/end", Step: 1}, {Name: "activity/answer", Activity: "Step", Step: 1},
		{Name: "activity/start", Activity: "Tool"}, {Name: "tool/started"}, {Name: "tool/body-done"},
		{Name: "activity/start", Activity: "Step", Step: 2}, {Name: "activity/answer", Activity: "Step", Step: 2},
	} {
		for _, dies := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s %s step %d, worker dies: %v", at.Activity, at.Name, at.Step, dies), func(t *testing.T) {
				t.Parallel()
				p := oldPlace(t, script)
				a := p.create("a")
				hold := p.engine.HoldAt(at)
				_, err := a.Followup(t.Context(), long("first"))
				require.NoError(t, err)
				require.NoError(t, hold.Wait(t.Context(), 1))
				p.collect()
				if dies {
					require.NoError(t, p.engine.KillWorker())
					p.collect()
				}
				hold.Release()
				if dies {
					_, err := p.engine.StartWorker()
					require.NoError(t, err)
				}
				require.NoError(t, a.WhenIdle(t.Context()))
				var results []string
				for r, err := range a.Log(t.Context(), 0) {
					require.NoError(t, err)
					if e, ok := r.Event.(session.ToolResult); ok {
						raw, err := json.Marshal(e.Message)
						require.NoError(t, err)
						results = append(results, string(raw))
					}
					if e, ok := r.Event.(session.TurnEnd); ok {
						require.Equal(t, session.TurnCompleted, e.Reason.Kind)
					}
				}
				if dies && (at.Name == "chunk" || at.Name == "stream/end") {
					require.Empty(t, results, "the model is asked again, and the script has gone on")
				} else {
					require.Len(t, results, 1)
					require.Contains(t, results[0], large)
				}
				p.collect()
				_, err = a.Fold(t.Context())
				require.NoError(t, err)
			})
		}
	}
}

func TestACollectionFindsGarbage(t *testing.T) {
	t.Parallel()
	p := oldPlace(t, strings.Repeat("text \"ok\"\n", 10))
	a := p.create("a")
	for range 3 {
		_, err := a.Ask(t.Context(), long("hi").Text)
		require.NoError(t, err)
	}
	require.NoError(t, a.WhenIdle(t.Context()))
	_, err := p.store.PutBlob(t.Context(), []byte("nobody needs it"), "")
	require.NoError(t, err)
	before := p.trace(a)
	dry, err := p.client.Collect(t.Context(), agents.CollectOptions{Grace: store.MinGrace})
	require.NoError(t, err)
	require.False(t, dry.Deleted)
	require.Equal(t, 1, dry.Live)
	kinds := map[string]int{}
	for _, c := range dry.Garbage {
		kinds[c.Kind] = c.Objects
	}
	require.Equal(t, 1, kinds["blobs"])
	require.NotContains(t, kinds, "segments")
	g := p.collect()
	require.True(t, g.Deleted)
	require.Equal(t, dry.Garbage, g.Garbage)
	require.Empty(t, p.collect().Garbage)
	require.Equal(t, before, p.trace(a))
}

func TestAgentsWorkWhileGarbageIsCollected(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it waits for hours to pass")
	}
	objects, err := local.Objects(t.Context(), "file://"+t.TempDir()+"?sync=none")
	require.NoError(t, err)
	// An hour passes in ten seconds: longer than anything here takes, shorter than the test.
	p := newPlaceOn(t, strings.Repeat("tool c1 echo {\"text\":\"x\"}\ntext \"ok\"\n", 20000), hasty{objects, 360})
	taken, turns := 0, 0
	a, b := p.create("a"), p.create("b")
	for ; taken < 30; turns++ {
		require.Less(t, turns, 9900)
		_, err := p.store.PutBlob(t.Context(), fmt.Append(nil, "nobody needs ", turns), "")
		require.NoError(t, err)
		_, err = b.Followup(t.Context(), long("the same"))
		require.NoError(t, err)
		answer, err := a.Ask(t.Context(), long("the same").Text) // stored again and again, and collected in between
		require.NoError(t, err)
		require.NoError(t, answer.Err())
		if turns%10 == 0 { // b works meanwhile
			for _, c := range p.collect().Garbage {
				taken += c.Objects
			}
		}
	}
	for _, agent := range []*agents.Agent{a, b} {
		require.NoError(t, agent.WhenIdle(t.Context()))
		require.Len(t, p.said(agent), turns)
	}
}

func TestCollectionsThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		options agents.CollectOptions
		prepare func(p *place)
		code    string
	}{
		"no grace beside a live agent": {agents.CollectOptions{Delete: true}, func(p *place) { p.create("a") }, agents.CodeLive},
		"a negative grace":             {agents.CollectOptions{Delete: true, Grace: -1}, func(p *place) {}, signals.ErrInvalid},
		"a server that knows nobody": {agents.CollectOptions{Delete: true, Grace: time.Hour}, func(p *place) {
			require.NoError(p.t, p.store.PutHeader(p.t.Context(), session.Header{Version: session.FormatVersion, ID: "x", CreatedAt: 1}))
		}, agents.CodeForgotten},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := oldPlace(t, "text \"ok\"")
			c.prepare(p)
			_, err := p.store.PutBlob(t.Context(), []byte("garbage"), "")
			require.NoError(t, err)
			_, err = p.client.Collect(t.Context(), c.options)
			var refused *agents.RefusedError
			require.ErrorAs(t, err, &refused)
			require.Equal(t, c.code, refused.Code)
			if c.options.Grace >= 0 {
				c.options.Delete = false
				g, err := p.client.Collect(t.Context(), c.options)
				require.NoError(t, err, "looking is allowed")
				require.NotEmpty(t, g.Garbage, "and nothing was deleted")
			}
		})
	}
}

func TestACollectionWithoutGraceWhenNobodyIsLive(t *testing.T) {
	t.Parallel()
	p := oldPlace(t, "text \"ok\"")
	a := p.create("a")
	_, err := a.Ask(t.Context(), "hi")
	require.NoError(t, err)
	require.NoError(t, a.Dispose(t.Context()))
	before := p.trace(a)
	_, err = p.client.Collect(t.Context(), agents.CollectOptions{Delete: true})
	require.NoError(t, err)
	require.Equal(t, before, p.trace(a))
	_, err = p.client.Resume(t.Context(), "a")
	require.NoError(t, err)
}

func TestAnErasedAgentIsGoneAndItsIdIsFree(t *testing.T) {
	t.Parallel()
	p := oldPlace(t, strings.Repeat("text \"ok\"\n", 10))
	a := p.create("a")
	_, err := a.Ask(t.Context(), long("hi").Text)
	require.NoError(t, err)
	fork, err := p.client.Fork(t.Context(), "a", agents.ForkOptions{ID: "f"})
	require.NoError(t, err)
	inherited := p.trace(fork)
	options := agents.CollectOptions{Grace: store.MinGrace, Delete: true}

	_, err = p.client.Erase(t.Context(), "a", options)
	require.ErrorIs(t, err, agents.ErrExists, "it is live")
	_, err = p.client.Erase(t.Context(), "nobody", options)
	require.ErrorIs(t, err, agents.ErrUnknownAgent)
	require.NoError(t, a.Dispose(t.Context()))
	looked, err := p.client.Erase(t.Context(), "a", agents.CollectOptions{Grace: store.MinGrace})
	require.NoError(t, err)
	require.False(t, looked.Deleted)
	require.NotEmpty(t, p.trace(a), "it only looked")

	e, err := p.client.Erase(t.Context(), "a", options)
	require.NoError(t, err)
	require.True(t, e.Deleted)
	require.Equal(t, []string{"f"}, e.NeededBy)
	require.NotEmpty(t, e.Removed)
	_, err = p.client.Get(t.Context(), "a")
	require.ErrorIs(t, err, agents.ErrUnknownAgent)
	require.Equal(t, inherited, p.trace(fork))
	_, err = fork.Ask(t.Context(), "and now?")
	require.NoError(t, err)

	again := p.create("a")
	_, err = again.Ask(t.Context(), "hello")
	require.NoError(t, err)
	require.NoError(t, again.WhenIdle(t.Context()))
	require.Equal(t, []string{"hello"}, p.said(again))
	_, head, err := p.store.LatestHead(t.Context(), "a")
	require.NoError(t, err)
	var last int64
	for r, err := range again.Log(t.Context(), 0) {
		require.NoError(t, err)
		last = r.Seq
	}
	require.Equal(t, last+1, head.Count, "the store names the head of the new life")
}

func TestAnImportedSessionIsCollectedAround(t *testing.T) {
	t.Parallel()
	p := oldPlace(t, strings.Repeat("text \"ok\"\n", 10))
	a := p.create("a")
	_, err := a.Ask(t.Context(), long("hi").Text)
	require.NoError(t, err)
	require.NoError(t, a.WhenIdle(t.Context()))
	var file bytes.Buffer
	_, err = a.Export(t.Context(), &file)
	require.NoError(t, err)
	_, err = p.client.Import(t.Context(), bytes.NewReader(file.Bytes()), "copy")
	require.NoError(t, err)
	p.collect()
	require.NoError(t, a.Dispose(t.Context()))
	_, err = p.client.Erase(t.Context(), "a", agents.CollectOptions{Grace: store.MinGrace, Delete: true, Forgotten: true})
	require.NoError(t, err)
	b, err := p.client.Resume(t.Context(), "copy")
	require.NoError(t, err)
	_, err = b.Ask(t.Context(), "go on")
	require.NoError(t, err)
	require.Equal(t, []string{"hi", "go"}, p.said(b))
}

func TestATerminatedAgentIsErasedLater(t *testing.T) {
	t.Parallel()
	objects, err := local.Objects(t.Context(), "mem://")
	require.NoError(t, err)
	p := newPlaceOn(t, "text \"ok\"", objects)
	a := p.create("a")
	_, err = a.Ask(t.Context(), "hi")
	require.NoError(t, err)
	require.NoError(t, p.engine.Terminate("a"))
	_, err = p.client.Erase(t.Context(), "a", agents.CollectOptions{Grace: store.MinGrace, Delete: true})
	var refused *agents.RefusedError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, agents.CodeTooEarly, refused.Code)
	require.NotEmpty(t, p.trace(a))
}
