package activities

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/store/storetest"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/tools"
)

// dies runs an execution whose worker dies at a point, and revives the store.
func (b *bench) dies(point string, in work.StepIn) {
	b.t.Helper()
	b.die = point
	_, err := b.a.Step(b.ctx, in)
	require.ErrorIs(b.t, err, errDied)
	b.die = ""
	b.exec++
	b.faults.Clear()
}

// talks makes every answer of the model the same long text.
func talks() setting {
	return route(func(m *scripted.Model) {
		m.Respond = func(llm.Request) scripted.Answer {
			return must(scripted.ParseAnswer(`text "` + strings.Repeat("word ", 20) + `" chunks=4`))
		}
	})
}

func TestAnotherExecutionTakesOverWhereverTheWorkerDied(t *testing.T) { // A3.6
	t.Parallel()
	const entered = "TS1 IS-(next-turn:1) SS1.1 UM(a) RH(initial) RC "
	for point, c := range map[string]struct {
		trace string
		calls int // of the model, all executions together
	}{
		"step/assembled":    {entered + "CH×7 AM", 1},
		"step/start":        {entered + "CH×7 AM", 1},
		"step/prepared":     {entered + "CH×7 AM", 1},
		"request/committed": {entered + "AA CH×7 AM", 1},
		"chunk":             {entered + "AA CH×7 AM", 2},
		"stream/end":        {entered + "AA CH×7 AM", 2},
		"assistant/message": {entered + "AA CH×7 AM", 2},
		"step/settled":      {entered + "CH×7 AM", 1},
	} {
		for _, rules := range []int{rulesLean - 1, work.Rules} {
			t.Run(fmt.Sprintf("%s, rules %d", point, rules), func(t *testing.T) {
				t.Parallel()
				b := newBench(t, talks())
				b.rules = rules
				b.say("a")
				in := b.in()
				b.dies(point, in)
				out := b.run(in)
				require.Equal(t, work.StepMessage, out.Outcome)
				require.Equal(t, c.trace, b.own())
				require.Len(t, b.requests(), c.calls)
				require.Equal(t, []string{"a"}, out.Users)
				require.Equal(t, rules < rulesLean, out.Assembly != "", "it is stored only if another attempt needs it")
				for _, aa := range events[session.AssistantAttempt](b) {
					require.Equal(t, work.CodeWorkerLost, aa.Failure.Code)
				}
				for _, req := range b.requests() {
					require.Equal(t, b.requests()[0], req)
				}
			})
		}
	}
}

// What a worker of earlier rules wrote of a step is found by one of today, whatever the state goes by meanwhile.
func TestAStepOfEarlierRulesIsSettledUnderLaterOnes(t *testing.T) {
	t.Parallel()
	b := newBench(t, script(`text "`+long+`" chunks=2`))
	b.rules = rulesLean - 1
	b.say("a")
	b.dies("stream/end", b.in())
	b.rules = work.Rules
	in := b.in()
	in.Mode, in.Lost = work.StepSettle, lostCancelled
	out := b.run(in)
	require.True(t, out.Interrupted)
	require.Equal(t, "TS1 IS-(next-turn:1) SS1.1 UM(a) RH(initial) RC CH×3 AM!", b.own())
}

// An assembly that only the journal has is stored before another attempt is asked for, whoever asks.
func TestTheNextAttemptHasTheAssemblyOfADeadExecution(t *testing.T) { // §4.7.4, A3.6
	t.Parallel()
	b := newBench(t, script("error SERVER\nerror SERVER\ntext \"ok\""), define(func(d *plugin.Definition) {
		n := 0
		d.Sections = []plugin.Section{{Name: "n", Render: func(context.Context, plugin.View) (string, error) { n++; return fmt.Sprint("render ", n), nil }}}
	}))
	b.say("a")
	in := b.in()
	b.dies("stream/end", in)
	out := b.run(in)
	require.NotNil(t, out.Recovery)
	b.exec = 1
	b.wait(in, out)
	out = b.retry(in, out)
	require.Equal(t, work.StepMessage, out.Outcome)
	require.Len(t, b.requests(), 3)
	for _, req := range b.requests() {
		require.Equal(t, "render 1", req.System)
	}
}

func TestAnAttemptWithoutAnAssemblyIsNotAskedFor(t *testing.T) { // A3.6
	t.Parallel()
	b := newBench(t, script("error SERVER\ntext \"ok\""))
	b.faults.Fail(storetest.Match{Op: storetest.Create, Prefix: "blobs/"}, errDied, storetest.Always)
	b.say("a")
	in := b.in()
	_, err := b.a.Step(b.ctx, in)
	require.ErrorIs(t, err, errDied)
	b.faults.Clear()
	b.exec = 2
	require.Equal(t, work.StepMessage, b.run(in).Outcome)
	require.Equal(t, "TS1 IS-(next-turn:1) SS1.1 UM(a) RH(initial) RC AA CH×4 AM", b.own())
}

func TestTheJournalOfTheStepBeforeIsDropped(t *testing.T) {
	t.Parallel()
	b := newBench(t, script("tool c1 echo {}\ntext \"ok\""), define(func(d *plugin.Definition) { d.Tools = []*tools.Tool{echoTool()} }))
	for _, rules := range []int{rulesLean - 1, rulesLean} { // the second drops what the first wrote
		b.rules = rules
		b.turnOf(fmt.Sprint("a", rules))
	}
	executions, err := b.store.Journal(sess, 1, 1, 1, 1).Executions(t.Context())
	require.NoError(t, err)
	require.Empty(t, executions)
	executions, err = b.store.Journal(sess, 2, 1, 1, 1).Executions(t.Context())
	require.NoError(t, err)
	require.Len(t, executions, 1)
}

func TestAStepThatKeepsLosingItsWorkersIsGivenUp(t *testing.T) { // A3.15
	t.Parallel()
	b := newBench(t, talks())
	b.say("a")
	in := b.in()
	for range maxLosses {
		b.dies("stream/end", in)
	}
	_, err := b.a.Step(b.ctx, in)
	var refusal *Refusal
	require.ErrorAs(t, err, &refusal, "another try cannot mend it")
	require.Equal(t, work.CodeWorkerLost, refusal.Kind)
	require.Len(t, b.requests(), maxLosses)

	in.Mode, in.Lost = work.StepSettle, "exhausted"
	out := b.run(in)
	require.Equal(t, work.StepFailed, out.Outcome)
	require.Equal(t, work.CodeWorkerLost, out.Failure.Code)
}

func TestEvidenceOfADeadExecutionIsKept(t *testing.T) {
	t.Parallel()
	b := newBench(t, route(func(m *scripted.Model) {
		m.Respond = func(llm.Request) scripted.Answer {
			return must(scripted.ParseAnswer(`text "` + strings.Repeat("x", 3*journalBytes) + `" chunks=6`))
		}
	}))
	b.say("a")
	in := b.in()
	b.dies("stream/end", in)
	b.dies("stream/end", in)
	out := b.run(in)
	require.Equal(t, 3, out.Execution)
	// two deltas fill a part, the block-end another; the usage at the end is not yet written
	require.Equal(t, "TS1 IS-(next-turn:1) SS1.1 UM(a) RH(initial) RC CH×7 AA CH×7 AA CH×9 AM", b.own())
	require.Len(t, b.requests(), 3)
	attempts := events[session.AssistantAttempt](b)
	require.Len(t, attempts[0].ChunkSeqs, 7)
	require.NotContains(t, attempts[1].ChunkSeqs, attempts[0].ChunkSeqs[0])
}

func TestADecisionSurvivesTheWorkerThatMadeIt(t *testing.T) {
	t.Parallel()
	asked := 0
	b := newBench(t, talks(), define(func(d *plugin.Definition) {
		d.PreStep = []plugin.PreStepGate{func(ctx context.Context, in plugin.PreStep, next func(context.Context, plugin.PreStep) (plugin.Decision, error)) (plugin.Decision, error) {
			asked++
			plugin.AgentFrom(ctx).Inject(session.Message{Content: session.TextContent("from the gate")})
			out, err := next(ctx, in)
			out.Messages = append(out.Messages, session.Message{Content: session.TextContent("and")})
			return out, err
		}}
	}))
	b.say("a")
	in := b.in()
	b.dies("chunk", in)
	out := b.run(in)
	require.Equal(t, 1, asked)
	require.Equal(t, []string{"a", "m1.1-2"}, out.Users)
	require.Len(t, out.Acts, 1)
	require.Equal(t, "act-1.1-pre-step-1", out.Acts[0].Message.ID)
	require.Equal(t, session.Source{Kind: session.SourcePlugin, Plugin: agent}, out.Acts[0].Message.Source)
}

func TestASettledAnswerIsGivenAgainAndPaidOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script  string
		outcome string
	}{
		"message":       {`text "hi"`, work.StepMessage},
		"call":          {`tool c1 echo {}`, work.StepMessage},
		"failure":       {`error SERVER`, work.StepAttempt},
		"lasting error": {`error AUTH`, work.StepAttempt},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, script(c.script))
			b.say("a")
			in := b.in()
			b.dies("step/settled", in)
			out := b.run(in)
			require.Equal(t, c.outcome, out.Outcome)
			require.Equal(t, c.script == `error SERVER`, out.Recovery != nil)
			require.Equal(t, 1, out.Execution)
			require.Len(t, b.requests(), 1)
			b.reconstructed()
		})
	}
}

func TestALostAnswerOfTheStoreDoublesNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.faults.FailAfter(storetest.Match{Op: storetest.Create, Prefix: "segments/"}, errDied, 1)
	b.faults.FailAfter(storetest.Match{Op: storetest.Create, Prefix: "journal/"}, errDied, 1)
	b.say("a")
	out := b.next()
	require.Equal(t, work.StepMessage, out.Outcome)
	require.Equal(t, "IS+(next-turn:a) TS1 IS-(next-turn:1) SS1.1 UM(a) RH(initial) RC CH×4 AM", b.trace())
}

func TestARetriedAttemptSurvivesItsWorker(t *testing.T) {
	t.Parallel()
	b := newBench(t, script("error SERVER\ntext \"lost\"\ntext \"ok\""))
	b.say("a")
	in := b.in()
	out := b.run(in)
	b.wait(in, out)
	in.Attempt, in.Head, in.Tail, in.Batch, in.Assembly = 2, b.head, b.tail, nil, out.Assembly
	b.dies("stream/end", in)
	out = b.run(in)
	require.Equal(t, work.StepMessage, out.Outcome)
	require.Equal(t, "TS1 IS-(next-turn:1) SS1.1 UM(a) RH(initial) RC CH×1 AA LR(1) LRS(1) AA CH×4 AM", b.own())
}

func TestTheJournalKeepsWhatWasShownLongEnoughAgo(t *testing.T) { // D25
	t.Parallel()
	b := newBench(t, script(`text "a" open hold one text "b" open hold two`+"\n"+`text "ok"`))
	b.a.journalEvery = time.Millisecond
	gate := b.faults.Block(storetest.Match{Op: storetest.Create, Prefix: journalKey(1, 1)})
	b.say("a")
	in := b.in()
	done := make(chan error)
	go func() {
		_, err := b.a.Step(b.ctx, in)
		done <- err
	}()
	<-gate.Arrived() // the part is written while the model is silent
	gate.Release()
	b.stopped = errDied // the worker is about to go
	b.cancel()
	require.ErrorIs(t, <-done, errDied)
	b.ctx, b.exec, b.stopped = t.Context(), 2, nil
	b.run(in)
	require.Equal(t, "TS1 IS-(next-turn:1) SS1.1 UM(a) RH(initial) RC CH×1 AA CH×4 AM", b.own())
}

func TestAnExecutionThatBeginsCancelledKeepsWhatWasShown(t *testing.T) { // X6
	t.Parallel()
	b := newBench(t, script(`text "`+long+`" chunks=2`))
	b.say("a")
	in := b.in()
	b.dies("stream/end", in)
	b.cancel()
	out := b.run(in)
	require.Equal(t, work.StepMessage, out.Outcome)
	require.True(t, out.Interrupted)
	require.Equal(t, "TS1 IS-(next-turn:1) SS1.1 UM(a) RH(initial) RC CH×3 AM!", b.own())
	require.Len(t, b.requests(), 1)
}

func TestAJournalOfAnotherHistoryIsIgnored(t *testing.T) { // A3.2
	t.Parallel()
	for _, mode := range []string{work.StepRun, work.StepSettle} {
		b := newBench(t, talks())
		b.say("a")
		b.dies("step/settled", b.in())
		b.tail = nil
		b.turn = 0
		b.say("other")
		in := b.in()
		in.Mode, in.Lost = mode, "exhausted"
		out := b.run(in)
		if mode == work.StepSettle {
			require.Equal(t, work.StepFailed, out.Outcome)
			require.Equal(t, in.Head, out.Head)
			continue
		}
		require.Equal(t, []string{"other"}, out.Users)
		require.Equal(t, "TS1 IS-(next-turn:1) SS1.1 UM(other) RH(initial) RC CH×7 AM", b.own())
	}
}

// journalKey is where a part of turn 1, step 1, attempt 1 is stored.
func journalKey(execution, n int) string {
	return fmt.Sprintf("journal/%s/%019d/%010d.%010d.%010d.%010d.%010d", sess, 1, 1, 1, 1, execution, n)
}
