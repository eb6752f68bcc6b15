package workflows

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/signals"
)

// What is spelled out.
const (
	shownDecisions = 5
	shownArguments = 400 // bytes of a call's
)

// decisions says of each call that waits for a person what it would do, and what to send to answer.
func decisions(s *driver.State) string {
	var parts []string
	for _, c := range s.Calls {
		if c.State == driver.CallAsking {
			parts = append(parts, toDecide(c))
		}
	}
	if more := len(parts) - shownDecisions; more > 0 {
		parts = append(parts[:shownDecisions], fmt.Sprintf("%d more calls wait for a decision: see the query `%s`.", more, signals.QueryState))
	}
	return strings.Join(parts, "\n\n")
}

func toDecide(c driver.Call) string {
	text := fmt.Sprintf("**To be decided:** %s with %s\n\n", code(c.Name), arguments(c))
	text += fmt.Sprintf("* to let it run, send the signal `%s` with %s\n", signals.Approve, code(sample(c.Ask.ID, "")))
	text += fmt.Sprintf("* to refuse it, send the signal `%s` with %s", signals.DenyCall, code(sample(c.Ask.ID, "why")))
	if c.Ask.DueMS > 0 {
		text += "\n* nobody decides until " + clock(c.Ask.DueMS) + ": it is refused"
	}
	return text
}

// sample is a payload that a person can copy and complete.
func sample(id, reason string) string {
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
