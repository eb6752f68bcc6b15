package local

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/activities"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/signals"
)

// A listener is told things; it verifies every one.
type listener struct {
	mu    sync.Mutex
	url   string
	times []string // when, on the engine's clock, with the id
	types []string
	fails int // how often it is down first
	clock func() time.Time
	bad   error
}

const hookSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="

func listen(t *testing.T) *listener {
	l := &listener{}
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	l.url = server.URL
	return l
}

func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	raw, err := io.ReadAll(r.Body)
	verifier, _ := standardwebhooks.NewWebhook(hookSecret)
	if err == nil {
		err = verifier.Verify(raw, r.Header)
	}
	var said struct{ Type, ID string }
	if err == nil {
		err = json.Unmarshal(raw, &said)
	}
	if err != nil {
		l.bad = err
	}
	l.times = append(l.times, l.clock().Format(time.TimeOnly)+" "+r.Header.Get("webhook-id"))
	if l.fails > 0 {
		l.fails--
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	l.types = append(l.types, said.Type)
}

// toldWorld is a world whose calls need an approval, with a webhook at the listener.
func toldWorld(t *testing.T, l *listener, text string, options ...option) *world {
	hooked := func(_ *Config, a *activities.Config, _ *scripted.Model) {
		d := a.Definitions[0]
		d.Webhooks = []plugin.Webhook{{URL: l.url, Secret: "ops"}}
		d.Approval, d.ToolPreExecute = &plugin.Approval{Deadline: plugin.NoDeadline}, []plugin.ToolPreGate{ask}
		a.Webhooks = activities.Webhooks{Allow: []string{"127.0.0.1"}, Secret: func(string) (string, bool) { return hookSecret, true }}
	}
	w := newWorld(t, text, append([]option{hooked}, options...)...)
	l.clock = w.Now
	return w
}

// ask asks a person about every call.
func ask(context.Context, plugin.ToolCall, func(context.Context) (plugin.Verdict, error)) (plugin.Verdict, error) {
	return plugin.Verdict{Kind: plugin.Ask, Reason: "sure?"}, nil
}

// waits is what the index lists, by call.
func (w *world) waits() (out []string) {
	w.t.Helper()
	st, err := OpenStore(w.objects)
	require.NoError(w.t, err)
	for x, err := range st.Waiting(w.t.Context()) {
		require.NoError(w.t, err)
		out = append(out, x.Session+" "+x.ID+" "+x.Tool)
	}
	return out
}

// TestAListenerIsTold: who is down is told when it is up again, in its own time, while the agent is long gone.
func TestAListenerIsTold(t *testing.T) {
	t.Parallel()
	l := listen(t)
	w := toldWorld(t, l, "tool c1 echo {\"text\":\"x\"}\ntext \"Done.\"\n", withRollover(1))
	w.start()
	w.followup("m1")
	require.NoError(t, w.WaitUntil(t.Context(), "a", func(s signals.State) bool { return len(s.Deferred) == 1 }))
	w.settled()
	require.Equal(t, []string{"approval.asked"}, l.types)
	require.Equal(t, []string{"a 1.1.c1 echo"}, w.waits())

	l.fails = 3
	w.SetManual(true)
	w.signal(signals.Approve, signals.Decision{ID: "1.1.c1"})
	w.idle()
	w.signal(signals.DisposeAgent, signals.Dispose{})
	w.settled()
	require.Empty(t, w.waits(), "the index does not wait for webhooks")
	_, open := w.Untold("a")
	require.Positive(t, open, "the agent has ended, and somebody is still to be told")
	require.NoError(t, w.Advance(t.Context(), time.Minute))
	failed, open := w.Untold("a")
	require.Empty(t, failed)
	require.Zero(t, open)
	require.ElementsMatch(t, []string{"approval.asked", "approval.decided", "turn.ended"}, l.types)
	require.NoError(t, l.bad, "every delivery is signed")
	ids := map[string]int{}
	for _, at := range l.times {
		ids[at[len("15:04:05 "):]]++
	}
	require.Len(t, ids, 3, "every try of a delivery has its id: %v", l.times)
}

// TestAListenerThatStaysDownIsGivenUp: after a day, and with the reason.
func TestAListenerThatStaysDownIsGivenUp(t *testing.T) {
	t.Parallel()
	l := listen(t)
	l.fails = 1 << 20
	w := toldWorld(t, l, `text "Done."`)
	w.start()
	w.followup("m1")
	w.settled()
	failed, open := w.Untold("a")
	require.Zero(t, open)
	require.Len(t, failed, 1)
	require.InDelta(t, 152, len(l.times), 4, "doubling to ten minutes, for a day")
}

// TestATellingWorkerDies: at any point, the listener is told, at least once, under one id.
func TestATellingWorkerDies(t *testing.T) {
	t.Parallel()
	for _, point := range []string{pointStart, pointAnswer} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			l := listen(t)
			w := toldWorld(t, l, `text "Done."`)
			w.KillAt(Point{Name: point, Activity: "Tell"}, 2)
			w.start()
			w.followup("m1")
			w.settled()
			require.NotContains(t, l.types, "approval.asked")
			saved, err := w.Save()
			require.NoError(t, err)
			next, err := Load(w.config, saved)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, next.Close()) })
			l.clock = next.Now
			_, err = next.StartWorker()
			require.NoError(t, err)
			require.NoError(t, next.Settled(t.Context()))
			_, open := next.Untold("a")
			require.Zero(t, open)
			require.Subset(t, []string{"turn.ended"}, l.types)
			require.NotEmpty(t, l.types)
			for _, at := range l.times {
				require.Equal(t, l.times[0][9:], at[9:])
			}
			listed := 0
			for range next.List(t.Context()) {
				listed++
			}
			require.Equal(t, 1, listed, "what is told is no agent")
		})
	}
}
