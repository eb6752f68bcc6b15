package activities

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
)

// A teller is a worker with a definition that has webhooks, and who listens there.
type teller struct {
	*Activities
	t     *testing.T
	calls []*http.Request
	said  []map[string]any
	next  []int // statuses to answer with; then 204
}

const tellSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="

// newTeller makes one; hooks may change what the definition's webhook is.
func newTeller(t *testing.T, change func(*plugin.Webhook)) *teller {
	t.Helper()
	x := &teller{t: t}
	server := httptest.NewServer(x)
	t.Cleanup(server.Close)
	hook := plugin.Webhook{URL: server.URL + "/hook", Secret: "ops"}
	if change != nil {
		change(&hook)
	}
	s, err := store.Open(t.Context(), "mem://", store.Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	registry, err := llm.NewRegistry(scripted.New(scripted.Config{}))
	require.NoError(t, err)
	x.Activities, err = New(Config{Store: s, Registry: registry,
		Definitions: []*plugin.Definition{{Name: agent, Provider: scripted.Name, Model: "test", Webhooks: []plugin.Webhook{hook}}},
		Webhooks: Webhooks{Allow: []string{"127.0.0.0/8"}, Secret: func(name string) (string, bool) {
			return tellSecret, name == "ops"
		}}})
	require.NoError(t, err)
	require.NoError(t, s.ClaimEpoch(t.Context(), sess, 1, "me"))
	return x
}

func (x *teller) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	var said map[string]any
	_ = json.Unmarshal(raw, &said)
	x.calls, x.said = append(x.calls, r), append(x.said, said)
	status := http.StatusNoContent
	if len(x.next) > 0 {
		status, x.next = x.next[0], x.next[1:]
	}
	if status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "7200")
	}
	w.WriteHeader(status)
}

// told tells something the way the workflow does: the index, and then every webhook, once.
func (x *teller) told(in work.TellIn) error {
	x.t.Helper()
	in.Ident.Session, in.Ident.Definition, in.Ident.Epoch = sess, agent, 1
	out, err := x.Tell(x.t.Context(), in)
	require.NoError(x.t, err)
	var all []error
	for _, to := range out.Targets {
		in.Target = to.Key
		_, err := x.Tell(x.t.Context(), in)
		all = append(all, err)
	}
	return errors.Join(all...)
}

func asked(id string) work.TellIn {
	return work.TellIn{ID: "sess/tell/1.tell-9", Kind: session.ToldApprovalAsked, Time: 1764500000123, Title: "Deploys", Turn: 1, Step: 2,
		Wait: &work.Waits{ID: id, Kind: work.WaitApproval, CallID: "c1", Tool: "deploy", Arguments: `{"to":"prod"}`, Reason: "sure?", Digest: "d1", DueMS: 1764500060000}}
}

// TestAnApprovalIsTold: the receiver gets what a person needs.
func TestAnApprovalIsTold(t *testing.T) {
	t.Parallel()
	x := newTeller(t, nil)
	require.NoError(t, x.told(asked("1.2.c1")))
	require.Len(t, x.said, 1)
	id := x.calls[0].Header.Get("webhook-id")
	require.Regexp(t, `^told_[0-9a-f]{32}$`, id)
	raw, err := json.Marshal(x.said[0])
	require.NoError(t, err)
	require.JSONEq(t, `{"id":"`+id+`","type":"approval.asked","time":"2025-11-30T10:53:20.123Z","turn":1,"step":2,
		"agent":{"id":"sess","definition":"tester","title":"Deploys"},
		"data":{"id":"1.2.c1","kind":"approval","callId":"c1","tool":"deploy","arguments":{"to":"prod"},"reason":"sure?","digest":"d1","due":"2025-11-30T10:54:20Z",
			"answer":{"signals":["approve","deny"],"payload":{"id":"1.2.c1","digest":"d1"}}}}`, string(raw))
}

// TestEveryTryHasTheSameID: a receiver can tell a repetition from news.
func TestEveryTryHasTheSameID(t *testing.T) {
	t.Parallel()
	x := newTeller(t, nil)
	x.next = []int{500, 503}
	for _, fails := range []bool{true, true, false} {
		err := x.told(asked("1.2.c1"))
		require.Equal(t, fails, err != nil, "%v", err)
		if fails {
			var later *Delay
			require.ErrorAs(t, err, &later)
			require.Zero(t, later.After)
		}
	}
	require.Len(t, x.calls, 3)
	for _, r := range x.calls {
		require.Equal(t, x.calls[0].Header.Get("webhook-id"), r.Header.Get("webhook-id"))
	}
	require.NoError(t, x.told(work.TellIn{ID: "sess/tell/1.tell-10", Kind: session.ToldError, Failure: &session.Failure{Code: "X", Message: "y"}}))
	require.NotEqual(t, x.said[0]["id"], x.said[3]["id"])
	require.Equal(t, map[string]any{"error": map[string]any{"code": "X", "message": "y"}}, x.said[3]["data"])
}

// TestWhoCannotBeTold: each failure is one line that says what to do, and says whether another try makes sense.
func TestWhoCannotBeTold(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*plugin.Webhook)
		next   []int
		later  time.Duration // -1: never
		says   string
	}{
		"an unknown secret":  {func(w *plugin.Webhook) { w.Secret = "other" }, nil, 0, `knows no webhook secret "other"`},
		"an unknown name":    {func(w *plugin.Webhook) { w.URL = "https://hooks.invalid" }, nil, 0, "webhook hooks.invalid: "},
		"it asks for time":   {nil, []int{429}, work.TellPatience, "429"},
		"it is not there":    {nil, []int{404}, -1, "404"},
		"it redirects":       {nil, []int{302}, -1, "redirects are not followed"},
		"it is another's":    {nil, []int{401}, -1, "401"},
		"it is broken":       {nil, []int{502}, 0, "502"},
		"it is not in force": {nil, []int{425}, 0, "425"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := newTeller(t, tt.change)
			x.next = tt.next
			err := x.told(asked("1.2.c1"))
			require.ErrorContains(t, err, tt.says)
			var later *Delay
			var never *Refusal
			if tt.later < 0 {
				require.ErrorAs(t, err, &never)
				require.Equal(t, work.ErrUntellable, never.Kind)
				return
			}
			require.ErrorAs(t, err, &later)
			require.Equal(t, tt.later, later.After)
		})
	}
}

// TestTheIndexIsKeptWithoutWebhooks: what waits is listed until it ends.
func TestTheIndexIsKeptWithoutWebhooks(t *testing.T) {
	t.Parallel()
	x := newTeller(t, func(w *plugin.Webhook) { w.Events = []string{session.ToldTurnEnded} })
	list := func() (out []store.Waiting) {
		for w, err := range x.Store.Waiting(t.Context()) {
			require.NoError(t, err)
			out = append(out, w)
		}
		return out
	}
	require.NoError(t, x.told(asked("1.2.c1")))
	require.Equal(t, []store.Waiting{{Session: sess, Epoch: 1, ID: "1.2.c1", Kind: "approval", Definition: agent, Title: "Deploys", Turn: 1, CallID: "c1",
		Tool: "deploy", Reason: "sure?", Digest: "d1", SinceMS: 1764500000123, DueMS: 1764500060000}}, list())
	require.NoError(t, x.told(work.TellIn{ID: "y", Kind: session.ToldApprovalDecided, Ended: &work.WaitEnded{ID: "1.2.c1", Outcome: "granted"}}))
	require.Empty(t, list())
	require.Empty(t, x.calls, "the webhook is for something else")
}

// TestTheLastWordsOfATurnAreTold: they are in the log that the store holds.
func TestTheLastWordsOfATurnAreTold(t *testing.T) {
	t.Parallel()
	x := newTeller(t, nil)
	long := make([]byte, 3000)
	for i := range long {
		long[i] = 'x'
	}
	head := store.Head{}
	for turn, text := range []string{"Done.", string(long)} {
		m := session.Message{ID: "a", Role: session.RoleAssistant, Content: session.TextContent(text)}
		events := []session.Event{session.TurnStart{Turn: turn + 1}, session.StepStart{Turn: turn + 1, Step: 1},
			session.AssistantMessage{Turn: turn + 1, Step: 1, Message: m}, session.StepEnd{Turn: turn + 1, Step: 1}, session.TurnEnd{Turn: turn + 1, Reason: session.TurnReason{Kind: session.TurnCompleted}}}
		var records []session.Record
		for i, e := range events {
			r := session.NewRecord(1, e)
			r.Seq = head.Count + int64(i)
			records = append(records, r)
		}
		var err error
		head, err = x.Store.Append(t.Context(), sess, 1, head, records)
		require.NoError(t, err)
	}
	for turn, want := range map[int]string{1: "Done.", 2: string(long[:2048])} {
		require.NoError(t, x.told(work.TellIn{ID: "z", Kind: session.ToldTurnEnded, Turn: turn, Ids: []string{"m1"},
			Reason: &session.TurnReason{Kind: session.TurnCompleted}, Head: &work.Head{Hash: head.Hash, Count: head.Count}}))
		data, _ := x.said[len(x.said)-1]["data"].(map[string]any)
		require.Equal(t, want, data["text"])
		require.Equal(t, turn == 2, data["cut"] == true)
		require.Equal(t, []any{"m1"}, data["messages"])
	}
}

// TestBadWebhooks: a worker does not start with them, and no agent is born with them.
func TestBadWebhooks(t *testing.T) {
	t.Parallel()
	x := newTeller(t, nil)
	for says, w := range map[string]work.Webhook{
		"use a URL with https":  {URL: "ftp://hooks.example", Secret: "ops"},
		"is not public":         {URL: "https://10.0.0.1", Secret: "ops"},
		"it names no secret":    {URL: "https://hooks.example"},
		"is no name of a":       {URL: "https://hooks.example", Secret: "a b"},
		"is unknown: use appro": {URL: "https://hooks.example", Secret: "ops", Events: []string{"approval"}},
		"the URL takes 0 bytes": {Secret: "ops"},
	} {
		err := x.checkWebhooks(nil, work.Spec{Webhooks: []work.Webhook{w}})
		require.ErrorContains(t, err, says)
		_, err = New(Config{Store: x.Store, Registry: x.Registry, Definitions: []*plugin.Definition{{Name: "d", Webhooks: []plugin.Webhook{plugin.Webhook(w)}}}})
		require.ErrorContains(t, err, says)
	}
	require.ErrorContains(t, x.checkWebhooks(nil, work.Spec{Webhooks: make([]work.Webhook, 9)}), "too many")
	_, err := New(Config{Store: x.Store, Registry: x.Registry, Webhooks: Webhooks{Allow: []string{"nonsense/"}}})
	require.ErrorContains(t, err, "no network, address or host name")
}

func TestSecretsComeFromTheEnvironment(t *testing.T) {
	t.Setenv("EVERTURN_WEBHOOK_SECRET_OPS_EU", "x")
	got, err := Webhooks{}.secret("ops-eu")
	require.NoError(t, err)
	require.Equal(t, "x", got)
	_, err = Webhooks{}.secret("ops.us")
	require.ErrorContains(t, err, "set EVERTURN_WEBHOOK_SECRET_OPS_US")
}
