package activities

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

func TestALostStepIsSettledWithoutAModel(t *testing.T) { // A3.6
	t.Parallel()
	const opened = "TS1 IS-(next-turn:1)"
	const entered = opened + " SS1.1 UM(a) RH(initial) RC "
	for name, c := range map[string]struct {
		script  string
		point   string // where its only execution died; empty: it never ran
		lost    string
		trace   string
		outcome string
		code    string
	}{
		"never ran, cancelled":        {`text "x"`, "", "cancelled", opened, work.StepCancelled, ""},
		"never ran, exhausted":        {`text "x"`, "", "exhausted", opened, work.StepFailed, work.CodeWorkerLost},
		"never ran, unavailable":      {`text "x"`, "", "unavailable", opened, work.StepFailed, work.CodeWorkerLost},
		"before the call, cancelled":  {`text "x"`, "step/prepared", "cancelled", opened, work.StepCancelled, ""},
		"before a chunk, cancelled":   {`text "x"`, "request/committed", "cancelled", entered + "AA", work.StepCancelled, ""},
		"before a chunk, exhausted":   {`text "x"`, "request/committed", "exhausted", entered + "AA", work.StepFailed, work.CodeWorkerLost},
		"visible text, cancelled":     {`text "` + long + `" chunks=2 hold h`, "stream/end", "cancelled", entered + "CH×3 AM!", work.StepMessage, ""},
		"visible text, exhausted":     {`text "` + long + `" chunks=2`, "stream/end", "exhausted", entered + "CH×3 AA", work.StepFailed, work.CodeWorkerLost},
		"a half call, cancelled":      {`tool c1 echo {"text":"` + long + `"} chunks=2`, "stream/end", "cancelled", entered + "CH×3 AA", work.StepCancelled, ""},
		"settled, cancelled":          {`text "x"`, "step/settled", "cancelled", entered + "CH×4 AM", work.StepMessage, ""},
		"settled, exhausted":          {`text "x"`, "step/settled", "exhausted", entered + "CH×4 AM", work.StepMessage, ""},
		"settled failure, exhausted":  {`error AUTH`, "step/settled", "exhausted", entered + "CH×1 AA", work.StepAttempt, "AUTH"},
		"unsettled answer, exhausted": {`text "x"`, "assistant/message", "exhausted", entered + "AA", work.StepFailed, work.CodeWorkerLost},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, script(c.script))
			b.probes.Open("h")
			b.say("a")
			in := b.in()
			if c.point != "" {
				b.dies(c.point, in)
			}
			calls := len(b.requests())
			in.Mode, in.Lost, b.exec = work.StepSettle, c.lost, 1
			out := b.run(in)
			require.Equal(t, c.outcome, out.Outcome)
			require.Equal(t, c.trace, b.own())
			require.Equal(t, c.trace != opened, out.Entered)
			require.Equal(t, out.Outcome == work.StepMessage && c.point != "step/settled", out.Interrupted)
			require.Len(t, b.requests(), calls)
			if c.code != "" {
				require.Equal(t, c.code, out.Failure.Code)
			}
			if out.Interrupted {
				require.NotEmpty(t, events[session.AssistantMessage](b)[0].Message.Text())
			}
		})
	}
}

var long = func() string {
	raw := make([]byte, 2*journalBytes)
	for i := range raw {
		raw[i] = 'x'
	}
	return string(raw)
}()

func TestALostRetryLeavesItsStepOpen(t *testing.T) {
	t.Parallel()
	b := newBench(t, script("error SERVER"))
	b.say("a")
	in := b.in()
	out := b.run(in)
	b.wait(in, out)
	in.Mode, in.Lost, in.Attempt, in.Assembly = work.StepSettle, "cancelled", 2, out.Assembly
	in.Head, in.Tail, in.Batch = b.head, b.tail, nil
	out = b.run(in)
	require.Equal(t, work.StepCancelled, out.Outcome)
	require.True(t, out.Entered && out.Committed)
	require.Equal(t, in.Head, out.Head)
}

func TestSettlingTwiceIsTheSameLog(t *testing.T) {
	t.Parallel()
	b := newBench(t, script(`text "`+long+`" chunks=2`))
	b.say("a")
	in := b.in()
	b.dies("stream/end", in)
	in.Mode, in.Lost = work.StepSettle, "cancelled"
	first := must(b.a.Step(b.ctx, in))
	b.exec++
	second := must(b.a.Step(b.ctx, in))
	require.Equal(t, first.Head, second.Head)
}
