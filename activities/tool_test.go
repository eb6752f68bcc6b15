package activities

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/store/storetest"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/tools"
)

type anyArgs struct {
	Text string `json:"text,omitempty"`
}

// tool makes a tool named "t" of a body.
func tool(body func(context.Context, anyArgs) (tools.Result, error), opts ...tools.Option) setting {
	return define(func(d *plugin.Definition) {
		d.Tools = append(d.Tools, tools.Must(tools.New("t", "For tests.", body, opts...)))
	})
}

// called is a bench whose step 1.1 is open and asks for tool t.
func called(t *testing.T, settings ...setting) *bench {
	t.Helper()
	b := newBench(t, append([]setting{script("tool c1 t {}\n" + answers)}, settings...)...)
	b.say("a")
	b.next()
	return b
}

func (b *bench) tool(in work.ToolIn) work.ToolOut {
	b.t.Helper()
	out, err := b.a.Tool(b.ctx, in)
	require.NoError(b.t, err)
	require.Equal(b.t, b.a.kinds[agent].manifest.Digest, out.Worker.Manifest)
	return out
}

func (b *bench) call(name, arguments string) work.ToolIn {
	return b.toolIn(work.Call{ID: "c1", Name: name, Arguments: arguments})
}

func TestEveryOutcomeOfACallIsAnAnswer(t *testing.T) { // §4.8, C-165 to C-168
	t.Parallel()
	for name, c := range map[string]struct {
		body  func(context.Context, anyArgs) (tools.Result, error)
		tool  string
		args  string
		text  string
		coded *session.CodedError
		fails bool
	}{
		"success": {func(_ context.Context, in anyArgs) (tools.Result, error) {
			return tools.TextResult("got " + in.Text), nil
		},
			"t", `{"text":"x"}`, "got x", nil, false},
		"no arguments, C-168": {func(_ context.Context, in anyArgs) (tools.Result, error) { return tools.TextResult("ran"), nil },
			"t", ``, "ran", nil, false},
		"unknown tool, C-165": {nil, "nosuch", `{}`, `Error: unknown tool "nosuch"`, &session.CodedError{Name: nameUnknownTool, Code: work.CodeUnknownTool}, true},
		"plain error, C-166": {func(context.Context, anyArgs) (tools.Result, error) {
			return tools.Result{}, errors.New("no such city")
		},
			"t", `{}`, "Error: no such city", nil, true},
		"coded error, C-166": {func(context.Context, anyArgs) (tools.Result, error) {
			return tools.Result{}, tools.Coded("CityError", "NOT_FOUND", "no such city")
		},
			"t", `{}`, "Error: no such city", &session.CodedError{Name: "CityError", Code: "NOT_FOUND"}, true},
		"panic": {func(context.Context, anyArgs) (tools.Result, error) { panic("oh") },
			"t", `{}`, `Error: tool "t" panicked: oh`, &session.CodedError{Name: "ToolPanicError", Code: tools.Panicked}, true},
		"not JSON, C-167": {func(context.Context, anyArgs) (tools.Result, error) { panic("not reached") },
			"t", `not json`, `Error: invalid arguments for tool "t": not valid JSON: not json`, &session.CodedError{Name: "InvalidArgsError", Code: tools.InvalidArgs}, true},
		"wrong type": {func(context.Context, anyArgs) (tools.Result, error) { panic("not reached") },
			"t", `{"text":1}`, `Error: invalid arguments for tool "t": field "text":`, &session.CodedError{Name: "InvalidArgsError", Code: tools.InvalidArgs}, true},
		"too much output": {func(context.Context, anyArgs) (tools.Result, error) {
			return tools.TextResult(strings.Repeat("x", MaxToolOutput+1)), nil
		},
			"t", `{}`, "Error: the tool answered with 4194305 bytes", &session.CodedError{Name: nameTooLarge, Code: CodeOutputTooLarge}, true},
		"no content": {func(context.Context, anyArgs) (tools.Result, error) { return tools.Result{}, nil }, "t", `{}`, "", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.body == nil {
				c.body = func(context.Context, anyArgs) (tools.Result, error) { panic("not reached") }
			}
			b := called(t, tool(c.body))
			out := b.tool(b.call(c.tool, c.args))
			require.Equal(t, c.fails, out.IsError)
			require.Equal(t, c.coded, out.Error)
			require.NotNil(t, out.Content)
			require.True(t, strings.HasPrefix(out.Content.Text(), c.text), out.Content.Text())
		})
	}
}

func TestABodyKnowsItsCallAndItsAgent(t *testing.T) {
	t.Parallel()
	var got tools.Call
	b := called(t, tool(func(ctx context.Context, _ anyArgs) (tools.Result, error) {
		got, _ = tools.CallFrom(ctx)
		plugin.AgentFrom(ctx).Steer(session.Message{Content: session.TextContent("hurry")})
		plugin.AgentFrom(ctx).Followup(msg("mine", strings.Repeat("x", work.InlineLimit)))
		return tools.Result{
			Content: session.TextContent("ok"), Meta: json.RawMessage(`{"k":1}`), ConcludesTurn: true,
			Contexts: []session.Message{{Content: session.TextContent("one")}, msg("two", "two")},
		}, nil
	}))
	out := b.tool(b.call("t", "{}"))
	require.Equal(t, tools.Call{Session: sess, Turn: 1, Step: 1, ID: "c1", Key: "sess/1/1.1/c1", Try: 1}, got)
	require.True(t, out.Concludes)
	require.JSONEq(t, `{"k":1}`, string(out.Meta))
	place := "1.1-d0f631ca" // step and hash of the call's id
	require.Len(t, out.Contexts, 2)
	require.Equal(t, "ctx-"+place+"-1", out.Contexts[0].ID)
	require.Equal(t, "two", out.Contexts[1].ID)
	require.Equal(t, session.Source{Kind: session.SourcePlugin, Plugin: agent}, out.Contexts[0].Source)
	require.Len(t, out.Acts, 2)
	require.Equal(t, "act-"+place+"-tool-1", out.Acts[0].Message.ID)
	require.Equal(t, session.NextStep, out.Acts[0].Target)
	require.IsType(t, session.Artifact{}, out.Acts[1].Message.Content[0]) // a large body does not travel
}

func TestAToolThatTakesTooLongFails(t *testing.T) {
	t.Parallel()
	b := called(t, tool(func(ctx context.Context, _ anyArgs) (tools.Result, error) {
		<-ctx.Done()
		return tools.Result{}, ctx.Err()
	}, tools.WithTimeout(time.Millisecond)))
	out := b.tool(b.call("t", "{}"))
	require.Equal(t, &session.CodedError{Name: nameTimeout, Code: CodeToolTimeout}, out.Error)
	require.Equal(t, `Error: tool "t" did not finish within 1ms`, out.Content.Text())
}

func TestACancelledCallSaysWhatBecameOfIt(t *testing.T) { // X9, X10, C-230, C-231
	t.Parallel()
	for name, c := range map[string]struct {
		body func(context.Context) (tools.Result, error)
		code string
		text string
	}{
		"stopped by the cancel": {func(ctx context.Context) (tools.Result, error) { return tools.Result{}, ctx.Err() }, work.CodeAborted, "Error: tool call aborted"},
		"failed by itself":      {func(context.Context) (tools.Result, error) { return tools.Result{}, errors.New("own") }, "", "Error: own"},
		"succeeded anyway":      {func(context.Context) (tools.Result, error) { return tools.TextResult("done"), nil }, "", "done"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var b *bench
			b = called(t, tool(func(ctx context.Context, _ anyArgs) (tools.Result, error) {
				b.cancel()
				<-ctx.Done()
				return c.body(ctx)
			}))
			out := b.tool(b.call("t", "{}"))
			require.Equal(t, c.text, out.Content.Text())
			if c.code == "" {
				require.Nil(t, out.Error)
			} else {
				require.Equal(t, &session.CodedError{Name: nameAbort, Code: c.code}, out.Error)
			}
		})
	}
	b := called(t, tool(func(context.Context, anyArgs) (tools.Result, error) { panic("not reached") }))
	b.cancel()
	out := b.tool(b.call("t", "{}"))
	require.Equal(t, work.CodeAbortedBeforeDispatch, out.Error.Code)
	require.Equal(t, "Error: tool call aborted before dispatch", out.Content.Text())
}

func TestALargeResultIsStoredAndPutBack(t *testing.T) { // A3.4
	t.Parallel()
	text := strings.Repeat("x", 2*work.InlineLimit)
	b := newBench(t, script("tool c1 t {\"text\":\""+text+"\"}\n"+answers), tool(func(_ context.Context, in anyArgs) (tools.Result, error) {
		return tools.TextResult(in.Text), nil
	}))
	b.say("a")
	out := b.next()
	require.Empty(t, out.Calls[0].Arguments)
	require.Equal(t, work.ArgumentsMediaType, out.Calls[0].Blob.MediaType)
	result := b.answer(out.Calls[0])
	require.Len(t, result.Content, 1)
	require.Equal(t, work.ContentMediaType, result.Content[0].(session.Artifact).MediaType)
	in := b.in()
	in.Owed = true
	b.run(in)
	last := b.requests()[1].Messages[2].Content[0].(session.ToolResultBlock)
	require.Equal(t, text, last.Content.Text())
	require.Equal(t, `{"text":"`+text+`"}`, events[session.ToolCall](b)[0].Arguments)
	require.Nil(t, events[session.ToolCall](b)[0].ArgumentsBlob)
	b.reconstructed()
}

func TestLargeMetaIsLeftOut(t *testing.T) {
	t.Parallel()
	b := called(t, tool(func(context.Context, anyArgs) (tools.Result, error) {
		return tools.Result{Meta: json.RawMessage(`"` + strings.Repeat("x", MaxToolMeta) + `"`)}, nil
	}))
	require.JSONEq(t, `{"omitted":16386}`, string(b.tool(b.call("t", "{}")).Meta))
}

// effects are the classes under test, each with a tool whose body counts its runs.
func effects(runs *int, effect tools.Effect, happened bool, err error) setting {
	opt := tools.WithEffect(effect)
	if effect == tools.Reconcile {
		opt = tools.WithReconcile(func(context.Context, string) (tools.Result, bool, error) {
			return tools.TextResult("reconciled"), happened, err
		})
	}
	return tool(func(context.Context, anyArgs) (tools.Result, error) { *runs++; return tools.TextResult("ran"), nil }, opt)
}

func TestTheEffectClassDecidesWhatALostWorkerMeans(t *testing.T) { // A3.7
	t.Parallel()
	died := map[string]string{"none": "", "started": "tool/started", "body done": "tool/body-done", "done": "tool/done"}
	for name, c := range map[string]struct {
		effect   tools.Effect
		state    string
		happened bool
		err      error
		again    string // what execution 2 answers
		runs     int    // of the body, both executions together
		settled  string // what a settling answers
	}{
		"once, none":         {tools.Once, "none", false, nil, "ran", 1, session.TextToolNotStarted},
		"once, started":      {tools.Once, "started", false, nil, session.TextToolOutcomeUnknown, 0, session.TextToolOutcomeUnknown},
		"once, body done":    {tools.Once, "body done", false, nil, session.TextToolOutcomeUnknown, 1, session.TextToolOutcomeUnknown},
		"once, done":         {tools.Once, "done", false, nil, "ran", 1, "ran"},
		"pure, none":         {tools.Pure, "none", false, nil, "ran", 1, session.TextToolOutcomeUnknown},
		"pure, body done":    {tools.Pure, "body done", false, nil, "ran", 2, session.TextToolOutcomeUnknown},
		"keyed, body done":   {tools.Keyed, "body done", false, nil, "ran", 2, session.TextToolOutcomeUnknown},
		"reconcile, none":    {tools.Reconcile, "none", true, nil, "ran", 1, session.TextToolNotStarted},
		"reconcile, it did":  {tools.Reconcile, "started", true, nil, "reconciled", 0, "reconciled"},
		"reconcile, not":     {tools.Reconcile, "started", false, nil, "ran", 1, session.TextToolNotStarted},
		"reconcile, unknown": {tools.Reconcile, "started", false, errors.New("offline"), session.TextToolOutcomeUnknown, 0, session.TextToolOutcomeUnknown},
		"reconcile, done":    {tools.Reconcile, "done", false, nil, "ran", 1, "ran"},
	} {
		for _, mode := range []string{"again", "settled"} {
			t.Run(name+", "+mode, func(t *testing.T) {
				t.Parallel()
				runs := 0
				b := called(t, effects(&runs, c.effect, c.happened, c.err))
				in := b.call("t", "{}")
				in.Call.Effect = string(c.effect)
				if point := died[c.state]; point != "" {
					b.die = point
					_, err := b.a.Tool(b.ctx, in)
					require.ErrorIs(t, err, errDied)
					b.die = ""
					b.faults.Clear()
				}
				before := runs
				b.exec = 2
				if mode == "again" {
					require.Equal(t, c.again, b.tool(in).Content.Text())
					require.Equal(t, c.runs, runs)
					return
				}
				in.Mode, in.Lost = work.ToolSettle, "exhausted"
				require.Equal(t, c.settled, b.tool(in).Content.Text())
				require.Equal(t, before, runs)
			})
		}
	}
}

func TestAWorkerThatOnlySeemedDeadDoesNotRunASettledCall(t *testing.T) { // A3.7
	t.Parallel()
	for _, effect := range []tools.Effect{tools.Once, tools.Reconcile} {
		t.Run(string(effect), func(t *testing.T) {
			t.Parallel()
			runs := 0
			b := called(t, effects(&runs, effect, true, nil))
			in := b.call("t", "{}")
			in.Call.Effect = string(effect)
			settling := in
			settling.Mode, settling.Lost = work.ToolSettle, "exhausted"
			told := b.tool(settling).Content.Text()
			require.Equal(t, session.TextToolNotStarted, told)

			require.Equal(t, told, b.tool(in).Content.Text(), "the late worker")
			require.Equal(t, told, b.tool(settling).Content.Text(), "another settling")
			require.Zero(t, runs)
		})
	}
}

func TestASettlingNamesWhyTheCallWasLost(t *testing.T) { // X9, A3.15
	t.Parallel()
	for name, c := range map[string]struct {
		effect  tools.Effect
		started bool
		lost    string
		code    string
	}{
		"once, cancelled":          {tools.Once, false, "cancelled", work.CodeAbortedBeforeDispatch},
		"once started, cancelled":  {tools.Once, true, "cancelled", session.CodeToolOutcomeUnknown},
		"pure, cancelled":          {tools.Pure, false, "cancelled", work.CodeAborted},
		"once, unavailable":        {tools.Once, false, "unavailable", work.CodeToolUnavailable},
		"pure, unavailable":        {tools.Pure, false, "unavailable", work.CodeToolUnavailable},
		"once, exhausted":          {tools.Once, false, "exhausted", session.CodeToolNotStarted},
		"unknown class, exhausted": {"", false, "exhausted", session.CodeToolNotStarted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := called(t)
			in := b.call("elsewhere", "{}") // this worker does not have the tool
			in.Call.Effect, in.Mode, in.Lost = string(c.effect), work.ToolSettle, c.lost
			if c.started {
				_, err := b.store.Started(t.Context(), in.Key)
				require.NoError(t, err)
			}
			out := b.tool(in)
			require.True(t, out.IsError)
			require.Equal(t, c.code, out.Error.Code)
			require.True(t, strings.HasPrefix(out.Content.Text(), "Error: "))
		})
	}
}

func TestAToolIsNotRunIfItsStartCannotBeRecorded(t *testing.T) { // §4.11 (b)
	t.Parallel()
	runs := 0
	b := called(t, effects(&runs, tools.Once, false, nil))
	b.faults.Fail(storetest.Match{Op: storetest.Create, Prefix: "effects/"}, errors.New("disk full"), storetest.Always)
	out := b.tool(b.call("t", "{}"))
	require.Equal(t, work.CodeStore, out.Error.Code)
	require.Contains(t, out.Content.Text(), "disk full")
	require.Zero(t, runs)
}

func TestASecondFirstExecutionDoesNotRepeatAnEffect(t *testing.T) { // an activity that was reset counts from 1 again
	t.Parallel()
	runs := 0
	b := called(t, effects(&runs, tools.Once, false, nil))
	in := b.call("t", "{}")
	require.Equal(t, "ran", b.tool(in).Content.Text())
	require.Equal(t, "ran", b.tool(in).Content.Text())
	require.Equal(t, 1, runs)
}

func TestAKeyThatAnotherCallTookIsNoAnswer(t *testing.T) { // the server's database was restored to an older copy
	t.Parallel()
	for _, mode := range []string{work.ToolRun, work.ToolSettle} {
		runs := 0
		b := called(t, effects(&runs, tools.Once, false, nil))
		b.tool(b.call("t", "{}"))
		in := b.call("t", "{ }")
		in.Mode = mode
		out := b.tool(in)
		require.Equal(t, work.CodeStore, out.Error.Code)
		require.Contains(t, out.Content.Text(), "another call")
		require.Equal(t, 1, runs)
	}
}

func TestADamagedLedgerIsNoReasonToRepeatOrToWait(t *testing.T) { // A3.7
	t.Parallel()
	for kind, want := range map[string]string{"started": "ran", "done": session.TextToolOutcomeUnknown} {
		runs := 0
		b := called(t, effects(&runs, tools.Once, false, nil))
		in := b.call("t", "{}")
		require.Equal(t, "ran", b.tool(in).Content.Text())
		b.exec = 2
		b.faults.Corrupt(storetest.Match{Prefix: "effects/" + kind}, storetest.Always)
		require.Equal(t, want, b.tool(in).Content.Text(), kind)
		require.Equal(t, 1, runs)
	}
}

func TestAResultThatCannotBeRecordedIsGivenNonetheless(t *testing.T) {
	t.Parallel()
	runs := 0
	b := called(t, effects(&runs, tools.Once, false, nil))
	b.faults.Fail(storetest.Match{Op: storetest.Create, Prefix: "effects/done"}, errors.New("disk full"), storetest.Always)
	require.Equal(t, "ran", b.tool(b.call("t", "{}")).Content.Text())
}

func TestAStoppedWorkerLeavesItsCallsToAnother(t *testing.T) { // A3.15: a stop, a pause and a reset are no cancel
	t.Parallel()
	draining := errors.New("worker draining")
	for effect, repeated := range map[tools.Effect]bool{tools.Pure: true, tools.Keyed: true, tools.Once: false} {
		var b *bench
		runs := 0
		b = called(t, tool(func(ctx context.Context, _ anyArgs) (tools.Result, error) {
			if runs++; runs > 1 {
				return tools.Result{Content: session.TextContent("ran")}, nil
			}
			b.cancel()
			<-ctx.Done()
			return tools.Result{}, ctx.Err()
		}, tools.WithEffect(effect)))
		b.stopped = draining
		_, err := b.a.Tool(b.ctx, b.call("t", "{}"))
		require.ErrorIs(t, err, draining)

		b.exec, b.stopped, b.ctx = 2, nil, t.Context()
		out := b.tool(b.call("t", "{}"))
		if repeated {
			require.Equal(t, "ran", out.Content.Text())
			continue
		}
		require.Equal(t, session.CodeToolOutcomeUnknown, out.Error.Code, "nobody cancelled it, and it is not repeated")
		require.Equal(t, 1, runs)
	}
}

func TestAStoppedCallKeepsItsOwnFailure(t *testing.T) { // §5
	t.Parallel()
	var b *bench
	b = called(t, tool(func(context.Context, anyArgs) (tools.Result, error) {
		b.cancel()
		return tools.Result{}, errors.New("disk full")
	}, tools.WithEffect(tools.Once)))
	b.stopped = errors.New("worker draining")
	out, err := b.a.Tool(b.ctx, b.call("t", "{}"))
	require.NoError(t, err)
	require.Equal(t, "Error: disk full", out.Content.Text())
}

// What has run has run: a cancel that comes before the next execution does not undo it. See spec §5 X10, A3.7.
func TestACancelledExecutionStillRecallsWhatAnEarlierOneDid(t *testing.T) {
	t.Parallel()
	runs := 0
	b := called(t, effects(&runs, tools.Once, false, nil))
	in := b.call("t", "{}")
	require.Equal(t, "ran", b.tool(in).Content.Text())
	b.exec = 2
	b.cancel()
	require.Equal(t, "ran", b.tool(in).Content.Text())
	require.Equal(t, 1, runs)
}

// A worker of an older epoch must not start an effect. See A3.12.
func TestAnOldWorkerRunsNoTool(t *testing.T) {
	t.Parallel()
	runs := 0
	b := called(t, effects(&runs, tools.Pure, false, nil))
	require.NoError(t, b.store.ClaimEpoch(t.Context(), sess, 2, "resume"))
	_, err := b.a.Tool(b.ctx, b.call("t", "{}"))
	var refusal *Refusal
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, work.ErrFenced, refusal.Kind)
	require.Zero(t, runs)
}
