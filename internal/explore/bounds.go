package explore

import (
	"fmt"
	"strings"

	"github.com/everturn/everturn/internal/work"
)

// A Coin is a right to let something happen once.
type Coin int

// The coins. Ordinary answers are free.
const (
	SenderA    Coin = iota // a message by signal: followup, steer or inject
	SenderB                // a message by update
	Cancels                // with or without keepInbox; each has a cause of its own
	Natives                // a native cancel
	Disposals              // dispose
	Upkeeps                // a maintenance task
	Edits                  // remove, replace or clear
	Batches                // cancel and followup in one
	Rollovers              // a rollover is asked for, at any moment
	ToolSteps              // an answer of the model with tool calls
	Cuts                   // an answer at the output ceiling
	Refusals               // the pre-step gate rejects the step, empties it, or keeps a message out
	Failures               // a step fails at one of its stages
	Retries                // a failed attempt that recovery answers with another one
	StepLosses             // a step is lost
	ToolLosses             // a tool, a hook or a maintenance task is lost
	Defects                // a stage of a call fails for good
	BadResults             // a tool fails, concludes the turn, or brings a context
	StoreFails             // a persist fails
	Acts                   // a gate, tool, hook or task steers or cancels
	Moves                  // promote, in either list
	Interrupts             // a message that cancels what runs and comes first
	coins
)

// A Purse holds coins of each kind.
type Purse [coins]int8

// A Tool describes a call that the model asks for.
type Tool struct {
	ID               string
	Parallel         bool
	Gated, Posted    bool
	Deadline, Asking bool // its gate may ask a person; with a deadline
}

// A World bounds what can happen.
type World struct {
	Name   string
	Purse  Purse
	Tools  []Tool // of an answer with tool calls
	Hooks  bool   // session-start and turn-stopping hooks are registered
	Twists int8   // of what is out of the ordinary (cancel and everything after it), at most so many; 0: no such bound
	Short  bool   // explored under -short, too
}

// limit of a world that has no bound of its own on what is out of the ordinary.
const unlimited = 100

// with makes a purse of pairs of a coin and how many of it there are.
func with(pairs ...Coin) Purse {
	var p Purse
	for i := 0; i+1 < len(pairs); i += 2 {
		p[pairs[i]] = int8(pairs[i+1])
	}
	return p
}

func (w World) manifest() work.Manifest {
	return work.Manifest{Rules: 1, SessionStart: w.Hooks, TurnStopping: w.Hooks, Tasks: []string{"tidy"}}
}

func (w World) calls() []work.Call {
	var calls []work.Call
	for _, t := range w.Tools {
		calls = append(calls, work.Call{ID: t.ID, Name: "tool", Parallel: t.Parallel, Gated: t.Gated, Posted: t.Posted})
	}
	return calls
}

var coinNames = [coins]string{"messages of A", "messages of B", "cancels", "native cancels", "disposals", "maintenance", "edits", "batches",
	"rollovers", "answers with calls", "cut answers", "refusals of the gate", "failed steps", "retries", "lost steps", "lost tools, hooks and tasks", "defects",
	"odd results", "failed persists", "acts of plugins", "moves", "interrupts"}

// String lists the bounds.
func (w World) String() string {
	var out []string
	for i, n := range w.Purse {
		if n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, coinNames[i]))
		}
	}
	if w.Hooks {
		out = append(out, "hooks")
	}
	for _, t := range w.Tools {
		out = append(out, t.String())
	}
	if w.Twists > 0 {
		out = append(out, fmt.Sprintf("at most %d of what is out of the ordinary", w.Twists))
	}
	return strings.Join(out, ", ")
}

// String names the traits of a tool.
func (t Tool) String() string {
	out := "call " + t.ID
	for _, trait := range []struct {
		on   bool
		name string
	}{{t.Parallel, "parallel"}, {!t.Parallel, "exclusive"}, {t.Gated, "gated"}, {t.Posted, "posted"}, {t.Asking, "asks"}, {t.Deadline, "with a deadline"}} {
		if trait.on {
			out += " " + trait.name
		}
	}
	return out
}
