package activities

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/tools"
)

// openURL is a tool that a program of the caller's runs.
var openURL = work.ClientTool{Name: "open_url", Description: "Opens a page.", TimeoutMS: 1500,
	Parameters: json.RawMessage(`{"type":"object","properties":{"url":{"type":"string"}},"required":["url"]}`)}

func withClientTools(all ...work.ClientTool) work.Spec {
	s := good
	s.ClientTools = all
	return s
}

func TestToolsOfTheCallersAreOfferedLikeOthers(t *testing.T) { // §8.2
	t.Parallel()
	b := newBench(t, recordable(), script("tool c1 open_url {\"url\":\"x\"} tool c2 open_url {} tool c3 beep {}"))
	s := withClientTools(openURL, work.ClientTool{Name: "beep", Parallel: true})
	s.Tools = &work.ToolFilter{Allow: []string{"read"}} // is about the definition's
	id := b.born(s)
	b.say("m")
	in := b.in()
	in.Ident = id
	out := b.run(in)
	var names []string
	for _, tool := range b.requests()[0].Tools {
		names = append(names, tool.Name)
	}
	require.Equal(t, []string{"beep", "open_url", "read"}, names)
	require.Equal(t, []bool{false, false, true}, []bool{out.Calls[0].Parallel, out.Calls[1].Parallel, out.Calls[2].Parallel})
	run := func(n int) work.ToolOut {
		got, err := b.a.Tool(b.ctx, work.ToolIn{ID: "t", Ident: id, Turn: 1, Step: 1, Call: out.Calls[n], Key: out.Calls[n].ID})
		require.NoError(t, err)
		return got
	}
	got := run(0)
	require.Equal(t, &work.Deferral{Kind: work.WaitClient}, got.Defer)
	require.Equal(t, int64(1500), got.DeadlineMS)
	got = run(1)
	require.Nil(t, got.Defer, "nobody is asked to run what does not fit")
	require.Equal(t, tools.InvalidArgs, got.Error.Code)
	require.Equal(t, `Error: invalid arguments for tool "open_url": field "url": required, but missing`, got.Content.Text())
	require.Equal(t, tools.DefaultOutside.Milliseconds(), run(2).DeadlineMS)
}

func TestToolsOfTheCallersThatCannotBeOffered(t *testing.T) { // §6.1.1
	t.Parallel()
	with := func(change func(*work.ClientTool)) []work.ClientTool {
		c := openURL
		change(&c)
		return []work.ClientTool{c}
	}
	for want, all := range map[string][]work.ClientTool{
		`clientTools[0] "read": definition "tester" has a tool of that name`:     with(func(c *work.ClientTool) { c.Name = "read" }),
		`clientTools[0] "write": definition "tester" has a tool of that name`:    with(func(c *work.ClientTool) { c.Name = "write" }), // hidden, but the definition's
		`clientTools[0] "open url": tool "open url": the name must be`:           with(func(c *work.ClientTool) { c.Name = "open url" }),
		`clientTools[0] "": tool "": the name must be`:                           with(func(c *work.ClientTool) { c.Name = "" }),
		`clientTools[0] "open_url": timeoutMs is -1`:                             with(func(c *work.ClientTool) { c.TimeoutMS = -1 }),
		`clientTools[0] "open_url": parameters: read the schema`:                 with(func(c *work.ClientTool) { c.Parameters = json.RawMessage(`[]`) }),
		`clientTools[0] "open_url": parameters: the schema must have "type": "o`: with(func(c *work.ClientTool) { c.Parameters = json.RawMessage(`{"type":"string"}`) }),
		`clientTools[0] "open_url": parameters: resolve the schema`: with(func(c *work.ClientTool) {
			c.Parameters = json.RawMessage(`{"type":"object","properties":{"a":{"$ref":"#/nowhere"}}}`)
		}),
		`clientTools[0] "open_url": description: use at most`: with(func(c *work.ClientTool) { c.Description = strings.Repeat("x", maxClientDescription+1) }),
		`clientTools[1] "open_url": it is there twice`:        {openURL, openURL},
		`clientTools: 65 are too many`:                        make([]work.ClientTool, 65),
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, recordable())
			in := b.birth()
			in.Spec = withClientTools(all...)
			_, err := b.a.Setup(b.ctx, in)
			require.ErrorContains(t, err, want)
			var refusal *Refusal
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, work.ErrInvalidSpec, refusal.Kind)
		})
	}
}

// A deployment may give the definition a tool of the same name: that one counts, and the agent goes on.
func TestTheDefinitionsToolCountsIfItCameLater(t *testing.T) { // A3.12
	t.Parallel()
	b := newBench(t, recordable())
	own := openURL
	own.Name = "read"
	k := b.a.kinds[agent].of(withClientTools(own, openURL))
	read, _ := k.set.Get("read")
	require.Equal(t, tools.Once, read.Effect)
	_, there := k.set.Get("open_url")
	require.True(t, there)
}

func TestRecordedDataWithoutToolsOfTheCallersIsWhatItWas(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(good)
	require.NoError(t, err)
	require.NotContains(t, string(raw), "clientTools")
	changed, err := patched(good, json.RawMessage(`{"clientTools":[{"name":"beep"}]}`))
	require.NoError(t, err)
	require.Equal(t, []work.ClientTool{{Name: "beep"}}, changed.ClientTools)
	back, err := patched(changed, json.RawMessage(`{"clientTools":null}`))
	require.NoError(t, err)
	require.Equal(t, good, back)
}

// result is what a program gave as the result of call c1 of tool t.
func (b *bench) result(said work.Said) work.ToolIn {
	in := b.call("t", "{}")
	said.Kind = work.WaitClient
	in.Mode, in.Said = work.ToolCheck, &said
	return in
}

func TestWhatTheModelReadsOfAResult(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		said work.Said
		want work.ToolOut
	}{
		"text":    {work.Said{Content: session.TextContent("hi")}, work.ToolOut{Content: session.TextContent("hi")}},
		"a value": {work.Said{Value: json.RawMessage(`{"b": 1, "a": "<"}`)}, work.ToolOut{Content: session.TextContent(`{"b":1,"a":"<"}`)}},
		"failed":  {work.Said{Content: session.TextContent("no page"), IsError: true}, work.ToolOut{Content: session.TextContent("no page"), IsError: true}},
	} {
		b := called(t)
		out := b.tool(b.result(tt.said))
		tt.want.Verdict, tt.want.Worker = work.Allow, out.Worker
		require.Equal(t, tt.want, out, name)
	}
}

func TestALargeResultIsStoredAndProjected(t *testing.T) { // §9.4
	t.Parallel()
	b := called(t, define(func(d *plugin.Definition) { d.MaxResultBytes = 1000 }))
	text := strings.Repeat("line\n", 2000)
	ref, err := b.a.storeContent(b.ctx, session.TextContent(text))
	require.NoError(t, err)
	out := b.tool(b.result(work.Said{Content: session.Content{ref}}))
	require.Equal(t, work.Allow, out.Verdict, out.Reason)
	require.Equal(t, session.Content{ref}, out.Content)
	require.Contains(t, out.Projection.Text(), "are left out here")
}

func TestAResultThatNobodyCouldRead(t *testing.T) {
	t.Parallel()
	missing := session.Artifact{SHA256: strings.Repeat("0", 64), Bytes: 9, MediaType: session.StoredContent}
	for want, said := range map[string]work.Said{
		"the result's body is not in this worker's store": {Content: session.Content{missing}},
		"content block 0": {Content: session.Content{session.Reasoning{Text: "x"}}},
		"the tool answered with 5000000 bytes of text": {Content: session.TextContent(strings.Repeat("x", 5_000_000))},
		"answered with something that cannot be shown": {Value: json.RawMessage(`{`)},
	} {
		b := called(t)
		out := b.tool(b.result(said))
		require.Equal(t, work.Deny, out.Verdict, want)
		require.Contains(t, out.Reason, want)
		require.Empty(t, out.Content)
	}
}

// A tool of the definition may have told a program outside what to do, and waits for what becomes of it.
func TestACallThatIsHandedOutside(t *testing.T) { // A3.7
	t.Parallel()
	b := called(t, tool(func(context.Context, anyArgs) (tools.Result, error) {
		return tools.Result{Outside: &tools.Outside{}}, nil
	}))
	out := b.tool(b.call("t", "{}"))
	require.Equal(t, &work.Deferral{Kind: work.WaitClient}, out.Defer)
	require.Zero(t, out.DeadlineMS)
}
