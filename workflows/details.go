package workflows

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/internal/work"
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
	for _, part := range []string{title(s), headline(s), waits(s, blocked), asked(s), callLine(s), pendingLine(s), problem(s), usageLine(s), hint(s)} {
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
		text = strings.Join(append(working(s), "somebody to answer what stands below"), "; ")
	}
	return unless(text == "", "Waits for "+text+".")
}

// What is spelled out.
const (
	shownApprovals = 5
	shownCalls     = 10
	shownArguments = 400 // bytes of a call's
)

// asked says of each call that waits for somebody what it is about, and what to send to answer.
func asked(s *driver.State) string {
	var parts []string
	for _, c := range s.Calls {
		if c.Ask != nil {
			parts = append(parts, wait(c))
		}
	}
	if more := len(parts) - shownApprovals; more > 0 {
		parts = append(parts[:shownApprovals], fmt.Sprintf("%d more calls wait for somebody: see the query `%s`.", more, signals.QueryState))
	}
	return strings.Join(parts, "\n\n")
}

func wait(c driver.Call) string {
	text, late := approval(c), "nobody decides until %s: it is refused"
	switch c.Ask.Kind {
	case work.WaitQuestion:
		text, late = question(c), "nobody answers until %s: the agent goes on without"
	case work.WaitClient:
		text, late = clientCall(c), "no result until %s: the call has failed"
	}
	if c.Ask.DueMS > 0 {
		text += "\n* " + fmt.Sprintf(late, clock(c.Ask.DueMS))
	}
	return text
}

func approval(c driver.Call) string {
	text := fmt.Sprintf("**To be decided:** %s with %s", code(c.Name), arguments(c))
	text += unless(c.Ask.Reason == "", ", because "+code(c.Ask.Reason)) + "\n\n"
	text += fmt.Sprintf("* to let it run, send the signal `%s` with %s\n", signals.Approve, code(payload(signals.Decision{ID: c.Ask.ID, By: you, Digest: c.Ask.Digest})))
	return text + fmt.Sprintf("* to refuse it, send the signal `%s` with %s", signals.DenyCall, code(payload(signals.Decision{ID: c.Ask.ID, By: you, Reason: "why"})))
}

// question shows what is asked, as far as it fits.
func question(c driver.Call) string {
	text := fmt.Sprintf("**To be answered:** %s asks\n\n", code(c.Name))
	var questions []signals.Question
	if json.Unmarshal(c.Ask.Questions, &questions) != nil {
		questions = nil
	}
	answers := signals.Answers{ID: c.Ask.ID, By: you}
	for _, q := range questions {
		text += "* " + code(cut(q.Text, shownArguments))
		var labels []string
		for _, o := range q.Options {
			labels = append(labels, code(o.Label))
		}
		text += unless(len(labels) == 0, ": "+strings.Join(labels, ", ")) + "\n"
		answer := signals.AnswerTo{ID: q.ID, Text: "your answer"}
		if len(q.Options) > 0 {
			answer = signals.AnswerTo{ID: q.ID, Selected: []string{q.Options[0].Label}}
		}
		answers.Answers = append(answers.Answers, answer)
	}
	return text + fmt.Sprintf("* to answer, send the signal `%s` with %s", signals.AnswerAsked, code(payload(answers)))
}

func clientCall(c driver.Call) string {
	text := fmt.Sprintf("**To be run by a program of yours:** %s with %s\n\n", code(c.Name), arguments(c))
	return text + fmt.Sprintf("* to give the result, send the signal `%s` with %s", signals.GiveResult, code(payload(signals.CallResult{ID: c.Ask.ID, Text: "the result"})))
}

// you stands for who answers.
const you = "your name"

// payload is one that a person can copy and complete.
func payload(of any) string {
	raw, err := json.Marshal(of)
	if err != nil {
		return signals.QueryState // what the wire carries always can be written
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
