package session

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// C-305 to C-313; spec §7.2.
func TestRepair(t *testing.T) {
	t.Parallel()
	const end = "SE TE(interrupted)"
	for _, c := range []struct{ name, script, want string }{
		{"an empty log", "", ""},
		{"a balanced log", goldenTurn1 + " " + goldenTurn2, ""},
		{"an open turn without a step", "TS1", "TE(interrupted)"},
		{"an open turn after its step", "TS1 SS1.1 SE", "TE(interrupted)"},
		{"an open step", opened, end},
		{"a call that was not started", opened + " AM[c1]", "TR!(c1,TOOL_NOT_STARTED) " + end},
		{"a call that was started", opened + " AM[c1] TC(c1)", "TR!(c1,TOOL_OUTCOME_UNKNOWN) " + end},
		{"two calls, the first answered", opened + " AM[c1,c2] TC(c1) TR(c1)", "TR!(c2,TOOL_NOT_STARTED) " + end},
		{"two calls, the second answered", opened + " AM[c1,c2] TC(c1) TC(c2) TR(c2)", "TR!(c1,TOOL_OUTCOME_UNKNOWN) " + end},
		{"calls in block order, whatever started", opened + " AM[c1,c2,c3] TC(c2)", "TR!(c1,TOOL_NOT_STARTED) TR!(c2,TOOL_OUTCOME_UNKNOWN) TR!(c3,TOOL_NOT_STARTED) " + end},
		{"a call repaired before", opened + " AM[c1,c2] TR!(c1,TOOL_NOT_STARTED)", "TR!(c2,TOOL_NOT_STARTED) " + end},
		{"a result that was projected", opened + " AM[c1] TC(c1) TR(c1) TR~4-4(c1)", end},
		{"calls of a closed step", "TS1 SS1.1 AM[c1] TC(c1) SE SS1.2", end},
		{"calls of a closed turn", "TS1 SS1.1 AM[c1] SE TE(error X) TS2", "TE(interrupted)"},
		{"a call without an assistant block", opened + " TC(c1)", end},
		{"chunks without a settlement", opened + " CH×3", end},
		{"a call named twice in the message", opened + " AM[c1,c1]", "TR!(c1,TOOL_NOT_STARTED) " + end},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newScribe(t, c.script)
			history := s.log.State().Messages()
			repair := Repair(s.log.State())
			require.Equal(t, c.want, Trace(repair, nil))
			require.Equal(t, repair, Repair(s.log.State()), "deterministic")
			for _, r := range repair {
				require.Equal(t, 999+int64(len(s.log.records)), r.Time, "the time of the last event")
				require.NoError(t, s.log.State().Clone().Apply(r), "in its place in the log")
				break
			}
			for _, r := range repair {
				got, err := s.log.Append(r)
				require.NoError(t, err)
				require.Equal(t, r.Seq, got.Seq)
			}
			require.Empty(t, Repair(s.log.State()))
			require.Equal(t, history, s.log.State().Messages()[:len(history)])
		})
	}
}

func TestRepairResultsTellTheModelWhatIsKnown(t *testing.T) {
	t.Parallel()
	got := Repair(newScribe(t, opened+" AM[c1,c2] TC(c2)").log.State())
	first, second := got[0].Event.(ToolResult), got[1].Event.(ToolResult)
	require.Nil(t, got[0].Sources)
	require.Equal(t, []int64{3}, got[1].Sources, "the call is cited")
	require.Equal(t, &CodedError{Name: NameToolNotStarted, Code: CodeToolNotStarted}, first.Error)
	require.Equal(t, &CodedError{Name: NameToolOutcomeUnknown, Code: CodeToolOutcomeUnknown}, second.Error)
	block, ok := resultBlock(second)
	require.True(t, ok)
	require.True(t, block.IsError)
	require.Equal(t, TextToolOutcomeUnknown, block.Content.Text())
	require.Equal(t, Source{Kind: SourceTool, CallID: "c2"}, second.Message.Source)
}

// See spec §7.2: timestamps copy the last real event.
func TestRepairDoesNotTakeItsTimeFromASeedsEnd(t *testing.T) {
	t.Parallel()
	s := newScribe(t, opened, "ES")
	require.EqualValues(t, 1001, Repair(s.log.State())[0].Time)
}

// C-316 to C-321; spec §7.3.
func TestForkBoundary(t *testing.T) {
	t.Parallel()
	s := newScribe(t, "IS+(next-turn:a) TS1 SS1.1 SE TE(blocked) IS+(next-turn:b) TS2 SS2.1")
	records := s.log.Records()
	for _, c := range []struct {
		name string
		at   int64
		want int64
		rule string
	}{
		{"before any turn", 0, 1, ""},
		{"at a turn start", 1, 0, RuleOpenTurn},
		{"inside a step", 2, 0, RuleOpenTurn},
		{"between step and turn end", 3, 0, RuleOpenTurn},
		{"at a turn end while a later turn is open", 4, 5, ""},
		{"at a log-only event after a turn end", 5, 6, ""},
		{"at the last event, in an open turn", LastEvent, 0, RuleOpenTurn},
		{"beyond the end", 8, 0, RuleInvalidBoundary},
		{"before the beginning", -2, 0, RuleInvalidBoundary},
	} {
		n, err := ForkBoundary(records, int64(len(records)), c.at)
		require.Equal(t, c.want, n, c.name)
		if c.rule == "" {
			require.NoError(t, err, c.name)
			continue
		}
		requireRule(t, err, c.rule)
	}
	n, err := ForkBoundary(nil, 0, LastEvent)
	require.NoError(t, err)
	require.Zero(t, n, "an empty session forks into an empty child")
	_, err = ForkBoundary(nil, 0, 0)
	requireRule(t, err, RuleInvalidBoundary)
	s.write("SE TE(error X)")
	n, err = ForkBoundary(s.log.Records(), int64(len(s.log.Records())), LastEvent)
	require.NoError(t, err)
	require.EqualValues(t, 10, n)
}
