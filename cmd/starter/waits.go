package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/signals"
)

// waitsText says which calls of an agent wait for somebody outside, and with which command that is given.
func waitsText(s signals.State) string {
	var b strings.Builder
	for _, d := range s.Deferred {
		fmt.Fprintf(&b, "\n\n%s%s", waitText(d), dueText(d))
		fmt.Fprintf(&b, "\n  %s", howTo(s.ID, d))
	}
	return b.String()
}

// waitText is what one waits for: the call with its arguments and why it is asked, or the questions.
func waitText(d signals.Deferred) string {
	switch d.Kind {
	case signals.WaitQuestion:
		questions, err := agents.Questions(d)
		if err != nil {
			return fmt.Sprintf("%s asks something that cannot be shown: %v", d.Tool, err)
		}
		var out []string
		for _, q := range questions {
			out = append(out, questionText(q))
		}
		return fmt.Sprintf("%s asks:\n%s", d.Tool, strings.Join(out, "\n"))
	case signals.WaitClient:
		return fmt.Sprintf("a program is to run: %s %s", d.Tool, argumentsText(d))
	default:
		return fmt.Sprintf("may this run? %s %s%s", d.Tool, argumentsText(d), reason(d.Reason))
	}
}

func reason(why string) string {
	if why == "" {
		return ""
	}
	return "\n  because: " + oneLine(why)
}

func argumentsText(d signals.Deferred) string {
	if d.Blob != nil {
		return fmt.Sprintf("(arguments of %d bytes, stored as %s)", d.Blob.Bytes, d.Blob.SHA256)
	}
	return d.Arguments
}

// questionText is a question with its options, numbered.
func questionText(q signals.Question) string {
	var b strings.Builder
	b.WriteString("  ")
	if q.Header != "" {
		fmt.Fprintf(&b, "[%s] ", oneLine(q.Header))
	}
	fmt.Fprintf(&b, "%s (%s)", oneLine(q.Text), q.ID)
	if q.Detail != "" {
		fmt.Fprintf(&b, "\n    %s", oneLine(q.Detail))
	}
	for i, o := range q.Options {
		fmt.Fprintf(&b, "\n    %d. %s", i+1, oneLine(o.Label))
		if o.Detail != "" {
			fmt.Fprintf(&b, ": %s", oneLine(o.Detail))
		}
	}
	return b.String()
}

func dueText(d signals.Deferred) string {
	if d.DueMS == 0 {
		return ""
	}
	return "\n  until " + time.UnixMilli(d.DueMS).Local().Format(time.DateTime)
}

// howTo is the command that ends the wait.
func howTo(agent string, d signals.Deferred) string {
	switch d.Kind {
	case signals.WaitQuestion:
		return fmt.Sprintf("starter answer %s %s QUESTION=TEXT … (or --skip)", agent, d.ID)
	case signals.WaitClient:
		return fmt.Sprintf("starter result %s %s TEXT (or --error)", agent, d.ID)
	default:
		return fmt.Sprintf("starter approve %s %s (or deny)", agent, d.ID)
	}
}
