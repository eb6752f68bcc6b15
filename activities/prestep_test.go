package activities

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/tools"
)

type nextPreStep = func(context.Context, plugin.PreStep) (plugin.Decision, error)

func preStep(gates ...plugin.PreStepGate) setting {
	return define(func(d *plugin.Definition) { d.PreStep = gates })
}

func TestThePreStepGateDecidesWhatEnters(t *testing.T) { // C-050 to C-055
	t.Parallel()
	const opened = "TS1 IS-(next-turn:1)"
	for name, c := range map[string]struct {
		gate    plugin.PreStepGate
		outcome string
		trace   string
		text    string // what the model was sent
		failure string
	}{
		"passes through": {func(ctx context.Context, in plugin.PreStep, next nextPreStep) (plugin.Decision, error) {
			return next(ctx, in)
		}, work.StepMessage, opened + " SS1.1 UM(a) RH(initial) RC CH×4 AM", "say a", ""},
		"rewrites": {func(ctx context.Context, in plugin.PreStep, next nextPreStep) (plugin.Decision, error) {
			in.Messages[0].Content = session.TextContent("better")
			return next(ctx, in)
		}, work.StepMessage, opened + " SS1.1 UM(a) RH(initial) RC CH×4 AM", "better", ""},
		"adds": {func(ctx context.Context, in plugin.PreStep, next nextPreStep) (plugin.Decision, error) {
			out, err := next(ctx, in)
			out.Messages = append([]session.Message{{Content: session.TextContent("first")}}, out.Messages...)
			return out, err
		}, work.StepMessage, opened + " SS1.1 UM(m1.1-1) UM(a) RH(initial) RC CH×4 AM", "firstsay a", ""},
		"empties": {func(context.Context, plugin.PreStep, nextPreStep) (plugin.Decision, error) {
			return plugin.Decision{}, nil
		}, work.StepEmpty, opened, "", ""},
		"rejects": {func(context.Context, plugin.PreStep, nextPreStep) (plugin.Decision, error) {
			return plugin.Decision{Reject: true, Reason: "not today"}, nil
		}, work.StepRejected, opened, "", ""},
		"fails": {func(context.Context, plugin.PreStep, nextPreStep) (plugin.Decision, error) {
			return plugin.Decision{}, errors.New("broken gate")
		}, work.StepFailed, opened, "", "broken gate"},
		"panics with a value": {func(context.Context, plugin.PreStep, nextPreStep) (plugin.Decision, error) {
			panic("broken value") // C-270
		}, work.StepFailed, opened, "", "broken value"},
		"lets another role in": {func(ctx context.Context, in plugin.PreStep, next nextPreStep) (plugin.Decision, error) {
			in.Messages[0].Role = session.RoleAssistant
			return next(ctx, in)
		}, work.StepFailed, opened, "", "only user messages"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, preStep(c.gate))
			b.say("a")
			out := b.next()
			require.Equal(t, c.outcome, out.Outcome)
			require.Equal(t, c.trace, b.own())
			if c.failure != "" {
				require.Equal(t, work.CodeUnknown, out.Failure.Code)
				require.Contains(t, out.Failure.Message, c.failure)
			}
			if c.text == "" {
				require.Empty(t, b.requests())
				require.False(t, out.Entered)
				return
			}
			text := ""
			for _, m := range b.requests()[0].Messages {
				text += m.Text()
			}
			require.Equal(t, c.text, text)
			b.reconstructed()
		})
	}
}

func TestAMessageMadeByAGateIsSignedByIt(t *testing.T) { // C-052
	t.Parallel()
	b := newBench(t, preStep(func(ctx context.Context, in plugin.PreStep, next nextPreStep) (plugin.Decision, error) {
		out, err := next(ctx, in)
		out.Messages = append(out.Messages, session.Message{Content: session.TextContent("x")})
		return out, err
	}))
	b.say("a")
	b.next()
	users := events[session.UserMessage](b)
	require.Equal(t, session.Source{Kind: session.SourceUser}, users[0].Source)
	require.Equal(t, session.Source{Kind: session.SourcePlugin, Plugin: agent}, users[1].Source)
}

func TestAGateSeesTheProposedStep(t *testing.T) { // C-056
	t.Parallel()
	type seen struct{ turn, step, messages int }
	var got []seen
	b := newBench(t, script("tool c1 echo {\"text\":\"x\"}\ntext \"ok\""), define(func(d *plugin.Definition) {
		d.Tools = []*tools.Tool{echoTool()}
		d.PreStep = []plugin.PreStepGate{func(ctx context.Context, in plugin.PreStep, next nextPreStep) (plugin.Decision, error) {
			got = append(got, seen{in.View.Turn, in.View.Step, len(in.Messages)})
			return next(ctx, in)
		}}
	}))
	b.say("a")
	out := b.next()
	b.answer(out.Calls[0])
	in := b.in()
	in.Owed = true
	require.Equal(t, work.StepMessage, b.run(in).Outcome)
	require.Equal(t, []seen{{1, 1, 1}, {1, 2, 0}}, got)
	require.Equal(t, "TS1 IS-(next-turn:1) SS1.1 UM(a) RH(initial) RC CH×4 AM TC(c1) TR(c1) SE SS1.2 CH×4 AM", b.own())
	b.reconstructed()
}

// answer runs a call and logs its result and the end of the step, as the driver does.
func (b *bench) answer(c work.Call) work.ToolOut {
	b.t.Helper()
	out, err := b.a.Tool(b.ctx, b.toolIn(c))
	require.NoError(b.t, err)
	seq := b.head.Count + int64(len(b.tail))
	b.log(session.ToolCall{Turn: b.turn, Step: b.step, CallID: c.ID, Name: c.Name, Arguments: c.Arguments, ArgumentsBlob: c.Blob})
	result := func(content session.Content) session.ToolResult {
		return session.ToolResult{Turn: b.turn, Step: b.step, Error: out.Error, Message: session.Message{
			ID: "r-" + c.ID, Role: session.RoleUser, Source: session.Source{Kind: session.SourceTool, CallID: c.ID},
			Content: session.Content{session.ToolResultBlock{ToolCallID: c.ID, Content: content, IsError: out.IsError}},
		}}
	}
	b.log(result(out.Content))
	b.tail[len(b.tail)-1].Sources = []int64{seq}
	if out.Projection != nil {
		b.log(result(out.Projection))
		last := &b.tail[len(b.tail)-1]
		last.Sources, last.Surface = []int64{seq + 1}, session.ReplaceOp(seq+1, seq+1)
	}
	b.log(session.StepEnd{Turn: b.turn, Step: b.step})
	return out
}

func (b *bench) toolIn(c work.Call) work.ToolIn {
	return work.ToolIn{ID: "tool-1", Ident: b.ident(), Turn: b.turn, Step: b.step, Call: c, Key: "sess/1/1.1/" + c.ID}
}

func TestAnEmptyListEndsOnlyATurnThatOwesNothing(t *testing.T) { // §4.4.6, C-058
	t.Parallel()
	empty := func(context.Context, plugin.PreStep, nextPreStep) (plugin.Decision, error) {
		return plugin.Decision{}, nil
	}
	b := newBench(t, preStep(empty))
	b.say("a")
	in := b.in()
	in.Owed = true
	require.Equal(t, work.StepMessage, b.run(in).Outcome)
	b.log(session.StepEnd{Turn: 1, Step: 1})
	require.Equal(t, work.StepEmpty, b.next().Outcome)
}

func TestOuterGatesKeepWhatInnerOnesDecided(t *testing.T) { // C-060, C-099
	t.Parallel()
	b := newBench(t, script("text \"1\"\ntext \"2\""), preStep(
		func(ctx context.Context, in plugin.PreStep, next nextPreStep) (plugin.Decision, error) {
			out, err := next(ctx, in)
			out.Messages[0].Content = session.TextContent("rewritten")
			return out, err
		},
		func(ctx context.Context, in plugin.PreStep, next nextPreStep) (plugin.Decision, error) {
			out, err := next(ctx, in)
			out.StartsRequestSeries = in.View.Turn == 2
			return out, err
		}))
	b.turnOf("a")
	b.turnOf("b")
	require.Equal(t, "TS2 IS-(next-turn:1) SS2.1 UM(b) RH(series) CH×4 AM SE TE(completed)", b.own())
	require.Equal(t, "rewritten", b.requests()[1].Messages[2].Text())
}

func TestAGateThatChangesItsCopyLaterChangesNothing(t *testing.T) { // C-061
	t.Parallel()
	var kept []session.Message
	b := newBench(t, script("text \"1\"\ntext \"2\""), preStep(func(ctx context.Context, in plugin.PreStep, next nextPreStep) (plugin.Decision, error) {
		kept = append(kept, in.Messages...)
		out, err := next(ctx, in)
		kept = append(kept, out.Messages...)
		return out, err
	}))
	b.turnOf("a")
	for i := range kept {
		kept[i].Content[0] = session.Text{Text: "changed"}
	}
	b.turnOf("b")
	require.Equal(t, "say a", b.requests()[1].Messages[0].Text())
	b.reconstructed()
}

func TestAnAssemblyThatFailsEndsTheTurnWithoutAStep(t *testing.T) { // §4.4.1, C-096, C-097
	t.Parallel()
	for name, c := range map[string]struct {
		set  func(*plugin.Definition)
		says []string
	}{
		"missing variable": {func(d *plugin.Definition) {
			d.Sections = []plugin.Section{{Name: "intro", Text: "Hello {{nobody}}"}}
		}, []string{"nobody", "intro"}},
		"unknown tool in the order": {func(d *plugin.Definition) { d.ToolOrder = []string{"nosuch", "*"} }, []string{"nosuch"}},
		"a section that fails": {func(d *plugin.Definition) {
			d.Sections = []plugin.Section{{Name: "intro", Render: func(context.Context, plugin.View) (string, error) { return "", errors.New("offline") }}}
		}, []string{"intro", "offline"}},
		"a context that panics": {func(d *plugin.Definition) {
			d.Contexts = []plugin.RuntimeContext{{Name: "now", Render: func(context.Context, plugin.View) (string, error) { panic("no clock") }}}
		}, []string{"now", "no clock"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, define(c.set))
			b.say("a")
			out := b.next()
			require.Equal(t, work.StepFailed, out.Outcome)
			require.Equal(t, "TS1 IS-(next-turn:1)", b.own())
			require.Equal(t, work.CodeUnknown, out.Failure.Code)
			for _, s := range c.says {
				require.Contains(t, out.Failure.Message, s)
			}
		})
	}
}

func TestTheBatchIsFoundInTheLogIfItsClaimWasWrittenBefore(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.log(session.InboxSpliced{Target: session.NextStep, Inserted: []session.Message{msg("x", "context")}})
	b.say("a")
	out, err := b.a.Persist(b.ctx, work.PersistIn{Ident: b.ident(), Head: b.head, Tail: b.tail})
	require.NoError(t, err)
	b.head, b.tail = out.Head, nil
	require.Equal(t, []string{"x", "a"}, b.next().Users)
	require.Equal(t, "TS1 IS-(next-step:1) IS-(next-turn:1) SS1.1 UM(x) UM(a) RH(initial) RC CH×4 AM", b.own())
}

func TestABatchThatIsNowhereFails(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.say("a")
	b.batch = []string{"ghost"}
	out := b.next()
	require.Equal(t, work.StepFailed, out.Outcome)
	require.Contains(t, out.Failure.Message, "ghost")
}
