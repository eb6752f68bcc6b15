package activities

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/tools"
)

type nextRequest = func(context.Context, plugin.RequestProposal) (session.CallConfig, error)

func requestGate(g plugin.RequestGate) setting {
	return define(func(d *plugin.Definition) { d.Request = []plugin.RequestGate{g} })
}

const answers = "text \"1\"\ntext \"2\"\ntext \"3\"\ntext \"4\"\ntext \"5\""

func TestHeaderAndContextAreLoggedOnce(t *testing.T) { // C-070, C-071, C-085
	t.Parallel()
	b := newBench(t, script(answers))
	b.turnOf("a")
	b.turnOf("b")
	require.Equal(t, "IS+(next-turn:a) TS1 IS-(next-turn:1) SS1.1 UM(a) RH(initial) RC CH×4 AM SE TE(completed) "+
		"IS+(next-turn:b) TS2 IS-(next-turn:1) SS2.1 UM(b) CH×4 AM SE TE(completed)", b.trace())
	b.reconstructed()
}

// prompts makes the prompt of turn n the n-th text.
func prompts(texts ...string) setting {
	return define(func(d *plugin.Definition) {
		d.Sections = []plugin.Section{{Name: "p", Render: func(_ context.Context, v plugin.View) (string, error) { return texts[v.Turn-1], nil }}}
	})
}

func TestThePromptIsReconciledWithItsRoute(t *testing.T) { // C-072 to C-076, §8.4
	t.Parallel()
	for name, c := range map[string]struct {
		update bool // the route can read a later system message
		texts  []string
		traces []string // per turn, from step/start on
	}{
		"a route without updates": {false, []string{"one", "two", "two"},
			[]string{"UM(a) RH(initial) RC", "UM(b) RH(change)", "UM(c)"}},
		"a route with updates": {true, []string{"one", "two", "two"},
			[]string{"UM(a) RH(initial) RC", "SYS UM(b)", "UM(c)"}},
		"the prompt becomes empty": {true, []string{"one", "two", ""},
			[]string{"UM(a) RH(initial) RC", "SYS UM(b)", "SYS∅~ UM(c) RH(change,series)"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, script(answers), prompts(c.texts...), route(func(m *scripted.Model) { m.SystemPromptUpdate = c.update }))
			for i, id := range []string{"a", "b", "c"} {
				b.turnOf(id)
				require.Contains(t, b.own(), " "+c.traces[i]+" CH×4", "turn %d", i+1)
			}
			b.reconstructed()
		})
	}
}

func TestARequestGateMaySubstituteTheRoute(t *testing.T) { // C-077
	t.Parallel()
	b := newBench(t, script(answers), requestGate(func(ctx context.Context, in plugin.RequestProposal, next nextRequest) (session.CallConfig, error) {
		config, err := next(ctx, in)
		if in.View.Turn == 2 {
			config.Model = "other"
		}
		return config, err
	}))
	b.turnOf("a")
	out := b.turnOf("b")
	require.Equal(t, "scripted/other", out.Model)
	require.Equal(t, "other", b.requests()[1].Config.Model)
	require.Equal(t, "TS2 IS-(next-turn:1) SS2.1 UM(b) RH(change) RC CH×4 AM SE TE(completed)", b.own())
	b.reconstructed()
}

func TestARequestThatCannotBeProposedFailsInsideItsStep(t *testing.T) { // C-078, C-079, C-088, C-090, C-135, C-219
	t.Parallel()
	const entered = "TS1 IS-(next-turn:1) SS1.1"
	for name, c := range map[string]struct {
		set       setting
		code      string
		says      string
		trace     string
		committed bool
	}{
		"the gate fails": {requestGate(func(context.Context, plugin.RequestProposal, nextRequest) (session.CallConfig, error) {
			return session.CallConfig{}, errors.New("broken gate")
		}), work.CodeUnknown, "broken gate", entered, false},
		"the gate changes its seed in place": {define(func(d *plugin.Definition) {
			d.Request = []plugin.RequestGate{
				func(ctx context.Context, in plugin.RequestProposal, next nextRequest) (session.CallConfig, error) {
					in.Config.Stop = []string{"a"}
					return next(ctx, in)
				},
				func(ctx context.Context, in plugin.RequestProposal, next nextRequest) (session.CallConfig, error) {
					in.Config.Stop[0] = "b"
					return next(ctx, in)
				},
			}
		}), work.CodeUnknown, "changed its copy in place", entered, false},
		"no route": {define(func(d *plugin.Definition) { d.Provider, d.Model = "", "" }), "INVALID_REQUEST", "provider/model", entered, false},
		"preparation fails": {route(func(m *scripted.Model) {
			m.PrepareFailure = &session.Failure{Code: "MISSING_CREDENTIAL", Message: "set a key"}
		}), "MISSING_CREDENTIAL", "set a key", entered, false},
		"an unknown provider": {define(func(d *plugin.Definition) { d.Provider = "nobody" }), "NO_ADAPTER", "nobody", entered + " UM(a) RH(initial) RC", true},
		"an unknown model":    {define(func(d *plugin.Definition) { d.Model = "nosuch" }), "NO_ADAPTER", "nosuch", entered + " UM(a) RH(initial) RC", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, c.set)
			b.say("a")
			out := b.next()
			require.Equal(t, work.StepFailed, out.Outcome)
			require.Equal(t, c.trace, b.own())
			require.Equal(t, c.code, out.Failure.Code)
			require.Contains(t, out.Failure.Message, c.says)
			require.True(t, out.Entered)
			require.Equal(t, c.committed, out.Committed)
			require.Empty(t, b.requests())
		})
	}
}

func TestARouteThatSaysNoMoreClearsWhatItSaid(t *testing.T) { // C-086
	t.Parallel()
	b := newBench(t)
	b.turnOf("a")
	b.use(&plugin.Definition{Name: agent, Provider: "scripted", Model: "test"}, scripted.Model{Script: scripted.MustParse(answers), ContextWindow: -1})
	b.turnOf("b")
	contexts := events[session.RequestContext](b)
	require.Len(t, contexts, 2)
	require.Equal(t, scripted.DefaultContextWindow, contexts[0].ContextWindow)
	require.Zero(t, contexts[1].ContextWindow)
	require.Len(t, events[session.RequestHeader](b), 1)
}

func TestARequestGateMaySupplyTheRoute(t *testing.T) { // C-080
	t.Parallel()
	b := newBench(t, define(func(d *plugin.Definition) { d.Provider, d.Model = "", "" }),
		requestGate(func(context.Context, plugin.RequestProposal, nextRequest) (session.CallConfig, error) {
			return session.CallConfig{Provider: "scripted", Model: "test"}, nil
		}))
	b.say("a")
	require.Equal(t, work.StepMessage, b.next().Outcome)
}

func TestDefaultsOfTheRouteAreMarked(t *testing.T) { // C-081, C-083
	t.Parallel()
	b := newBench(t, script(answers), route(func(m *scripted.Model) { m.ReasoningEffort, m.MaxTokens = "high", 256000 }),
		define(func(d *plugin.Definition) { d.MaxTokens = 4096 }),
		requestGate(func(ctx context.Context, in plugin.RequestProposal, next nextRequest) (session.CallConfig, error) {
			config, err := next(ctx, in)
			if in.View.Turn == 2 {
				config.ReasoningEffort = "max"
			}
			return config, err
		}))
	b.turnOf("a")
	b.turnOf("b")
	headers := events[session.RequestHeader](b)
	require.Len(t, headers, 2)
	require.Equal(t, &session.AdapterDefaults{ReasoningEffort: true}, headers[0].Header.AdapterDefaults)
	require.Equal(t, 4096, headers[0].Header.Config.MaxTokens)
	require.Equal(t, "max", headers[1].Header.Config.ReasoningEffort)
	require.Nil(t, headers[1].Header.AdapterDefaults)
	require.Equal(t, session.HeaderChange, headers[1].Reason)
	b.reconstructed()
}

func TestAResumedLogBeginsWithAHeader(t *testing.T) { // C-302
	t.Parallel()
	b := newBench(t, script(answers))
	b.turnOf("a")
	b.log(session.EndSeed{})
	b.turnOf("b")
	require.Equal(t, "TS2 IS-(next-turn:1) SS2.1 UM(b) RH(resume) CH×4 AM SE TE(completed)", b.own())
	b.reconstructed()
}

func TestToolsAreToldInTheirOrder(t *testing.T) { // C-094, C-095
	t.Parallel()
	named := func(name string) *tools.Tool { t := echoTool(); t.Name = name; return t }
	for name, c := range map[string]struct {
		order []string
		want  []string
	}{
		"by name":          {nil, []string{"a", "m", "z"}},
		"configured first": {[]string{"z", "*"}, []string{"z", "a", "m"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, define(func(d *plugin.Definition) {
				d.Tools, d.ToolOrder = []*tools.Tool{named("z"), named("a"), named("m")}, c.order
			}))
			b.say("a")
			b.next()
			var got []string
			for _, tool := range b.requests()[0].Tools {
				got = append(got, tool.Name)
			}
			require.Equal(t, c.want, got)
			b.reconstructed()
		})
	}
}

func TestTheSpecOverridesTheDefinition(t *testing.T) {
	t.Parallel()
	b := newBench(t, define(func(d *plugin.Definition) { d.ReasoningEffort, d.MaxTokens = "low", 10 }))
	hash, err := b.a.putSpec(t.Context(), work.Spec{Model: "other", MaxTokens: 20, CWD: "/somewhere"})
	require.NoError(t, err)
	b.a.specs = specCache{} // as after a restart
	b.say("a")
	in := b.in()
	in.Ident.Spec = hash
	b.run(in)
	require.Equal(t, session.CallConfig{Provider: "scripted", Model: "other", ReasoningEffort: "low", MaxTokens: 20}, b.requests()[0].Config)
}

func TestARouteWithoutEyesReadsAStandIn(t *testing.T) { // §9.5
	t.Parallel()
	image := session.Image{Attachment: "abc", MediaType: "image/png"}
	for _, eyes := range []bool{true, false} {
		b := newBench(t, route(func(m *scripted.Model) { m.Images = eyes }))
		b.log(session.InboxSpliced{Target: session.NextTurn, Inserted: []session.Message{{
			ID: "a", Role: session.RoleUser, Content: session.Content{session.Text{Text: "look"}, image}, Source: session.Source{Kind: session.SourceUser}}}})
		b.openTurn()
		b.next()
		got := b.requests()[0].Messages[0].Content
		if eyes {
			require.Equal(t, image, got[1])
		} else {
			require.Equal(t, session.Text{Text: ImageStandIn}, got[1])
		}
		require.Equal(t, image, events[session.UserMessage](b)[0].Content[1])
	}
}

func TestARequestThatDiffersFromItsLogIsFound(t *testing.T) { // §4.6.2, C-092
	t.Parallel()
	b := newBench(t)
	b.turnOf("a")
	made := RequestAt(b.fold(), sess)
	require.Empty(t, differs(made, RequestAt(b.fold(), sess)))
	for what, change := range map[string]func(){
		"its configuration": func() { made.Config.Model = "x" },
		"its system prompt": func() { made.System = "x" },
		"its tools":         func() { made.Tools = []session.ToolSchema{{Name: "x"}} },
		"its messages":      func() { made.Messages = made.Messages[1:] },
	} {
		made = RequestAt(b.fold(), sess)
		change()
		require.Equal(t, what, differs(made, RequestAt(b.fold(), sess)))
	}
}
