package browser

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/session"
)

// The story of docs/temporal-ui.md, step by step. What a step did is read in the log.
func TestAPersonWhoHasOnlyTheTemporalUI(t *testing.T) {
	if testing.Short() {
		t.Skip("real processes")
	}
	b := browse(t)
	d := openDesk(t)
	_, err := d.agent.Followup(t.Context(), agents.Text("Please refund order 1017."))
	require.NoError(t, err)
	d.asked(1)

	find(b, d)
	read(b, d)
	steer(b, d)
	approve(b, d)
	followUpAndDeny(b, d)
	cancel(b, d)
	dispose(b, d)
}

// find looks for the agents that wait for a person.
func find(b *tab, d *desk) {
	d.listed(`WorkflowType = "EverturnAgent"`, 2)
	d.listed(`AgentWaiting = "approval"`, 1)
	d.listed(`WorkflowType = "EverturnTell"`, 1) // the index of what waits is told
	b.open(d.ui + "/namespaces/default/workflows")
	b.sees("main h1", "3 Workflows")
	b.click("[data-testid=toggle-manual-query]", "")
	b.fill("[data-testid=workflow-manual-search-input]", `AgentWaiting = "approval"`)
	b.click("main button", "Search")
	b.sees("main h1", "1 Workflow")
	b.sees("main a", "refund-desk")
	b.picture("find", "main")
	b.click("main a", "refund-desk")
}

// read opens the page with the details.
func read(b *tab, d *desk) {
	b.click("a", "User Metadata")
	b.readsFrame(summary, "Refunds of the day")
	text := b.reads(`To be decided: refund with {"order":1017,"amount":61.5}, because money leaves the house`)
	for _, part := range []string{"running · turn 1 step 2 · refunds · scripted/desk", "Waits for somebody to answer what stands below.", "Tokens: 1686 in, 71 out."} {
		require.Contains(b.t, text, part)
	}
	b.picture("details", "main")
}

// steer lets a message join the turn that runs.
func steer(b *tab, d *desk) {
	b.signal("steer", `"Tell the customer that it takes three days."`, pictures{offered: "signals"})
	d.until("a message waits for the next step", func([]session.Record) bool {
		inbox := d.state().Inbox
		return len(inbox) == 1 && inbox[0].Target == session.NextStep
	})
	b.reads("Messages that wait: 1 for the next step.")
}

// approve sends what the details say.
func approve(b *tab, d *desk) {
	b.signal("approve", b.copied("approve"), pictures{filled: "approve"})
	require.Equal(b.t, session.TurnCompleted, d.idle(1).Reason.Kind)
	records := d.records()
	decided := features(b.t, records, "approval/decided")
	require.Len(b.t, decided, 1)
	require.Equal(b.t, "granted", decided[0]["outcome"])
	require.Equal(b.t, operator, decided[0]["by"])
	require.Equal(b.t, []string{"paid 61.50, sent back", "paid back"}, results(records))
	users := all[session.UserMessage](records)
	require.Len(b.t, users, 2)
	require.Equal(b.t, "Tell the customer that it takes three days.", users[1].Message.Text(), "it joined the turn")
	text := b.reads("idle · turn 1 step 3")
	require.NotContains(b.t, text, "To be decided")
	b.click("a", "Timeline")
	b.sees("main h2", "Timeline")
	b.picture("timeline", "main")
	b.click("a", "User Metadata")
}

// followUpAndDeny begins another turn and refuses what it asks for.
func followUpAndDeny(b *tab, d *desk) {
	b.signal("followup", `{"text": "Please refund order 1018, too."}`, pictures{})
	d.asked(2)
	b.reads(`To be decided: refund with {"order":1018,"amount":80}`)
	b.signal("deny", strings.Replace(b.copied("deny"), `"why"`, `"there is no receipt"`, 1), pictures{})
	require.Equal(b.t, session.TurnCompleted, d.idle(2).Reason.Kind)
	decided := features(b.t, d.records(), "approval/decided")
	require.Equal(b.t, map[string]any{"outcome": "rejected", "by": operator, "reason": "there is no receipt"},
		map[string]any{"outcome": decided[1]["outcome"], "by": decided[1]["by"], "reason": decided[1]["reason"]})
	require.Equal(b.t, "Error: the approver rejected this call: there is no receipt", results(d.records())[2])
}

// cancel stops a turn with the button of the page. The agent goes on in a new run.
func cancel(b *tab, d *desk) {
	b.signal("followup", `"Write the report of the month."`, pictures{})
	d.until("the model answers", func([]session.Record) bool { s := d.state(); return s.Turn == 3 && s.Phase == "step" })
	b.reads("Waits for the model (turn 3 step 1 attempt 1).")
	b.click("main button", "Request Cancellation")
	b.sees("dialog[open]", "Cancel Workflow")
	b.picture("cancel", "dialog[open]")
	b.click("dialog[open] button", "Confirm")
	end := d.idle(3)
	require.Equal(b.t, session.TurnAborted, end.Reason.Kind)
	asked := all[session.CancelRequested](d.records())
	require.Len(b.t, asked, 1)
	require.Equal(b.t, "native", asked[0].Via)
}

// dispose ends the agent.
func dispose(b *tab, d *desk) {
	b.open(d.ui + "/namespaces/default/workflows/refund-desk")
	b.click("a", "User Metadata")
	require.Contains(b.t, b.reads("idle · turn 3"), "Refunds of the day", "the new run has no summary")
	b.signal("dispose", "", pictures{})
	d.until("the agent is closed", func([]session.Record) bool { return d.state().Status == "closed" })
	b.sees("main span", "COMPLETED")
	b.click("a", "Timeline")
	b.picture("disposed", "main")
}

// operator is who decides.
const operator = "operator"

// copied is the payload that the details name for a signal, with a name filled in.
func (b *tab) copied(signal string) string {
	b.t.Helper()
	m := regexp.MustCompile(`send the signal ` + signal + `\s+with\s+(\{[^}]*\})`).FindStringSubmatch(b.reads("send the signal " + signal))
	require.NotNil(b.t, m)
	require.True(b.t, json.Valid([]byte(m[1])), m[1])
	return strings.Replace(m[1], "your name", operator, 1)
}

// pictures are what the form of a signal is photographed for: the signals it offers, and what is sent.
type pictures struct{ offered, filled string }

// signal sends a signal as the page of a workflow lets people do it.
func (b *tab) signal(name, payload string, p pictures) {
	b.t.Helper()
	b.click("main button", "More Actions")
	b.click("[role=menuitem]", "Send a Signal")
	b.click("dialog[open] [data-testid=signal-select-button]", "")
	b.sees("dialog[open] [role=option]", name)
	b.picture(p.offered, "dialog[open]")
	b.click("dialog[open] [role=option]", name)
	b.fill("dialog[open] .cm-content", payload) // the form keeps what was sent last
	b.picture(p.filled, "dialog[open]")
	b.click("dialog[open] button", "Submit")
	b.gone("dialog[open]")
	b.gone("#workflow-signal-success-toast") // a second one at the same time would break this UI
}
