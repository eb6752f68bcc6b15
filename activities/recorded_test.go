package activities

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/tools"
)

// recordable is a definition that takes all there is to record.
func recordable() setting {
	type none struct{}
	return define(func(d *plugin.Definition) {
		d.Params = json.RawMessage(`{"type":"object","properties":{"repo":{"type":"string"}},"required":["repo"]}`)
		d.Sections = []plugin.Section{{Name: "house", Order: 10, Text: "Be brief."}, {Name: "repo", Order: 20,
			Render: func(_ context.Context, v plugin.View) (string, error) { return "params " + string(v.Params), nil }}}
		d.Variables = map[string]plugin.Variable{"day": func(context.Context, plugin.View) (string, error) { return "Monday", nil }}
		for _, name := range []string{"read", "write"} {
			d.Tools = append(d.Tools, tools.Must(tools.New(name, "A tool.", func(ctx context.Context, _ none) (string, error) {
				call, _ := tools.CallFrom(ctx)
				return name + " with " + string(call.Params), nil
			})))
		}
	})
}

var good = work.Spec{Definition: agent, Params: json.RawMessage(`{"repo":"x"}`),
	Sections: []work.Section{{Name: "house", Order: 30, Text: "Be long on {{day}}."}, {Name: "own", Order: 15, Text: "Mine."}},
	Tools:    &work.ToolFilter{Deny: []string{"write"}}, Metadata: map[string]string{"team": "blue"}}

// born is an agent with recorded data.
func (b *bench) born(s work.Spec) work.Ident {
	b.t.Helper()
	in := b.birth()
	in.Spec = s
	out, err := b.a.Setup(b.ctx, in)
	require.NoError(b.t, err)
	id := b.ident()
	id.Spec = out.Spec
	return id
}

func TestRecordedDataThatTheDefinitionDoesNotTake(t *testing.T) { // §6.1.1, A3.12
	t.Parallel()
	long := strings.Repeat("x", work.ParamsLimit)
	for name, c := range map[string]struct {
		change func(*work.Spec)
		says   string
	}{
		"params that are no object":      {func(s *work.Spec) { s.Params = json.RawMessage(`[1]`) }, "params: not a JSON object"},
		"params that do not fit":         {func(s *work.Spec) { s.Params = json.RawMessage(`{"repo":7}`) }, "params: repo:"},
		"params that lack something":     {func(s *work.Spec) { s.Params = nil }, "params: repo: required, but missing"},
		"params that cannot be kept":     {func(s *work.Spec) { s.Params = json.RawMessage(`{"repo":"x","n":-0}`) }, "params: the number -0"},
		"large params":                   {func(s *work.Spec) { s.Params = json.RawMessage(`{"repo":"` + long + `"}`) }, "params take"},
		"a section twice":                {func(s *work.Spec) { s.Sections[1].Name = "house" }, `sections[1] "house": name: it is there twice`},
		"a section without a name":       {func(s *work.Spec) { s.Sections[0].Name = "" }, "sections[0] \"\": name"},
		"a section with a bad reference": {func(s *work.Spec) { s.Sections[0].Text = "{{nobody}}" }, `sections[0] "house": text: unknown variable "nobody"`},
		"a large section":                {func(s *work.Spec) { s.Sections[0].Text = strings.Repeat("x", work.SectionLimit+1) }, "text takes"},
		"an unknown tool":                {func(s *work.Spec) { s.Tools.Deny = []string{"wrote"} }, `tools.deny: definition "tester" has no tool "wrote", it has read, write`},
		"an unknown allowed tool":        {func(s *work.Spec) { s.Tools.Allow = []string{"raed"} }, `tools.allow: definition "tester" has no tool "raed"`},
		"a queue with a line break":      {func(s *work.Spec) { s.Queue = "a\nb" }, "queue is"},
		"much metadata":                  {func(s *work.Spec) { s.Metadata["x"] = strings.Repeat("x", work.MetadataLimit) }, "metadata takes"},
		"metadata without a key":         {func(s *work.Spec) { s.Metadata[""] = "x" }, "metadata: key"},
		"a long title":                   {func(s *work.Spec) { s.Title = strings.Repeat("x", maxTitle+1) }, "title takes"},
		"all of it too large": {func(s *work.Spec) {
			for _, name := range []string{"a", "b", "c", "d", "e"} {
				s.Sections = append(s.Sections, work.Section{Name: name, Text: strings.Repeat("x", work.SectionLimit)})
			}
		}, "the recorded data takes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, recordable())
			in := b.birth()
			in.Spec = copyOf(t, good)
			c.change(&in.Spec)
			_, err := b.a.Setup(b.ctx, in)
			require.ErrorContains(t, err, c.says)
			var refusal *Refusal
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, work.ErrInvalidSpec, refusal.Kind)
			_, err = b.store.Header(t.Context(), sess)
			require.ErrorIs(t, err, store.ErrNotFound, "nothing was published")
		})
	}
}

func copyOf(t *testing.T, s work.Spec) (out work.Spec) {
	raw, err := json.Marshal(s)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(raw, &out))
	return out
}

func TestNothingIsAddedToACompletePrompt(t *testing.T) { // §8.1
	t.Parallel()
	b := newBench(t, define(func(d *plugin.Definition) { d.Sections = []plugin.Section{{Name: "all", Text: "x", Complete: true}} }))
	in := b.birth()
	in.Spec.Sections = []work.Section{{Name: "all", Text: "mine"}}
	_, err := b.a.Setup(b.ctx, in)
	require.ErrorContains(t, err, `section "all" of the definition is the entire prompt`)
}

func TestAnAgentHasItsOwnSectionsToolsAndParams(t *testing.T) { // §8.1, §8.2
	t.Parallel()
	b := newBench(t, recordable(), script("tool r read {} tool w write {}"))
	id := b.born(good)
	b.say("m")
	in := b.in()
	in.Ident = id
	out := b.run(in)
	request := b.requests()[0]
	require.Equal(t, "Mine.\n\nparams {\"repo\":\"x\"}\n\nBe long on Monday.", request.System)
	require.Len(t, request.Tools, 1)
	require.Equal(t, "read", request.Tools[0].Name)
	require.Len(t, out.Calls, 2)
	for i, want := range []string{`read with {"repo":"x"}`, `Error: unknown tool "write"`} {
		got, err := b.a.Tool(b.ctx, work.ToolIn{ID: "t", Ident: id, Turn: 1, Step: 1, Call: out.Calls[i], Key: out.Calls[i].ID})
		require.NoError(t, err)
		require.Equal(t, want, got.Content.Text())
		if i == 1 {
			require.Equal(t, work.CodeUnknownTool, got.Error.Code)
		}
	}
}

func TestAnEmptyListAllowsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t, recordable())
	s := good
	s.Tools = &work.ToolFilter{Allow: []string{}}
	id := b.born(s)
	b.a.specs = specCache{} // as another worker
	b.say("m")
	in := b.in()
	in.Ident = id
	b.run(in)
	require.Empty(t, b.requests()[0].Tools)
}

func TestAChangeOfRecordedData(t *testing.T) { // A3.12
	t.Parallel()
	for name, c := range map[string]struct{ patch, want, says string }{
		"a value":                 {`{"model":"other","requestId":"r"}`, `{"definition":"d","model":"other","params":{"a":1,"b":{"c":2}},"metadata":{"k":"v"}}`, ""},
		"back":                    {`{"model":null}`, `{"definition":"d","params":{"a":1,"b":{"c":2}},"metadata":{"k":"v"}}`, ""},
		"a key":                   {`{"params":{"a":null,"b":{"d":3}}}`, `{"definition":"d","model":"m","params":{"b":{"d":3}},"metadata":{"k":"v"}}`, ""},
		"the last key":            {`{"metadata":{"k":null}}`, `{"definition":"d","model":"m","params":{"a":1,"b":{"c":2}}}`, ""},
		"an object back":          {`{"params":null}`, `{"definition":"d","model":"m","metadata":{"k":"v"}}`, ""},
		"no tools":                {`{"tools":{"allow":[]}}`, `{"definition":"d","model":"m","params":{"a":1,"b":{"c":2}},"tools":{"allow":[]},"metadata":{"k":"v"}}`, ""},
		"what cannot change":      {`{"cwd":"/"}`, "", "cwd belongs to the session"},
		"another type":            {`{"maxTokens":"many"}`, "", "maxTokens: a string is no int"},
		"params of another":       {`{"params":[1]}`, "", "params: not a JSON object"},
		"nothing":                 {`{"modell":"x"}`, "", "names no field"},
		"something not an object": {`7`, "", "not a JSON object"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := work.Spec{Definition: "d", Model: "m", Params: json.RawMessage(`{"a":1,"b":{"c":2}}`), Metadata: map[string]string{"k": "v"}}
			got, err := patched(base, json.RawMessage(c.patch))
			if c.says != "" {
				require.ErrorContains(t, err, c.says)
				return
			}
			require.NoError(t, err)
			raw, err := json.Marshal(got)
			require.NoError(t, err)
			require.Equal(t, c.want, string(raw))
		})
	}
}

func TestConfigureStoresWhatTheDefinitionTakes(t *testing.T) {
	t.Parallel()
	b := newBench(t, recordable())
	id := b.born(good)
	out, err := b.a.Configure(b.ctx, work.ConfigureIn{ID: "c", Ident: id, Base: id.Spec, Patch: json.RawMessage(`{"title":"t","queue":"q"}`)})
	require.NoError(t, err)
	require.Empty(t, out.Code, out.Message)
	require.Equal(t, &work.Recorded{Spec: out.Recorded.Spec, Title: "t", Queue: "q", Metadata: json.RawMessage(`{"team":"blue"}`)}, out.Recorded)

	next, err := b.a.Configure(b.ctx, work.ConfigureIn{ID: "c", Ident: id, Base: out.Recorded.Spec, Patch: json.RawMessage(`{"model":"other"}`)})
	require.NoError(t, err)
	require.True(t, next.Recorded.Rerouted)
	require.Equal(t, "t", next.Recorded.Title, "on top of the change before")

	refused, err := b.a.Configure(b.ctx, work.ConfigureIn{ID: "c", Ident: id, Base: id.Spec, Patch: json.RawMessage(`{"params":{"repo":null}}`)})
	require.NoError(t, err)
	require.Nil(t, refused.Recorded)
	require.Equal(t, work.ErrInvalidSpec, refused.Code)
	require.Contains(t, refused.Message, "params: repo: required, but missing")
}

func TestANewRouteIsDeclaredForOneRequest(t *testing.T) { // §4.5.1, §8.3
	t.Parallel()
	b := newBench(t)
	id := b.born(work.Spec{Definition: agent, ReasoningEffort: "high"})
	turn := func(rerouted bool) session.CallConfig {
		b.say("m" + string(rune('a'+b.turn)))
		in := b.in()
		in.Ident, in.Rerouted = id, rerouted
		b.run(in)
		b.closeTurn()
		return b.fold().LastHeader().Header.Config
	}
	require.Equal(t, session.CallConfig{Provider: "scripted", Model: "test", ReasoningEffort: "high"}, turn(false))
	out, err := b.a.Configure(b.ctx, work.ConfigureIn{Ident: id, Base: id.Spec, Patch: json.RawMessage(`{"model":"other","reasoningEffort":null}`)})
	require.NoError(t, err)
	id.Spec = out.Recorded.Spec
	require.Equal(t, "test", turn(false).Model, "the last header counts")
	require.Equal(t, session.CallConfig{Provider: "scripted", Model: "other"}, turn(true))
	require.Equal(t, "other", turn(false).Model)
	headers := events[session.RequestHeader](b)
	require.Len(t, headers, 2)
	require.Equal(t, session.HeaderChange, headers[1].Reason)
}

func TestAWorkerTellsItsManifestToAStateThatGoesByAnother(t *testing.T) { // A3.12
	t.Parallel()
	b := newBench(t, define(func(d *plugin.Definition) {
		d.TurnStopping = []plugin.Hook{func(context.Context, plugin.Moment) error { return nil }}
	}))
	k := b.a.kinds[agent]
	in := work.HookIn{ID: "h", Ident: b.ident(), Point: work.HookTurnStopping, Turn: 1, N: 1}
	for digest, want := range map[string]bool{"": false, k.manifest.Digest: false, "old": true} {
		in.Ident.Manifest = digest
		out, err := b.a.Hook(b.ctx, in)
		require.NoError(t, err)
		require.Equal(t, want, out.Worker.Refresh != nil, digest)
		if want {
			require.True(t, out.Worker.Refresh.TurnStopping)
			require.Equal(t, k.manifest.Digest, out.Worker.Refresh.Digest)
		}
	}
}

func TestAnOldWorkerLeavesTheWorkToANewerOne(t *testing.T) { // A3.12
	t.Parallel()
	b := newBench(t)
	b.say("m")
	in := b.in()
	in.Ident.Rules = work.Rules + 1
	_, err := b.a.Step(b.ctx, in)
	require.ErrorContains(t, err, work.ErrWorkerTooOld)
	var refusal *Refusal
	require.NotErrorAs(t, err, &refusal, "another worker is to try it")
	require.Empty(t, b.requests())
	in.Ident.Rules = work.Rules
	require.Equal(t, work.StepMessage, b.run(in).Outcome)
}
