// Package golden is the reference scenario: two turns, one tool call, 35 events. See spec §2.6.
//
// Whoever claims to run agents runs it: the demo, the tests of every engine, and the conformance suite.
package golden

import (
	"fmt"

	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/tools/builtin"
)

// The set-up of the scenario.
const (
	SessionID  = "sess-loop"
	Definition = "golden"
	Model      = "golden"
)

// Prompts are what the caller sends, each after the agent is idle again.
var Prompts = []string{"please echo 你好", "and thank you"}

// Trace is the log it yields, seq 0–34.
const Trace = "IS+(next-turn:a) TS1 IS-(next-turn:1) SS1.1 UM(a) RH(initial) RC CH×4 AM TC(c1) TR(c1) SE " +
	"SS1.2 CH×4 AM SE TE(completed) " +
	"IS+(next-turn:b) TS2 IS-(next-turn:1) SS2.1 UM(b) CH×4 AM SE TE(completed)"

// Kind is the definition of the agent: one tool, a constant prompt, no runtime context.
func Kind() (*plugin.Definition, error) {
	all, err := builtin.All(".")
	if err != nil {
		return nil, err
	}
	d := &plugin.Definition{Name: Definition, Provider: scripted.Name, Model: Model,
		Sections: []plugin.Section{{Name: "identity", Text: "You repeat what you are asked to repeat."}}}
	for _, t := range all {
		if t.Name == "echo" {
			d.Tools = append(d.Tools, t)
		}
	}
	return d, nil
}

// Check compares a log with the scenario and says where it deviates first.
func Check(records []session.Record) error {
	names := map[string]string{}
	trace := session.Trace(records, func(id string) string {
		if names[id] == "" {
			names[id] = string(rune('a' + len(names)))
		}
		return names[id]
	})
	if trace != Trace {
		return fmt.Errorf("the log deviates from the reference scenario:\n  want %s\n  have %s", Trace, trace)
	}
	return checkFold(records)
}

// checkFold checks what the trace does not show: contiguous seqs, the log's own rules, and the surface after each turn.
func checkFold(records []session.Record) error {
	want := map[int]int{1: 4, 2: 6} // surface nodes after the turn
	state := session.NewState()
	for _, r := range records {
		if err := state.Apply(r); err != nil {
			return err
		}
		if end, ok := r.Event.(session.TurnEnd); ok && len(state.Surface()) != want[end.Turn] {
			return fmt.Errorf("after turn %d the surface has %d nodes, want %d", end.Turn, len(state.Surface()), want[end.Turn])
		}
	}
	if state.Count() != 35 {
		return fmt.Errorf("the log has %d events, want 35", state.Count())
	}
	return nil
}
