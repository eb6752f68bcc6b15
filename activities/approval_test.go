package activities

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/tools"
)

// asking is a definition whose tool t needs an approval.
func asking(body func(context.Context, anyArgs) (tools.Result, error), opts ...tools.Option) []setting {
	return []setting{approval(0), tool(body, append([]tools.Option{tools.NeedsApproval("it costs money")}, opts...)...)}
}

func saysText(_ context.Context, in anyArgs) (tools.Result, error) {
	return tools.TextResult("ran " + in.Text), nil
}

func TestAToolThatNeedsAnApproval(t *testing.T) { // §4.8, pipeline 2
	t.Parallel()
	b := called(t, asking(saysText)...)
	out := b.tool(b.gateOf(`{"text":"x"}`))
	require.Equal(t, work.Ask, out.Verdict)
	require.Equal(t, "it costs money", out.Reason)
	require.Equal(t, work.CallDigest("t", `{ "text" : "x" }`), out.Digest)
	require.Equal(t, (7 * 24 * time.Hour).Milliseconds(), out.DeadlineMS, "the default")

	deny := plugin.Verdict{Kind: plugin.Deny, Reason: "no"}
	b = called(t, append(asking(saysText), pre(says(deny)))...)
	out = b.tool(b.gateOf(`{}`))
	require.Equal(t, work.Deny, out.Verdict, "a gate denied already")
	require.Empty(t, out.Digest)

	b = called(t, tool(saysText, tools.NeedsApproval("")))
	out = b.tool(b.gateOf(`{}`))
	require.Equal(t, work.Deny, out.Verdict, "nobody can be asked")
	require.Contains(t, out.Content.Text(), "every call of this tool needs an approval")
}

func (b *bench) gateOf(arguments string) work.ToolIn {
	in := b.call("t", arguments)
	in.Mode, in.Call.Gated = work.ToolGate, true
	return in
}

func TestAListedCallOfSuchAToolIsGated(t *testing.T) {
	t.Parallel()
	b := newBench(t, append(asking(saysText), script("tool c1 t {} tool c2 free {}\n"+answers), define(func(d *plugin.Definition) {
		d.Tools = append(d.Tools, tools.Must(tools.New("free", "", saysText)))
	}))...)
	b.say("a")
	calls := b.next().Calls
	require.True(t, calls[0].Gated)
	require.False(t, calls[1].Gated, "the trait is of one tool")
}

// The deadline is a default, a time, or without end if that is said.
func TestHowLongAPersonIsWaitedFor(t *testing.T) {
	t.Parallel()
	for deadline, ms := range map[time.Duration]int64{0: 604_800_000, plugin.NoDeadline: 0, -time.Hour: 0, time.Second: 1000, time.Nanosecond: 1} {
		require.Equal(t, ms, deadlineMS(&plugin.Approval{Deadline: deadline}), deadline)
	}
}

func TestTheBodyRunsWhatWasApproved(t *testing.T) {
	t.Parallel()
	run := func(b *bench, approved *work.Approved) work.ToolOut {
		in := b.call("t", `{"text":"x"}`)
		in.Call.Gated, in.Approved = true, approved
		return b.tool(in)
	}
	digest, other := work.CallDigest("t", `{"text":"x"}`), work.CallDigest("t", `{"text":"y"}`)
	for name, c := range map[string]struct {
		approved *work.Approved
		text     string
	}{
		"as it is":                 {&work.Approved{Digest: digest}, "ran x"},
		"other arguments":          {&work.Approved{Digest: other}, "Error: " + textOtherCall},
		"nobody asked":             {nil, "Error: " + textNotAsked + ": it costs money"},
		"no digest":                {&work.Approved{}, "Error: " + textOtherCall},
		"edited":                   {&work.Approved{Digest: other, Arguments: json.RawMessage(`{"text":"y"}`)}, editNote + "{\"text\":\"y\"}]\nran y"},
		"edited, of other ones":    {&work.Approved{Digest: digest, Arguments: json.RawMessage(`{"text":"y"}`)}, "Error: " + textOtherCall},
		"edited, they do not fit":  {&work.Approved{Digest: work.CallDigest("t", `{"text":1}`), Arguments: json.RawMessage(`{"text":1}`)}, editNote + "{\"text\":1}]\nError: invalid arguments"},
		"edited, written in blank": {&work.Approved{Digest: other, Arguments: json.RawMessage(`{ "text": "y" }`)}, editNote + "{ \"text\": \"y\" }]\nran y"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := run(called(t, asking(saysText)...), c.approved)
			require.True(t, strings.HasPrefix(out.Content.Text(), c.text), out.Content.Text())
			require.Equal(t, strings.Contains(c.text, "Error"), out.IsError)
			require.Empty(t, out.Verdict)
			require.Empty(t, out.Digest)
		})
	}
}

// A deployment that declares the trait does not let calls run that were listed before.
func TestACallThatWasListedWithoutTheTraitIsNotRun(t *testing.T) { // A3.12
	t.Parallel()
	b := called(t, asking(saysText)...)
	out := b.tool(b.call("t", `{}`))
	require.True(t, out.IsError)
	require.Contains(t, out.Content.Text(), textNotAsked)
}

func TestArgumentsThatAPersonGivesAreChecked(t *testing.T) { // D20
	t.Parallel()
	guarded := guard(func(in plugin.ToolCall) string {
		if strings.Contains(string(in.Arguments), "secret") {
			return "no secrets,\nplease"
		}
		return ""
	})
	for name, c := range map[string]struct{ tool, arguments, reason string }{
		"they fit":             {"t", `{"text":"y"}`, ""},
		"a wrong type":         {"t", `{"text":1}`, `invalid arguments for tool "t": field "text"`},
		"an unknown name":      {"t", `{"texts":"y"}`, `invalid arguments for tool "t": field "texts": unknown`},
		"a number that is off": {"t", `{"text":"y","n":-0}`, `field "n"`},
		"a guard objects":      {"t", `{"text":"secret"}`, "no secrets, please"},
		"an unknown tool":      {"u", `{}`, `unknown tool "u"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := called(t, append(asking(func(context.Context, anyArgs) (tools.Result, error) { panic("not reached") }), guarded)...)
			in := b.call(c.tool, `{"text":"x"}`)
			in.Mode, in.Call.Gated, in.Said = work.ToolCheck, true, &work.Said{Kind: work.WaitApproval, Arguments: json.RawMessage(c.arguments)}
			out := b.tool(in)
			if c.reason == "" {
				require.Equal(t, work.Allow, out.Verdict, out.Reason)
				require.Equal(t, work.CallDigest("t", c.arguments), out.Digest)
				return
			}
			require.Equal(t, work.Deny, out.Verdict)
			require.Contains(t, out.Reason, c.reason)
			require.NotContains(t, out.Reason, "\n", "one line")
			require.Empty(t, out.Digest)
		})
	}
	b := called(t, asking(saysText)...)
	in := b.call("t", `{}`)
	in.Mode, in.Said = work.ToolCheck, &work.Said{Kind: "horoscope"}
	require.Equal(t, work.Deny, b.tool(in).Verdict)
	in.Said = nil
	_, err := b.a.Tool(b.ctx, in)
	require.ErrorContains(t, err, "nothing was said")
}

// editedIn is a call that runs with a person's arguments.
func (b *bench) editedIn() work.ToolIn {
	in := b.call("t", `{"text":"x"}`)
	in.Call.Gated = true
	in.Approved = &work.Approved{Digest: work.CallDigest("t", `{"text":"y"}`), Arguments: json.RawMessage(`{"text":"y"}`)}
	return in
}

const note = editNote + "{\"text\":\"y\"}]\n"

// The note is there once, whoever gives the answer.
func TestTheNoteOnChangedArgumentsIsKept(t *testing.T) { // D20
	t.Parallel()
	died := func(point string) func(b *bench, in work.ToolIn) work.ToolOut {
		return func(b *bench, in work.ToolIn) work.ToolOut {
			b.die = point
			_, err := b.a.Tool(b.ctx, in)
			require.ErrorIs(b.t, err, errDied)
			b.die, b.exec = "", 2
			b.faults.Clear()
			return b.tool(in)
		}
	}
	settled := func(point string) func(b *bench, in work.ToolIn) work.ToolOut {
		return func(b *bench, in work.ToolIn) work.ToolOut {
			b.die = point
			_, err := b.a.Tool(b.ctx, in)
			require.ErrorIs(b.t, err, errDied)
			b.die, in.Mode = "", work.ToolSettle
			b.faults.Clear()
			return b.tool(in)
		}
	}
	replaced := post(decides(plugin.PostDecision{Content: session.TextContent("replaced")}))
	final := tools.WithFinal(func(session.Content) session.Content { return session.TextContent("final") })
	reconcile := tools.WithReconcile(func(context.Context, string) (tools.Result, bool, error) {
		return tools.TextResult("reconciled"), true, nil
	})
	large := strings.Repeat("z", 2*work.InlineLimit)
	for name, c := range map[string]struct {
		settings []setting
		run      func(b *bench, in work.ToolIn) work.ToolOut
		text     string
	}{
		"it runs":                       {asking(saysText), (*bench).tool, "ran y"},
		"it ran before":                 {asking(saysText), died("tool/done"), "ran y"},
		"it is settled":                 {asking(saysText), settled("tool/done"), "ran y"},
		"it may have run":               {asking(saysText), settled("tool/body-done"), session.TextToolOutcomeUnknown},
		"it says what became of it":     {asking(saysText, reconcile), settled("tool/body-done"), "reconciled"},
		"it fails":                      {asking(func(context.Context, anyArgs) (tools.Result, error) { return tools.Result{}, context.Canceled }), (*bench).tool, "Error: context canceled"},
		"a gate replaces the content":   {append(asking(saysText), replaced), (*bench).tool, "replaced"},
		"a gate blocks":                 {append(asking(saysText), post(decides(plugin.PostDecision{Block: true, Feedback: "blocked"}))), (*bench).tool, "blocked"},
		"the tool has the last say":     {asking(saysText, final), (*bench).tool, "final"},
		"the result is large":           {asking(func(context.Context, anyArgs) (tools.Result, error) { return tools.TextResult(large), nil }), (*bench).tool, large},
		"the result is a list of texts": {asking(func(context.Context, anyArgs) (tools.Result, error) { return tools.Result{}, nil }), (*bench).tool, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := called(t, c.settings...)
			in := b.editedIn()
			out := c.run(b, in)
			require.Equal(t, note+c.text, b.shownText(out.Content))
			in.Mode, in.Call.Posted, in.Out = work.ToolPost, true, &out // a stage of its own
			require.Equal(t, 1, strings.Count(b.shownText(b.tool(in).Content), editNote))
		})
	}
}

// What a program gives for a call tells of the change, too.
func TestTheResultOfAProgramTellsOfChangedArguments(t *testing.T) { // D20
	t.Parallel()
	for _, failed := range []bool{false, true} {
		b := called(t, asking(saysText)...)
		in := b.editedIn()
		in.Mode, in.Said = work.ToolCheck, &work.Said{Kind: work.WaitClient, Content: session.TextContent("mine"), IsError: failed}
		out := b.tool(in)
		require.Equal(t, work.Allow, out.Verdict, out.Reason)
		require.Equal(t, note+"mine", strings.ReplaceAll(out.Content.Text(), "Error: ", ""))
		require.Equal(t, failed, out.IsError)
	}
}

func (b *bench) shownText(content session.Content) string {
	ref, stored := storedBody(content)
	if stored {
		var err error
		content, err = b.store.Content(b.t.Context(), ref)
		require.NoError(b.t, err)
	}
	return content.Text()
}

// What did not run tells of no change, and gates see what is executed.
func TestWhatGatesSeeOfChangedArguments(t *testing.T) { // D20
	t.Parallel()
	var seen []string
	look := func(in plugin.ToolCall) { seen = append(seen, string(in.Arguments)) }
	b := called(t, append(asking(saysText), guard(func(in plugin.ToolCall) string { look(in); return "" }),
		execute(func(ctx context.Context, in plugin.ToolCall, next nextExec) (tools.Result, error) {
			look(in)
			return next(ctx)
		}),
		post(func(ctx context.Context, in plugin.ToolOutcome, next nextPost) (plugin.PostDecision, error) {
			look(in.Call)
			return next(ctx)
		}))...)
	b.tool(b.editedIn())
	require.Equal(t, []string{`{"text":"y"}`, `{"text":"y"}`, `{"text":"y"}`}, seen)

	b = called(t, append(asking(saysText), guard(func(plugin.ToolCall) string { return "never" }))...)
	require.Equal(t, "Error: never", b.tool(b.editedIn()).Content.Text())

	b = called(t, asking(saysText)...)
	in := b.editedIn()
	in.Mode = work.ToolSettle
	require.Equal(t, session.TextToolNotStarted, b.tool(in).Content.Text())
}

// After a reset the same call is not made again; with other arguments of a person's it is another one.
func TestTheLedgerKnowsWhatWasChanged(t *testing.T) { // A3.12
	t.Parallel()
	runs := 0
	b := called(t, asking(func(_ context.Context, in anyArgs) (tools.Result, error) { runs++; return saysText(t.Context(), in) })...)
	in := b.editedIn()
	b.tool(in)
	in.Before, in.Key = []string{in.Key}, in.Key+"/again"
	require.Equal(t, note+"ran y", b.tool(in).Content.Text())
	require.Equal(t, 1, runs, "the same change")
	in.Key += "/and again"
	in.Approved = &work.Approved{Digest: work.CallDigest("t", `{"text":"z"}`), Arguments: json.RawMessage(`{"text":"z"}`)}
	require.Contains(t, b.tool(in).Content.Text(), "ran z")
	require.Equal(t, 2, runs)
	note, _, err := b.store.StartNote(t.Context(), b.editedIn().Key)
	require.NoError(t, err)
	require.True(t, isTitle(note, titleOf(in.Call)), "a resumed session finds it under the model's call")
	require.False(t, isTitle(note, []byte("t {}")))
}

func TestTheManifestSaysWhatIsDeclaredAboutApprovals(t *testing.T) {
	t.Parallel()
	of := func(change func(*plugin.Definition)) work.Manifest {
		b := newBench(t, tool(saysText), define(func(d *plugin.Definition) { d.Approval = &plugin.Approval{}; change(d) }))
		return b.a.kinds[agent].manifest
	}
	plain := of(func(*plugin.Definition) {})
	require.Nil(t, plain.Approvals)
	require.Equal(t, "c86d8ffb", plain.Digest[:8], "what is not declared does not change it: agents that live are not disturbed")
	digests := map[string]bool{plain.Digest: true}
	for _, change := range []func(*plugin.Definition){
		func(d *plugin.Definition) { d.Approval.Policy = plugin.PolicyAsk },
		func(d *plugin.Definition) { d.Approval.Policy = plugin.PolicyNever },
		func(d *plugin.Definition) { d.Approval.Allow = []plugin.Rule{{Tool: "t"}} },
		func(d *plugin.Definition) { d.Tools[0].NeedsApproval = "why" },
	} {
		digests[of(change).Digest] = true
	}
	require.Len(t, digests, 5)
	m := of(func(d *plugin.Definition) {
		d.Approval.Policy, d.Approval.Allow = plugin.PolicyAllowList, []plugin.Rule{{Tool: "t", Args: map[string]string{"b": "2", "a": "1*"}}, {Tool: "u"}}
	})
	require.Equal(t, &work.Approvals{Mode: "allow-list", Allow: []work.Rule{
		{Tool: "t", Args: []work.ArgPattern{{Name: "a", Pattern: "1*"}, {Name: "b", Pattern: "2"}}}, {Tool: "u"}}}, m.Approvals)
}

func TestAResumedSessionKeepsItsPolicyAndAForkDoesNot(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	_, err := b.a.Setup(b.ctx, b.birth())
	require.NoError(t, err)
	policy := func(data string) { b.log(session.Feature{Kind: "approval/policy", Data: json.RawMessage(data)}) }
	policy(`{"policy":"always","mode":"always","rules":[]}`)
	b.turnOf("a")
	b.log(session.Feature{Kind: "plan/mode", Data: json.RawMessage(`{"active":true,"by":"ann"}`)})
	policy(`{"policy":"never","mode":"never","rules":[{"id":"rule-2","tool":"t","digest":"d"}],"given":2,"by":"ann"}`)
	parent, err := b.a.Persist(b.ctx, work.PersistIn{Ident: b.ident(), Head: b.head, Tail: b.tail, Publish: true})
	require.NoError(t, err)
	require.NotEqual(t, store.Head{}, store.Head(parent.Head))

	fork := work.SetupIn{Ident: work.Ident{Session: "fork", Definition: agent}, Spec: work.Spec{Definition: agent}, CreatedAt: 9, Fork: &work.ForkFrom{Session: sess, At: -1}}
	out, err := b.a.Setup(b.ctx, fork)
	require.NoError(t, err)
	require.Nil(t, out.Log.Policy)
	require.False(t, out.Log.Plan)
	again := work.SetupIn{Ident: work.Ident{Session: sess, Definition: agent}, Spec: work.Spec{Definition: agent}, CreatedAt: 9, Resume: &work.ResumeFrom{}}
	for range 2 { // executed again it says the same
		out, err = b.a.Setup(b.ctx, again)
		require.NoError(t, err)
		require.Equal(t, &work.Policy{Mode: "never", Rules: []work.Rule{{ID: "rule-2", Tool: "t", Digest: "d"}}, Given: 2}, out.Log.Policy)
		require.True(t, out.Log.Plan)
	}
	fork.Ident.Session, fork.Fork, fork.Resume = "fork", nil, &work.ResumeFrom{}
	out, err = b.a.Setup(b.ctx, fork)
	require.NoError(t, err)
	require.Nil(t, out.Log.Policy, "what it began with is another one's")
}
