package workflows

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/signals"
	"go.temporal.io/sdk/workflow"
)

// details is what the Temporal UI shows of the agent; it costs no history.
func (a *agent) details() {
	workflow.SetCurrentDetails(a.ctx, Details(a.driver.State(), a.blocked))
}

// Details is the state in Markdown, for people who have nothing but the Temporal UI: what the agent does, and what to
// send for it to do something else. Blocked is what a signal waits for before it can be read.
func Details(s *driver.State, blocked string) string {
	var parts []string
	for _, part := range []string{title(s), headline(s), waits(s, blocked), approvals(s), callLine(s), pendingLine(s), problem(s), usageLine(s), hint(s)} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, "\n\n")
}

// title is shown here too: runs that continue another one have no summary.
func title(s *driver.State) string { return unless(s.Title == "", code(s.Title)) }

// headline says in one line how far the agent is.
func headline(s *driver.State) string {
	text := fmt.Sprintf("**%s** · turn %d step %d", status(s), s.Turn, step(s))
	if s.Attempt > 1 && s.Phase == driver.Stepping {
		text += fmt.Sprintf(" attempt %d", s.Attempt)
	}
	text += " · " + code(s.Definition)
	if s.Model != "" {
		text += " · " + code(s.Model)
	}
	if s.Cancelled != nil {
		text += " · cancelled by " + string(s.Cancelled.Kind)
	}
	return text
}

// waits says what has to happen next. What a person has to do is in a part of its own.
func waits(s *driver.State, blocked string) string {
	text := cmp.Or(blocked, waitingFor(s))
	if blocked == "" && s.Phase == driver.Tools && len(deferred(s)) > 0 {
		text = strings.Join(append(working(s), "a person to decide"), "; ")
	}
	return unless(text == "", "Waits for "+text+".")
}

// What is spelled out.
const (
	shownApprovals = 5
	shownCalls     = 10
	shownArguments = 400 // bytes of a call's
)

// approvals says of each call that waits for a person what it would do, and what to send to answer.
func approvals(s *driver.State) string {
	var parts []string
	for _, c := range s.Calls {
		if c.State == driver.CallAsking {
			parts = append(parts, approval(c))
		}
	}
	if more := len(parts) - shownApprovals; more > 0 {
		parts = append(parts[:shownApprovals], fmt.Sprintf("%d more calls wait for a decision: see the query `%s`.", more, signals.QueryState))
	}
	return strings.Join(parts, "\n\n")
}

func approval(c driver.Call) string {
	text := fmt.Sprintf("**To be decided:** %s with %s\n\n", code(c.Name), arguments(c))
	text += fmt.Sprintf("* to let it run, send the signal `%s` with %s\n", signals.Approve, code(decision(c.Ask.ID, "")))
	text += fmt.Sprintf("* to refuse it, send the signal `%s` with %s", signals.DenyCall, code(decision(c.Ask.ID, "why")))
	if c.Ask.DueMS > 0 {
		text += "\n* nobody decides until " + clock(c.Ask.DueMS) + ": it is refused"
	}
	return text
}

// decision is a payload that a person can copy and complete.
func decision(id, reason string) string {
	raw, err := json.Marshal(signals.Decision{ID: id, By: "your name", Reason: reason})
	if err != nil {
		return id // strings always can be written
	}
	return string(raw)
}

// arguments are those of a call, as far as they fit.
func arguments(c driver.Call) string {
	if c.Blob != nil {
		return fmt.Sprintf("%d bytes of arguments", c.Blob.Bytes)
	}
	if c.Arguments == "" {
		return "no arguments"
	}
	shown := cut(c.Arguments, shownArguments)
	return code(shown) + unless(shown == c.Arguments, fmt.Sprintf(" and %d bytes more", len(c.Arguments)-len(shown)))
}

// callLine names the calls of the open step and how far each is.
func callLine(s *driver.State) string {
	var calls []string
	for _, c := range s.Calls {
		calls = append(calls, code(c.Name)+" "+cmp.Or(string(c.State), "waiting"))
	}
	if more := len(calls) - shownCalls; more > 0 {
		calls = append(calls[:shownCalls], fmt.Sprintf("%d more", more))
	}
	return unless(len(calls) == 0, "Calls: "+strings.Join(calls, ", ")+".")
}

func pendingLine(s *driver.State) string {
	var parts []string
	if n := len(s.NextStep); n > 0 {
		parts = append(parts, fmt.Sprintf("%d for the next step", n))
	}
	if n := len(s.NextTurn); n > 0 {
		parts = append(parts, fmt.Sprintf("%d for turns to come", n))
	}
	return unless(len(parts) == 0, "Messages that wait: "+strings.Join(parts, ", ")+".")
}

func problem(s *driver.State) string {
	if s.LastError == nil {
		return ""
	}
	return fmt.Sprintf("Last error: `%s` %s", s.LastError.Code, code(short(s.LastError.Message)))
}

func usageLine(s *driver.State) string {
	if s.Usage == nil {
		return ""
	}
	text := fmt.Sprintf("Tokens: %d in, %d out", s.Usage.InputTokens, s.Usage.OutputTokens)
	for _, more := range []struct {
		n    int64
		what string
	}{{s.Usage.CacheReadTokens, "read from the cache"}, {s.Usage.CacheWriteTokens, "written to it"}, {s.Usage.ReasoningTokens, "of reasoning"}} {
		text += unless(more.n == 0, fmt.Sprintf(", %d %s", more.n, more.what))
	}
	return text + "."
}

// hint says how to talk to the agent from where this is read.
func hint(s *driver.State) string {
	if s.Phase == driver.Closed {
		return ""
	}
	return fmt.Sprintf("Send a signal: `%s` or `%s` with `\"your text\"`, `%s` or `%s` without a payload.",
		signals.Followup, signals.Steer, signals.CancelTurn, signals.DisposeAgent)
}

// code shows a text as it is: whatever it holds, it is no Markdown.
func code(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		return "–"
	}
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + text + " " + fence
	}
	return fence + text + fence
}
