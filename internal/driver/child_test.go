package driver

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/work"
)

// Child agents, spec §6.4, architecture A3.13.
func TestChildren(t *testing.T) {
	t.Parallel()
	runScripts(t, []script{
		{"whoever asks is answered when the child is there", `
			spawn k
			open child
			child k started
			receipt done
			children k
		`},
		{"a child that cannot be started is none", `
			spawn k
			child k failed SESSION_ALREADY_EXISTS
			receipt refused SESSION_ALREADY_EXISTS
			children
		`},
		{"an id that is taken, or one's own, is refused", `
			spawn k
			spawn k
			receipt refused DUPLICATE_ID
			spawn s
			receipt refused DUPLICATE_ID
			child k started
			children k
		`},
		{"the same request starts one child", `
			spawn k req=1
			child k started
			spawn k req=1
			receipt duplicate
			children k
		`},
		{"C-295 disposing of the parent disposes of the children first", `
			spawn k
			child k started
			spawn l
			child l started
			tells
			dispose
			tells dispose k,dispose l
			phase idle
			child k closed
			phase idle
			child l closed
			closed
			children
		`},
		{"a child that is terminated keeps nobody from closing", `
			spawn k
			child k started
			dispose
			phase idle
			child k terminated -- before any rollover
			closed
		`},
		{"a child that is terminated after the rollover of its parent is missed", `
			spawn k
			child k started
			roll
			resume
			dispose
			open look
			timer look
			child k gone
			closed
		`},
		{"while it is there, the parent looks less and less often", `
			spawn k
			child k started
			roll
			resume
			dispose
			delay look 5000
			timer look
			child k seen
			delay look 10000
			timer look
			child k seen
			delay look 20000
			child k closed
			closed
			stopped look
		`},
		{"a disposal waits for a child that is being started", `
			spawn k
			dispose
			phase idle
			child k started
			phase idle
			child k closed
			closed
		`},
		{"a child that could not be started does not hold up a disposal", `
			spawn k
			dispose
			child k failed UNKNOWN
			closed
		`},
		{"who is being disposed of gets no child", `
			spawn k
			child k started
			dispose
			spawn l
			receipt refused CLOSED
			children k
		`},
		{"a cancel of the parent's work reaches the children that follow it", opened + `
			spawn k follows
			child k started
			spawn l
			child l started
			tells
			cancel user
			tells cancel k
			cancel user -- the first cause has told them
			tells
			children k,l
		`},
		{"a cancel of an idle parent reaches nobody", `
			spawn k follows
			child k started
			tells
			cancel user
			tells
		`},
		{"a stranger who speaks for a child is not heard, closed or not", delegated + `
			child k idle stranger
			calls delegated,finished
			child k idle
			calls running,finished
		`},
		{"a hook of the birth may start children", `
			born acts=spawn:k
			open child
			child k started
			children k
		`},
	})
}

// Calls that a child agent works on, architecture A3.7.
func TestDelegatedCalls(t *testing.T) {
	t.Parallel()
	runScripts(t, []script{
		{"a call waits for the child, its answer is read, and the child leaves", delegated + `
			tells
			child k idle
			tells dispose k
			calls running,finished
			tool c1 ok => TR(c1) TR(c2) SE
			children k
			child k closed
			children
		`},
		{"what becomes of the child after its answer is nothing to the call", delegated + `
			child k idle
			child k terminated
			calls running,finished
			tool c1 ok => TR(c1) TR(c2) SE
		`},
		{"a reset of the parent leaves child and call together", delegated + `
			reset
			child k idle stranger
			calls delegated,finished
			child k idle
			calls running,finished
			tool c1 ok => TR(c1) TR(c2) SE
		`},
		{"a child that is kept stays", opened + `
			step calls c1 => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			tool c1 ok delegate=k keep
			child k started
			tells
			child k idle
			tells
			tool c1 ok => TR(c1) SE
			child k idle -- nobody waits for it any more
			children k
		`},
		{"a child that is terminated is an answer", delegated + `
			child k terminated => TR!(c1,CHILD_AGENT) TR(c2) SE -- before any rollover
			phase step
		`},
		{"a child that is disposed of by somebody else is an answer", delegated + `
			child k closed => TR!(c1,CHILD_AGENT) TR(c2) SE
		`},
		{"a child that cannot be started is an answer", opened + `
			step calls c1 => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			tool c1 ok delegate=k
			child k failed UNKNOWN => TR!(c1,CHILD_AGENT) SE
		`},
		{"a child whose id is taken is an answer", opened + `
			spawn k
			child k started
			step calls c1 => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			tool c1 ok delegate=k => TR!(c1,CHILD_AGENT) SE
			children k
		`},
		{"a call waits as long as it said", delegated + `
			tells
			timer answer => TR!(c1,CHILD_AGENT) TR(c2) SE
			tells dispose k
		`},
		{"X10 a cancel ends the wait, and reaches the child with its cause", delegated + `
			tells
			cancel user => CR(user) TR!(c1,ABORTED) TR(c2) SE TE(aborted user)
			tells cancel k,dispose k
			child k closed
			children
		`},
		{"X10 a cancel while the answer is read", delegated + `
			child k idle
			cancel user => CR(user)
			lost tool c1 cancelled => TR!(c1,ABORTED) TR(c2) SE TE(aborted user)
		`},
		{"an answer that nobody could read is an unknown outcome", delegated + `
			child k idle
			lost tool c1 exhausted => TR!(c1,TOOL_OUTCOME_UNKNOWN) TR(c2) SE
		`},
		{"the wait survives a rollover, its deadline too", delegated + `
			roll
			resume
			delay answer 59965
			child k idle
			tool c1 ok => TR(c1) TR(c2) SE
		`},
		{"after a rollover the parent looks whether the child is there", delegated + `
			roll
			resume
			timer look
			child k gone => TR!(c1,CHILD_AGENT) TR(c2) SE
		`},
		{"a defect ends the wait", opened + `
			step calls c1*,c2* => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1) TC(c2)
			tool c1 ok delegate=k
			child k started
			tells
			lost tool c2 failed => TR!(c1,TOOL_OUTCOME_UNKNOWN)
			tells dispose k
			tool c2 error X => TR!(c2,X) SE TE(error UNKNOWN)
		`},
		{"a delegated call holds up an exclusive one", opened + `
			step calls c1*,c2 => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			tool c1 ok delegate=k
			child k started
			calls delegated,waiting
			child k idle
			tool c1 ok => TR(c1) TC(c2)
			calls committed,running
		`},
	})
}

// What an agent says to the one that owns it, architecture A3.13.
func TestTellingTheParent(t *testing.T) {
	t.Parallel()
	runScripts(t, []script{
		{"it says that it is idle, after its log is flushed, and that it closes", `
			born owned reports` + `
			hold
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE TE(completed)
			told
			release
			told idle
			dispose
			told closed
		`},
		{"it says nothing of a turn that another one follows", `
			born owned reports
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			followup b
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM IS+(next-turn:b) SE TE(completed) TS2 IS-(next-turn:1)
			told
			step ok => SS2.1 UM(b) CH×1 AM SE TE(completed)
			told idle
		`},
		{"a native cancel disposes of an agent that has a parent", `
			born owned
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			cancel user native
			step cancelled => CR(disposed) TE(aborted disposed)
			told closed
			closed canceled
		`},
		{"who owned an earlier incarnation can neither cancel nor dispose", `
			born owned
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			cancel parent bond=1.child-9
			receipt refused INVALID
			dispose bond=1.child-9
			receipt refused INVALID
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE TE(completed)
			dispose bond=1.child-1
			closed
		`},
		{"one that is being disposed of says only that it closes, when its own children are gone", `
			born owned reports
			spawn k
			child k started
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			dispose
			step cancelled => CR(disposed) TE(aborted disposed)
			told
			child k closed
			told closed
		`},
		{"one that does not report says that it closes", `
			born owned
			followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
			step ok => SS1.1 UM(a) RH(initial) RC CH×1 AM SE TE(completed)
			told
			dispose
			told closed
		`},
	})
}

// A call that fails for a reason of our own, spec §4.8, scheduler defect.
func TestSchedulerDefects(t *testing.T) {
	t.Parallel()
	runScripts(t, []script{
		{"C-178 nothing new starts, what runs finishes, and the turn fails", opened + `
			step calls c1*,c2*,c3 => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1) TC(c2)
			lost tool c2 failed
			open tool:c1 settle(failed):c2
			tool c2 error TOOL_OUTCOME_UNKNOWN
			open tool:c1
			tool c1 ok => TR(c1) TR!(c2,TOOL_OUTCOME_UNKNOWN) TR!(c3,TOOL_NOT_STARTED) SE TE(error UNKNOWN)
			phase idle
		`},
		{"a gate of another call is waited for, and its call does not run", opened + `
			step calls c1*,c2*? => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1) TC(c2)
			lost tool c1 failed
			tool c1 error X => TR!(c1,X)
			open gate:c2
			gate c2 allow => TR!(c2,TOOL_NOT_STARTED) SE TE(error UNKNOWN)
		`},
		{"who waits for a person waits no longer", opened + `
			step calls c1*?,c2* => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			gate c1 ask => approval/asked TC(c2)
			lost tool c2 failed => approval/decided TR!(c1,TOOL_NOT_STARTED)
			lost tool c2 exhausted => TR!(c2,TOOL_OUTCOME_UNKNOWN) SE TE(error UNKNOWN)
		`},
		{"a gate that fails for good is one too", opened + `
			step calls c1? => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1)
			lost tool c1 failed => TR!(c1,TOOL_NOT_STARTED) SE TE(error UNKNOWN)
		`},
		{"nobody judges what was executed", opened + `
			step calls c1*+,c2*+ => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1) TC(c2)
			tool c2 ok
			calls running,executed
			lost tool c1 failed
			tool c1 ok => TR(c1) TR(c2) SE TE(error UNKNOWN)
		`},
		{"a cancel meanwhile is what the turn ends with", opened + `
			step calls c1*,c2* => SS1.1 UM(a) RH(initial) RC CH×1 AM TC(c1) TC(c2)
			lost tool c1 failed
			cancel user => CR(user)
			tool c1 error X => TR!(c1,X)
			tool c2 ok => TR!(c2,ABORTED) SE TE(aborted user)
		`},
	})
}

// The number of children is bounded, and who is refused is told what to do. See architecture A3.13.
func TestAnAgentHasABoundedNumberOfChildren(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spawn := func(n int) {
		w.feed(SpawnAsked{Ref: w.ref(), Child: work.Spawn{ID: fmt.Sprint("k", n), Create: json.RawMessage(`{}`)}})
	}
	for n := range MaxChildren {
		spawn(n)
	}
	require.Len(t, w.state().Children, MaxChildren)
	spawn(MaxChildren)
	require.Equal(t, RefusedFull, w.receipt.Code)
	require.Len(t, w.state().Children, MaxChildren)
}
