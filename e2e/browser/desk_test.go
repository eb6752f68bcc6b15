package browser

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/internal/log"
	"github.com/everturn/everturn/internal/servertest"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
	"github.com/everturn/everturn/tools"
	"github.com/everturn/everturn/worker"
)

// A desk is an agent that makes refunds, the worker that runs it, and the server with its UI.
type desk struct {
	t     *testing.T
	ui    string
	sdk   client.Client
	agent *agents.Agent
}

// The agent's side of the story. Each line is a request to the model.
const story = `
tool c1 find_order {"order":1017} usage 812 40
tool c2 refund {"order":1017,"amount":61.5} usage 874 31
text "Order 1017 is refunded. It takes three days." usage 921 22

tool c3 refund {"order":1018,"amount":80} usage 990 30
text "Order 1018 is not refunded: there is no receipt." usage 1042 18

text "Refunds of this month:" hold report text "done" usage 1101 9
`

func openDesk(t *testing.T) *desk {
	t.Helper()
	s, err := servertest.Run(servertest.Built(t, "../../devserver"), "--ephemeral", "--headless=false", "--ui-port", "0")
	require.NoError(t, err)
	t.Cleanup(s.Stop)
	c, err := client.Dial(client.Options{HostPort: s.Address, Identity: "worker", Logger: log.Silent()}) // the name of the machine is no business of a picture
	require.NoError(t, err)
	t.Cleanup(c.Close)
	store, err := worker.OpenStore(t.Context(), "mem://")
	require.NoError(t, err)
	model := scripted.Model{Script: scripted.MustParse(story), Position: scripted.ByHistory}
	w, err := worker.New(t.Context(), worker.Config{Client: c, Store: store, Profile: worker.Embedded, Drain: patience, Definitions: []*plugin.Definition{refunds()},
		Providers: []llm.Provider{scripted.New(scripted.Config{Models: map[string]scripted.Model{"desk": model}})}})
	require.NoError(t, err)
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	all, err := agents.New(agents.Config{Store: store, Backend: agents.Temporal(c, agents.TemporalOptions{})})
	require.NoError(t, err)
	agent, err := all.Create(t.Context(), agents.CreateOptions{ID: "refund-desk", Definition: "refunds", Title: "Refunds of the day"})
	require.NoError(t, err)
	_, err = all.Create(t.Context(), agents.CreateOptions{ID: "idle-desk", Definition: "refunds"}) // who is looked for is not the only one
	require.NoError(t, err)
	return &desk{t: t, ui: s.UIAddress, sdk: c, agent: agent}
}

// listed waits until a query finds n agents.
func (d *desk) listed(query string, n int) {
	d.t.Helper()
	d.until("a list has them", func([]session.Record) bool {
		found, err := d.sdk.CountWorkflow(d.t.Context(), &workflowservice.CountWorkflowExecutionsRequest{Namespace: "default", Query: query})
		return err == nil && found.GetCount() == int64(n)
	})
}

type order struct {
	Order  int     `json:"order"`
	Amount float64 `json:"amount,omitempty"`
}

// refunds is the definition: a person decides about every refund.
func refunds() *plugin.Definition {
	ask := func(ctx context.Context, in plugin.ToolCall, next func(context.Context) (plugin.Verdict, error)) (plugin.Verdict, error) {
		if in.Name == "refund" {
			return plugin.Verdict{Kind: plugin.Ask, Reason: "money leaves the house"}, nil
		}
		return next(ctx)
	}
	return &plugin.Definition{Name: "refunds", Provider: scripted.Name, Model: "desk",
		Approval: &plugin.Approval{Deadline: 24 * time.Hour}, ToolPreExecute: []plugin.ToolPreGate{ask},
		Tools: []*tools.Tool{
			tools.Must(tools.New("find_order", "Looks an order up.", func(context.Context, order) (string, error) { return "paid 61.50, sent back", nil }, tools.WithEffect(tools.Pure))),
			tools.Must(tools.New("refund", "Pays an order back.", func(context.Context, order) (string, error) { return "paid back", nil })),
		}}
}

// records is the log, which has to be a valid one.
func (d *desk) records() []session.Record {
	d.t.Helper()
	var records []session.Record
	for r, err := range d.agent.Log(d.t.Context(), 0) {
		require.NoError(d.t, err)
		records = append(records, r)
	}
	_, err := session.Fold(0, records)
	require.NoError(d.t, err)
	return records
}

// until waits until the log satisfies a condition.
func (d *desk) until(what string, condition func([]session.Record) bool) {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), patience)
	defer cancel()
	for tick := time.NewTicker(20 * time.Millisecond); !condition(d.records()); {
		select {
		case <-tick.C:
		case <-ctx.Done():
			require.FailNow(d.t, "the log does not show: "+what)
		}
	}
}

// asked waits until a person has to decide about the n-th refund.
func (d *desk) asked(n int) {
	d.t.Helper()
	d.until("a person is asked", func(records []session.Record) bool { return len(features(d.t, records, "approval/asked")) == n })
}

// idle waits until the agent is idle, n turns after its birth, and returns how the last one ended.
func (d *desk) idle(n int) session.TurnEnd {
	d.t.Helper()
	d.until("the turn ends", func(records []session.Record) bool { return len(all[session.TurnEnd](records)) == n })
	require.NoError(d.t, d.agent.WhenIdle(d.t.Context()))
	return all[session.TurnEnd](d.records())[n-1]
}

func (d *desk) state() signals.State {
	d.t.Helper()
	s, err := d.agent.State(d.t.Context())
	require.NoError(d.t, err)
	return s
}

// all returns the events of one kind.
func all[E session.Event](records []session.Record) (out []E) {
	for _, r := range records {
		if e, ok := r.Event.(E); ok {
			out = append(out, e)
		}
	}
	return out
}

// features returns the data of the events of a feature.
func features(t *testing.T, records []session.Record, kind string) (out []map[string]any) {
	t.Helper()
	for _, f := range all[session.Feature](records) {
		if f.Kind == kind {
			var data map[string]any
			require.NoError(t, json.Unmarshal(f.Data, &data))
			out = append(out, data)
		}
	}
	return out
}

// results are the texts that the calls were answered with.
func results(records []session.Record) (out []string) {
	for _, r := range all[session.ToolResult](records) {
		for _, b := range r.Message.Content {
			if block, ok := b.(session.ToolResultBlock); ok {
				out = append(out, block.Content.Text())
			}
		}
	}
	return out
}
