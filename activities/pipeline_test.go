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

type (
	nextPre  = func(context.Context) (plugin.Verdict, error)
	nextExec = func(context.Context) (tools.Result, error)
	nextPost = func(context.Context) (plugin.PostDecision, error)
)

// answers makes tool t answer with its text.
func answering() setting {
	return tool(func(_ context.Context, in anyArgs) (tools.Result, error) {
		return tools.TextResult("ran " + in.Text), nil
	})
}

func pre(gates ...plugin.ToolPreGate) setting {
	return define(func(d *plugin.Definition) { d.ToolPreExecute = append(d.ToolPreExecute, gates...) })
}

func says(v plugin.Verdict) plugin.ToolPreGate {
	return func(context.Context, plugin.ToolCall, nextPre) (plugin.Verdict, error) { return v, nil }
}

func post(gates ...plugin.ToolPostGate) setting {
	return define(func(d *plugin.Definition) { d.ToolPostExecute = append(d.ToolPostExecute, gates...) })
}

func decides(p plugin.PostDecision) plugin.ToolPostGate {
	return func(context.Context, plugin.ToolOutcome, nextPost) (plugin.PostDecision, error) { return p, nil }
}

func execute(gates ...plugin.ToolExecuteGate) setting {
	return define(func(d *plugin.Definition) { d.ToolExecute = append(d.ToolExecute, gates...) })
}

func guard(g plugin.Guard) setting {
	return define(func(d *plugin.Definition) { d.Guards = append(d.Guards, g) })
}

func approval(deadline time.Duration) setting {
	return define(func(d *plugin.Definition) { d.Approval = &plugin.Approval{Deadline: deadline} })
}

// heard collects the final outcomes.
func heard(into *[]plugin.ToolOutcome) setting {
	return define(func(d *plugin.Definition) {
		d.ToolResult = []plugin.ToolListener{
			func(plugin.ToolOutcome) { panic("contained") },
			func(o plugin.ToolOutcome) { *into = append(*into, o) },
		}
	})
}

// staged is the input of one stage of a call that has the stages its definition asks for.
func (b *bench) staged(mode string, out *work.ToolOut) work.ToolIn {
	k := b.a.kinds[agent]
	in := b.call("t", `{"text":"x"}`)
	in.Mode, in.Out = mode, out
	in.Call.Gated, in.Call.Posted = k.gated(), k.posted()
	return in
}

// whole runs every stage of a call as the driver does. A person who is asked agrees.
func (b *bench) whole() work.ToolOut {
	b.t.Helper()
	in := b.staged(work.ToolGate, nil)
	out := work.ToolOut{Verdict: work.Allow}
	if in.Call.Gated {
		out = b.tool(in)
	}
	if out.Verdict == work.Allow || out.Verdict == work.Ask {
		out = b.tool(b.staged(work.ToolRun, nil))
	}
	if in.Call.Posted && !out.SkipPost {
		out = b.tool(b.staged(work.ToolPost, &out))
	}
	return out
}

func TestTheGateDecides(t *testing.T) { // §4.8, pipeline 2–4, C-161, C-163, C-164, C-270
	t.Parallel()
	allow, deny, ask := plugin.Verdict{Kind: plugin.Allow}, plugin.Verdict{Kind: plugin.Deny, Reason: "no"}, plugin.Verdict{Kind: plugin.Ask, Reason: "sure?"}
	for name, c := range map[string]struct {
		settings []setting
		verdict  string
		text     string
		reason   string
		deadline int64
	}{
		"allow":                    {[]setting{pre(says(allow))}, work.Allow, "", "", 0},
		"nobody objects":           {[]setting{guard(func(plugin.ToolCall) string { return "" })}, work.Allow, "", "", 0},
		"deny, C-161":              {[]setting{pre(says(deny))}, work.Deny, "Error: no", "", 0},
		"deny without a reason":    {[]setting{pre(says(plugin.Verdict{Kind: plugin.Deny}))}, work.Deny, "Error: this call was denied", "", 0},
		"guard after allow, C-163": {[]setting{pre(says(allow)), guard(func(plugin.ToolCall) string { return "never" })}, work.Deny, "Error: never", "", 0},
		"guard after ask":          {[]setting{pre(says(ask)), approval(0), guard(func(plugin.ToolCall) string { return "never" })}, work.Deny, "Error: never", "", 0},
		"guard panics":             {[]setting{guard(func(plugin.ToolCall) string { panic(42) })}, work.Fault, "Error: guard 1: panic: 42", "", 0},
		"ask":                      {[]setting{pre(says(ask)), approval(time.Minute)}, work.Ask, "", "sure?", 60_000},
		"ask, a moment":            {[]setting{pre(says(ask)), approval(time.Microsecond)}, work.Ask, "", "sure?", 1},
		"ask, no service, C-164":   {[]setting{pre(says(ask))}, work.Deny, "Error: " + textNoApproval + ": sure?", "", 0},
		"no verdict":               {[]setting{pre(says(plugin.Verdict{}))}, work.Fault, "Error: pre-execute gate: verdict", "", 0},
		"broken": {[]setting{pre(func(context.Context, plugin.ToolCall, nextPre) (plugin.Verdict, error) {
			return allow, errors.New("broken")
		})}, work.Fault, "Error: pre-execute gate 1: broken", "", 0},
		"panics, C-270":             {[]setting{pre(func(context.Context, plugin.ToolCall, nextPre) (plugin.Verdict, error) { panic("oh") })}, work.Fault, "Error: pre-execute gate 1: panic: oh", "", 0},
		"the outer one has its way": {[]setting{pre(overruling(deny), says(allow))}, work.Deny, "Error: no", "", 0},
		"rewrites the arguments":    {[]setting{pre(rewriting)}, work.Fault, "Error: pre-execute gate 1 changed its copy", "", 0},
		"asks the next one twice":   {[]setting{pre(askingTwice)}, work.Fault, "Error: pre-execute gate 1 called next twice", "", 0},
		"the inner one fails: C-162": {[]setting{pre(overruling(deny), func(context.Context, plugin.ToolCall, nextPre) (plugin.Verdict, error) {
			return allow, errors.New("broken")
		})}, work.Deny, "Error: no", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := called(t, append(c.settings, answering())...)
			out := b.tool(b.staged(work.ToolGate, nil))
			require.Equal(t, c.verdict, out.Verdict)
			require.True(t, strings.HasPrefix(out.Content.Text(), c.text), out.Content.Text())
			require.Equal(t, c.text != "", out.IsError)
			require.Equal(t, c.verdict == work.Fault, out.SkipPost)
			require.Equal(t, c.reason, out.Reason)
			require.Equal(t, c.deadline, out.DeadlineMS)
		})
	}
}

// overruling asks the next gate and says what it wants.
func overruling(v plugin.Verdict) plugin.ToolPreGate {
	return func(ctx context.Context, _ plugin.ToolCall, next nextPre) (plugin.Verdict, error) {
		_, _ = next(ctx)
		return v, nil
	}
}

func rewriting(ctx context.Context, in plugin.ToolCall, next nextPre) (plugin.Verdict, error) {
	in.Arguments[0] = '['
	return next(ctx)
}

func askingTwice(ctx context.Context, _ plugin.ToolCall, next nextPre) (plugin.Verdict, error) {
	_, _ = next(ctx)
	return next(ctx)
}

func TestAGateSeesTheCall(t *testing.T) { // §4.8, arguments
	t.Parallel()
	for raw, want := range map[string]string{`{"text":"x"}`: `{"text":"x"}`, "": `{}`, "not json": `"not json"`} {
		var got plugin.ToolCall
		b := called(t, answering(), pre(func(ctx context.Context, in plugin.ToolCall, next nextPre) (plugin.Verdict, error) {
			got = in
			plugin.AgentFrom(ctx).Inject(session.Message{Content: session.TextContent("hm")})
			return next(ctx)
		}))
		in := b.staged(work.ToolGate, nil)
		in.Call.Arguments = raw
		out := b.tool(in)
		require.Equal(t, plugin.ToolCall{
			View: plugin.View{Session: sess, Turn: 1, Step: 1, Provider: "scripted", Model: "test"},
			ID:   "c1", Name: "t", Arguments: json.RawMessage(want),
		}, got)
		require.Equal(t, "act-1.1-d0f631ca-pre-1", out.Acts[0].Message.ID)
	}
}

func TestArgumentsThatNobodyCanKeepSkipEverything(t *testing.T) { // §4.8, pipeline 1
	t.Parallel()
	for _, number := range []string{"1e999", "-0"} {
		asked := false
		b := called(t, answering(), pre(func(context.Context, plugin.ToolCall, nextPre) (plugin.Verdict, error) {
			asked = true
			return plugin.Verdict{Kind: plugin.Allow}, nil
		}))
		for _, mode := range []string{work.ToolGate, work.ToolRun} {
			in := b.staged(mode, nil)
			in.Call.Arguments = `{"text":` + number + `}`
			out := b.tool(in)
			require.Equal(t, tools.InvalidArgs, out.Error.Code)
			require.True(t, out.SkipPost)
		}
		require.False(t, asked)
	}
}

func TestGuardsAreAskedAgainBeforeTheBody(t *testing.T) { // §4.8, pipeline 3: an approval may be old
	t.Parallel()
	object := ""
	b := called(t, answering(), guard(func(plugin.ToolCall) string { return object }))
	require.Equal(t, work.Allow, b.tool(b.staged(work.ToolGate, nil)).Verdict)
	object = "too late"
	out := b.tool(b.staged(work.ToolRun, nil))
	require.Equal(t, "Error: too late", out.Content.Text())
	require.False(t, out.SkipPost)
	object = ""
	require.Equal(t, "ran x", b.tool(b.staged(work.ToolRun, nil)).Content.Text())
}

func TestACallListedWithoutGatesIsDecidedByItsBody(t *testing.T) { // A3.12: another worker listed it
	t.Parallel()
	for text, v := range map[string]plugin.Verdict{
		"ran x":                             {Kind: plugin.Allow},
		"Error: no":                         {Kind: plugin.Deny, Reason: "no"},
		"Error: " + textNotAsked + ": sure": {Kind: plugin.Ask, Reason: "sure"},
	} {
		b := called(t, answering(), pre(says(v)), approval(0), post(func(_ context.Context, in plugin.ToolOutcome, _ nextPost) (plugin.PostDecision, error) {
			return plugin.PostDecision{Content: append(in.Content, session.Text{Text: ", judged"})}, nil
		}))
		in := b.staged(work.ToolRun, nil)
		in.Call.Gated, in.Call.Posted = false, false
		out := b.tool(in)
		require.Equal(t, text+", judged", out.Content.Text())
		require.Equal(t, v.Kind != plugin.Allow, out.IsError)
		require.Empty(t, out.Verdict)
	}
}

func TestACancelInAGateStopsTheCall(t *testing.T) { // X11, C-229
	t.Parallel()
	var b *bench
	b = called(t, answering(), pre(func(ctx context.Context, _ plugin.ToolCall, next nextPre) (plugin.Verdict, error) {
		b.cancel()
		return next(ctx)
	}))
	out := b.tool(b.staged(work.ToolGate, nil))
	require.Equal(t, work.CodeAbortedBeforeDispatch, out.Error.Code)
	require.Equal(t, work.Fault, out.Verdict)
	b.stopped = errors.New("worker draining")
	_, err := b.a.Tool(b.ctx, b.staged(work.ToolGate, nil))
	require.ErrorIs(t, err, b.stopped)
}

func TestExecuteGatesWrapTheBody(t *testing.T) { // §4.8, pipeline 5
	t.Parallel()
	coded := tools.Coded("CityError", "NOT_FOUND", "no such city")
	for name, c := range map[string]struct {
		gate  plugin.ToolExecuteGate
		body  error
		text  string
		code  string
		skips bool
		runs  int
	}{
		"passes through": {func(ctx context.Context, _ plugin.ToolCall, next nextExec) (tools.Result, error) { return next(ctx) },
			nil, "ran", "", false, 1},
		"a failure passes": {func(ctx context.Context, _ plugin.ToolCall, next nextExec) (tools.Result, error) { return next(ctx) },
			coded, "Error: no such city", "NOT_FOUND", false, 1},
		"tries again": {func(ctx context.Context, _ plugin.ToolCall, next nextExec) (tools.Result, error) {
			_, _ = next(ctx)
			return next(ctx)
		}, coded, "Error: no such city", "NOT_FOUND", false, 2},
		"says more": {func(ctx context.Context, _ plugin.ToolCall, next nextExec) (tools.Result, error) {
			_, err := next(ctx)
			return tools.Result{}, errors.Join(errors.New("after all"), err)
		}, coded, "Error: after all\nno such city", "NOT_FOUND", false, 1},
		"fails itself": {func(ctx context.Context, _ plugin.ToolCall, next nextExec) (tools.Result, error) {
			_, _ = next(ctx)
			return tools.Result{}, errors.New("broken")
		}, coded, "Error: execute gate 1: broken", "", true, 1},
		"panics": {func(context.Context, plugin.ToolCall, nextExec) (tools.Result, error) { panic(7) },
			nil, "Error: execute gate 1: panic: 7", "", true, 0},
		"answers itself": {func(context.Context, plugin.ToolCall, nextExec) (tools.Result, error) {
			return tools.TextResult("cached"), nil
		}, nil, "cached", "", false, 0},
		"answers with what cannot be shown": {func(context.Context, plugin.ToolCall, nextExec) (tools.Result, error) {
			return tools.Result{Content: session.Content{session.Reasoning{}}}, nil
		}, nil, `Error: tool "t" answered with something that cannot be shown`, tools.InvalidOutput, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runs := 0
			b := called(t, execute(c.gate), tool(func(context.Context, anyArgs) (tools.Result, error) {
				runs++
				return tools.TextResult("ran"), c.body
			}))
			out := b.tool(b.staged(work.ToolRun, nil))
			require.True(t, strings.HasPrefix(out.Content.Text(), c.text), out.Content.Text())
			require.Equal(t, c.skips, out.SkipPost)
			require.Equal(t, c.runs, runs)
			if c.code != "" {
				require.Equal(t, c.code, out.Error.Code)
			}
		})
	}
}

func TestAWrapperCannotDropTheCallersCancellation(t *testing.T) { // §4.8, pipeline 5
	t.Parallel()
	var b *bench
	b = called(t, execute(
		func(_ context.Context, _ plugin.ToolCall, next nextExec) (tools.Result, error) {
			return next(context.Background())
		},
		func(ctx context.Context, _ plugin.ToolCall, next nextExec) (tools.Result, error) {
			b.cancel()
			<-ctx.Done()
			return next(context.Background())
		},
	), tool(func(ctx context.Context, _ anyArgs) (tools.Result, error) {
		require.NotNil(t, plugin.AgentFrom(ctx))
		<-ctx.Done()
		return tools.Result{}, ctx.Err()
	}))
	require.Equal(t, work.CodeAborted, b.tool(b.staged(work.ToolRun, nil)).Error.Code)
}

func TestAnUnknownToolIsWrappedAndJudged(t *testing.T) { // C-165
	t.Parallel()
	b := called(t, execute(func(ctx context.Context, _ plugin.ToolCall, next nextExec) (tools.Result, error) { return next(ctx) }))
	out := b.tool(b.staged(work.ToolRun, nil))
	require.Equal(t, work.CodeUnknownTool, out.Error.Code)
	require.False(t, out.SkipPost)
}

func TestThePostGateJudges(t *testing.T) { // §4.8, pipeline 7, C-169 to C-172
	t.Parallel()
	context1 := session.Message{Content: session.TextContent("gate's")}
	for name, c := range map[string]struct {
		decision plugin.PostDecision
		text     string
		fails    bool
		contexts []string
		keeps    bool // meta and the conclusion
	}{
		"accepts":               {plugin.PostDecision{}, "ran x", false, []string{"tool's"}, true},
		"adds a context":        {plugin.PostDecision{Contexts: []session.Message{context1}}, "ran x", false, []string{"tool's", "gate's"}, true},
		"replaces, C-169":       {plugin.PostDecision{Content: session.TextContent("other")}, "other", false, []string{"tool's"}, true},
		"empties":               {plugin.PostDecision{Content: session.Content{}}, "", false, []string{"tool's"}, true},
		"replaces the value":    {plugin.PostDecision{Value: map[string]int{"n": 1}}, `{"n":1}`, false, []string{"tool's"}, true},
		"by text":               {plugin.PostDecision{Value: "text"}, `text`, false, []string{"tool's"}, true},
		"by a bad value":        {plugin.PostDecision{Value: func() {}}, `Error: tool "t" answered with something that cannot be shown`, true, []string{"tool's"}, false},
		"by bad content":        {plugin.PostDecision{Content: session.Content{session.Reasoning{}}}, `Error: tool "t" answered with something that cannot be shown`, true, []string{"tool's"}, false},
		"blocks, C-170":         {plugin.PostDecision{Block: true, Feedback: "try harder", Contexts: []session.Message{context1}}, "try harder", true, []string{"gate's"}, false},
		"says two things":       {plugin.PostDecision{Content: session.Content{}, Value: 1}, "Error: post-execute gate: it replaces content and value", true, nil, false},
		"blocks and replaces":   {plugin.PostDecision{Block: true, Value: 1}, "Error: post-execute gate: it blocks and replaces", true, nil, false},
		"replaces by too much":  {plugin.PostDecision{Value: strings.Repeat("x", MaxToolOutput+1)}, "Error: the tool answered with 4194305 bytes", true, []string{"tool's"}, false},
		"replaces by much":      {plugin.PostDecision{Value: strings.Repeat("x", work.InlineLimit)}, strings.Repeat("x", work.InlineLimit), false, []string{"tool's"}, true},
		"mends what it says":    {plugin.PostDecision{Block: true, Feedback: "a\xffb"}, "a\uFFFDb", true, nil, false},
		"a context without id ": {plugin.PostDecision{Contexts: []session.Message{{ID: "\n", Content: session.TextContent("gate's")}}}, "ran x", false, []string{"tool's", "gate's"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var final []plugin.ToolOutcome
			b := called(t, post(decides(c.decision)), heard(&final), tool(func(_ context.Context, in anyArgs) (tools.Result, error) {
				return tools.Result{
					Content: session.TextContent("ran " + in.Text), Meta: json.RawMessage(`{"k":1}`), ConcludesTurn: true,
					Contexts: []session.Message{{Content: session.TextContent("tool's")}},
				}, nil
			}))
			out := b.whole()
			require.Len(t, final, 1)
			require.True(t, strings.HasPrefix(final[0].Content.Text(), c.text), final[0].Content.Text())
			require.Equal(t, c.fails, out.IsError)
			require.Equal(t, c.keeps, out.Concludes)
			require.Equal(t, c.keeps, out.Meta != nil)
			var contexts []string
			for _, m := range out.Contexts {
				contexts = append(contexts, m.Text())
				require.True(t, session.ValidID(m.ID))
			}
			require.Equal(t, c.contexts, contexts)
		})
	}
}

func TestABrokenPostGateIsAnErrorResult(t *testing.T) { // §4.8, pipeline 7
	t.Parallel()
	for says, gate := range map[string]plugin.ToolPostGate{
		"broken": func(context.Context, plugin.ToolOutcome, nextPost) (plugin.PostDecision, error) {
			return plugin.PostDecision{}, errors.New("broken")
		},
		"panic: oh": func(context.Context, plugin.ToolOutcome, nextPost) (plugin.PostDecision, error) { panic("oh") },
		"changed its copy": func(ctx context.Context, in plugin.ToolOutcome, next nextPost) (plugin.PostDecision, error) {
			in.Content[0] = session.Text{}
			return next(ctx)
		},
	} {
		b := called(t, answering(), post(gate))
		out := b.whole()
		require.True(t, out.IsError)
		require.Contains(t, out.Content.Text(), says)
		require.True(t, strings.HasPrefix(out.Content.Text(), "Error: post-execute gate 1"))
	}
}

func TestACancelOfThePostStage(t *testing.T) { // X10, C-230, C-231
	t.Parallel()
	for text, own := range map[string]error{"Error: tool call aborted": nil, "Error: own": errors.New("own")} {
		var b *bench
		b = called(t, post(func(ctx context.Context, _ plugin.ToolOutcome, _ nextPost) (plugin.PostDecision, error) {
			b.cancel()
			<-ctx.Done()
			return plugin.PostDecision{}, ctx.Err()
		}), tool(func(context.Context, anyArgs) (tools.Result, error) {
			return tools.Result{Contexts: []session.Message{{Content: session.TextContent("kept")}}}, own
		}))
		out := b.whole()
		require.Equal(t, text, out.Content.Text())
		if own == nil {
			require.Len(t, out.Contexts, 1)
		}
		b.stopped = errors.New("worker draining")
		_, err := b.a.Tool(b.ctx, b.staged(work.ToolPost, &work.ToolOut{Content: session.Content{}}))
		require.ErrorIs(t, err, b.stopped)
	}
}

func TestADenialIsJudgedAFaultIsNot(t *testing.T) { // C-162
	t.Parallel()
	for name, c := range map[string]struct {
		gate plugin.ToolPreGate
		text string
	}{
		"denied": {says(plugin.Verdict{Kind: plugin.Deny, Reason: "no"}), "Error: no, judged"},
		"broken": {func(context.Context, plugin.ToolCall, nextPre) (plugin.Verdict, error) { panic("oh") }, "Error: pre-execute gate 1: panic: oh"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var final []plugin.ToolOutcome
			b := called(t, answering(), heard(&final), pre(c.gate), post(func(_ context.Context, in plugin.ToolOutcome, _ nextPost) (plugin.PostDecision, error) {
				return plugin.PostDecision{Content: append(in.Content, session.Text{Text: ", judged"})}, nil
			}))
			require.Equal(t, c.text, b.whole().Content.Text())
			require.Len(t, final, 1)
			require.Equal(t, c.text, final[0].Content.Text())
			require.True(t, final[0].IsError)
		})
	}
}

func TestAPostGateSeesALargeResultInFull(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 2*work.InlineLimit)
	var seen string
	b := called(t, post(func(ctx context.Context, in plugin.ToolOutcome, next nextPost) (plugin.PostDecision, error) {
		seen = in.Content.Text()
		return next(ctx)
	}), tool(func(context.Context, anyArgs) (tools.Result, error) { return tools.TextResult(text), nil }))
	out := b.whole()
	require.Equal(t, text, seen)
	require.IsType(t, session.Artifact{}, out.Content[0])
}

func TestTheToolHasTheLastSay(t *testing.T) { // §4.8, pipeline 8
	t.Parallel()
	final := func(c session.Content) session.Content { return session.TextContent("<" + c.Text() + ">") }
	broken := func(session.Content) session.Content { panic("oh") }
	bad := func(session.Content) session.Content { return session.Content{session.Reasoning{}} }
	for text, c := range map[string]struct {
		final    func(session.Content) session.Content
		settings []setting
	}{
		"<ran x>":   {final, nil},
		"<other>":   {final, []setting{post(decides(plugin.PostDecision{Value: "other"}))}},
		"<block>":   {final, []setting{post(decides(plugin.PostDecision{Block: true, Feedback: "block"}))}},
		"Error: no": {final, []setting{pre(says(plugin.Verdict{Kind: plugin.Deny, Reason: "no"}))}},
		`Error: the last transform of tool "t" panicked: oh`:                                                                          {broken, nil},
		`Error: tool "t" answered with something that cannot be shown: content block 0: session.Reasoning cannot be part of a result`: {bad, nil},
	} {
		b := called(t, append(c.settings, tool(func(ctx context.Context, in anyArgs) (tools.Result, error) {
			plugin.AgentFrom(ctx).Steer(msg("m", "x"))
			return tools.TextResult("ran " + in.Text), nil
		}, tools.WithFinal(c.final)))...)
		require.Equal(t, text, b.whole().Content.Text())
	}
}

func TestActsOfEveryStageTravel(t *testing.T) { // A3.8
	t.Parallel()
	steer := func(ctx context.Context) {
		plugin.AgentFrom(ctx).Steer(session.Message{Content: session.TextContent("x")})
	}
	b := called(t, execute(func(ctx context.Context, _ plugin.ToolCall, next nextExec) (tools.Result, error) {
		steer(ctx)
		_, _ = next(ctx) // and once more
		return next(ctx)
	}), post(func(ctx context.Context, _ plugin.ToolOutcome, next nextPost) (plugin.PostDecision, error) {
		steer(ctx)
		return next(ctx)
	}), tool(func(ctx context.Context, _ anyArgs) (tools.Result, error) {
		steer(ctx)
		return tools.Result{}, nil
	}, tools.WithFinal(func(session.Content) session.Content { panic("oh") })))
	in := b.staged(work.ToolRun, nil)
	in.Call.Posted = false // everything in one activity
	var ids []string
	for range 2 {
		ids = nil
		for _, a := range b.tool(in).Acts {
			ids = append(ids, strings.TrimPrefix(a.Message.ID, "act-1.1-d0f631ca-"))
		}
		require.Equal(t, []string{"execute-1", "tool-1", "tool-2", "post-1"}, ids)
		b.exec++ // the second answer comes from the ledger
	}
}

func TestLaterCallsAreAskedAgain(t *testing.T) { // §4.8.3, C-158, C-159
	t.Parallel()
	alone := map[string]bool{}
	switching := define(func(d *plugin.Definition) {
		d.Tools = append(d.Tools, tools.Must(tools.New("p", "For tests.", func(context.Context, anyArgs) (string, error) { return "ok", nil },
			tools.ParallelIf(func(args json.RawMessage) bool { return !alone[string(args)] }))))
		d.ToolResult = []plugin.ToolListener{func(plugin.ToolOutcome) { alone[`{"text":"by listener"}`] = true }}
	})
	b := newBench(t, script(`tool c1 t {} tool c2 p {"text":"by tool"} tool c3 p {"text":"by listener"} tool c4 p {} tool c5 nosuch {}`+"\n"+answers),
		switching, tool(func(context.Context, anyArgs) (tools.Result, error) {
			alone[`{"text":"by tool"}`] = true
			return tools.Result{}, nil
		}))
	b.say("a")
	b.next()
	in := b.call("t", "{}")
	require.Empty(t, b.tool(in).Exclusive)
	in.Key, in.From, in.Head = "other", "c2", &b.head
	require.Equal(t, []string{"c2", "c3", "c5"}, b.tool(in).Exclusive)
	in.From = "c4"
	require.Equal(t, []string{"c5"}, b.tool(in).Exclusive)
	in.From = "c9"
	require.True(t, b.tool(in).Alone, "nobody knows that call")
	in.From, in.Later = "", []string{"c4", "c5"}
	require.Equal(t, []string{"c5"}, b.tool(in).Exclusive, "as an agent of older rules asks")
	in.From, in.Later = "c2", nil

	elsewhere := newBench(t, switching)
	elsewhere.faults.Fail(storetest.Match{Op: storetest.Get}, errors.New("offline"), storetest.Always)
	in.Ident, in.Head = elsewhere.ident(), &work.Head{Hash: strings.Repeat("0", 64), Count: 9}
	require.True(t, elsewhere.tool(in).Alone)
}

func TestCallsSayWhichStagesTheyHave(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set           setting
		gated, posted bool
	}{
		"none":  {answering(), false, false},
		"gate":  {pre(says(plugin.Verdict{Kind: plugin.Allow})), true, false},
		"guard": {guard(func(plugin.ToolCall) string { return "" }), true, false},
		"post":  {post(decides(plugin.PostDecision{})), false, true},
	} {
		b := newBench(t, script("tool c1 t {}\n"), c.set)
		b.say("a")
		call := b.next().Calls[0]
		require.Equal(t, c.gated, call.Gated, name)
		require.Equal(t, c.posted, call.Posted, name)
	}
}

func TestAHiddenToolIsUnknown(t *testing.T) { // §8.2, C-294
	t.Parallel()
	for name, hide := range map[string]func(plugin.View, string) bool{
		"hidden":  func(v plugin.View, tool string) bool { return v.Session == sess && tool == "t" },
		"a panic": func(_ plugin.View, tool string) bool { return tool == "t" || panics() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := called(t, answering(), define(func(d *plugin.Definition) {
				d.Tools, d.Hide, d.ToolOrder = append(d.Tools, echoTool()), hide, []string{"t", "*"}
			}))
			require.Equal(t, work.CodeUnknownTool, b.tool(b.call("t", "{}")).Error.Code)
			var told []string
			for _, schema := range b.requests()[0].Tools {
				told = append(told, schema.Name)
			}
			want := map[string][]string{"hidden": {"echo"}}[name] // a panic hides
			require.Equal(t, want, told)
		})
	}
}

func panics() bool { panic("oh") }
