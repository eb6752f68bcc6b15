package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/internal/servertest"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// An ear is a webhook's receiver. It is down until it is told otherwise, and keeps what it heard.
type ear struct {
	*httptest.Server
	mu    sync.Mutex
	up    bool
	tries map[string][]string // types of the tries, by id
	took  []string            // types of what was accepted
	bad   error
}

const earSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="

func newEar(t *testing.T) *ear {
	e := &ear{tries: map[string][]string{}}
	e.Server = httptest.NewServer(e)
	t.Cleanup(e.Close)
	return e
}

func (e *ear) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	raw, err := io.ReadAll(r.Body)
	verifier, _ := standardwebhooks.NewWebhook(earSecret)
	if err == nil {
		err = verifier.Verify(raw, r.Header)
	}
	var said struct{ ID, Type string }
	if err == nil {
		err = json.Unmarshal(raw, &said)
	}
	if err == nil && said.ID != r.Header.Get("webhook-id") {
		err = fmt.Errorf("the body has id %s, the header %s", said.ID, r.Header.Get("webhook-id"))
	}
	if err != nil {
		e.bad = err
	}
	e.tries[said.ID] = append(e.tries[said.ID], said.Type)
	if !e.up {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	e.took = append(e.took, said.Type)
}

// heard is how often it was called.
func (e *ear) heard() (n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, tries := range e.tries {
		n += len(tries)
	}
	return n
}

func (e *ear) accepted() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]string(nil), e.took...)
}

func (e *ear) open() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.up = true
}

// tellings are the workflows that tell what happened to an agent, by id, with their status.
func (p *place) tellings(id string) map[string]string {
	p.t.Helper()
	r, err := p.sdk.ListWorkflow(p.t.Context(), &workflowservice.ListWorkflowExecutionsRequest{
		Query: fmt.Sprintf("WorkflowType = '%s' AND WorkflowId STARTS_WITH '%s/tell/'", signals.TellWorkflowType, id)})
	require.NoError(p.t, err)
	out := map[string]string{}
	for _, w := range r.GetExecutions() {
		out[w.GetExecution().GetWorkflowId()] = w.GetStatus().String()
	}
	return out
}

// TestAWebhookIsToldInTheEnd: it is down, the worker that calls it is killed, the agent rolls over and is disposed of; then
// it is up, and is told everything, each thing under one id.
func TestAWebhookIsToldInTheEnd(t *testing.T) { // A3.12
	p := here(t)
	e := newEar(t)
	p.env = append(p.env, "EVERTURN_WEBHOOK_SECRET_OPS="+earSecret)
	const script = "tool c1 once {}\ntext \"Done.\"\n"
	old := p.helperWorker(script)
	p.write("go", "")
	a, err := p.agents.Create(t.Context(), agents.CreateOptions{ID: p.id("a"), Definition: asker, Title: "Deploys",
		Webhooks: []signals.Webhook{{URL: e.URL, Secret: "ops"}}})
	require.NoError(t, err)
	id := send(t, a, "act")
	until(t, "it was tried twice", func() bool { return e.heard() >= 2 })
	require.Contains(t, p.ok("approvals"), a.ID()+"  1.1.c1  approval  once")
	old.kill()
	first := p.runs(a.ID())
	p.helperWorker(script)
	p.ok("roll", a.ID())
	until(t, "it goes on in another run", func() bool { return len(p.runs(a.ID())) > len(first) })
	p.ok("approve", a.ID(), "1.1.c1", "--by", "ann")
	require.Equal(t, "Done.", said(t, a, id).Text)
	require.NoError(t, a.Dispose(t.Context()))
	until(t, "nothing waits any more", func() bool { return strings.Contains(p.ok("approvals"), "nothing waits") })
	require.Empty(t, e.accepted())

	e.open()
	want := []string{session.ToldApprovalAsked, session.ToldApprovalDecided, session.ToldTurnEnded}
	until(t, "everything was told", func() bool { return len(e.accepted()) >= len(want) })
	require.ElementsMatch(t, want, e.accepted())
	require.NoError(t, e.bad, "every try is signed, under the id of its body")
	require.Len(t, e.tries, 3, "every try of one thing has the same id")
	until(t, "the workflows that told are over", func() bool {
		over := 0
		for _, status := range p.tellings(a.ID()) {
			if status == "Completed" {
				over++
			}
		}
		return over == 3
	})
	p.records(a.ID())
	p.replay(a.ID())
	for id := range p.tellings(a.ID()) {
		require.NoError(t, servertest.Replay(p.history(id)), id)
	}
	told := p.tellings(a.ID())
	p.ok("erase", a.ID(), "--yes")
	for id := range told {
		until(t, "what told of it is gone", func() bool {
			_, err := p.sdk.DescribeWorkflow(t.Context(), id, "")
			var gone *serviceerror.NotFound
			return errors.As(err, &gone)
		})
	}
}

// TestAWebhookThatRefusesIsShown: nothing of the agent changes, and the Temporal UI says in one line what is wrong.
func TestAWebhookThatRefusesIsShown(t *testing.T) {
	p := here(t)
	elsewhere := httptest.NewServer(http.RedirectHandler("http://127.0.0.1:1/other", http.StatusTemporaryRedirect))
	t.Cleanup(elsewhere.Close)
	p.env = append(p.env, "EVERTURN_WEBHOOK_SECRET_OPS="+earSecret)
	p.helperWorker("text \"Done.\"\n")
	a, err := p.agents.Create(t.Context(), agents.CreateOptions{ID: p.id("a"), Definition: helper,
		Webhooks: []signals.Webhook{{URL: elsewhere.URL + "/s3cret", Secret: "ops", Events: []string{session.ToldTurnEnded}}}})
	require.NoError(t, err)
	require.Equal(t, "Done.", ask(t, a, "go").Text)
	until(t, "it gave up", func() bool {
		for _, status := range p.tellings(a.ID()) {
			return status == "Failed"
		}
		return false
	})
	for id := range p.tellings(a.ID()) {
		events := p.history(id).GetEvents()
		why := events[len(events)-1].GetWorkflowExecutionFailedEventAttributes().GetFailure().GetMessage()
		require.Contains(t, why, "it redirects to 127.0.0.1:1: redirects are not followed")
		require.NotContains(t, why, "s3cret")
	}
	_, err = p.agents.Create(t.Context(), agents.CreateOptions{ID: p.id("b"), Definition: helper, Webhooks: []signals.Webhook{{URL: "https://10.0.0.1", Secret: "ops"}}})
	require.ErrorContains(t, err, "10.0.0.1 is not public: allow it at the worker with --webhook-allow 10.0.0.1")
	require.Contains(t, p.fails(2, "create", "--webhook", "ops@nothing=https://x.example"), `event "nothing" is unknown`)
}
