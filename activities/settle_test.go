package activities

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/stream"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/tools"
)

func TestEveryOutcomeOfAModelCallHasItsSettlement(t *testing.T) { // §4.7.3
	t.Parallel()
	for name, c := range map[string]struct {
		script  string
		trace   string
		outcome string
		finish  session.FinishKind
		code    string
	}{
		"stop":                  {`text "hi"`, "CH×4 AM", work.StepMessage, session.FinishStop, ""},
		"tool calls":            {`tool c1 echo {"text":"x"}`, "CH×4 AM", work.StepMessage, session.FinishToolCalls, ""},
		"no finish":             {`text "hi" cut`, "CH×2 AM", work.StepMessage, session.FinishStop, ""},
		"finish only, C-120":    {`empty`, "CH×1 AM∅", work.StepMessage, session.FinishStop, ""},
		"no chunk, C-121":       {`none`, "AM∅", work.StepMessage, session.FinishStop, ""},
		"max-tokens, C-122":     {`text "hi" max-tokens`, "CH×4 AM", work.StepMessage, session.FinishMaxTokens, ""},
		"cut call, C-123":       {`tool c1 echo {"text":"x"} max-tokens`, "CH×4 AM∅", work.StepMessage, session.FinishMaxTokens, ""},
		"error, C-128":          {`text "hi" open error AUTH "no key"`, "CH×2 AA", work.StepAttempt, "", "AUTH"},
		"aborted, C-129":        {`text "hi" open abort`, "CH×2 AA", work.StepAttempt, "", "ABORTED"},
		"thrown, C-130":         {`text "hi" open throw AUTH "no key"`, "CH×2 AA", work.StepAttempt, "", "AUTH"},
		"failed before a chunk": {`fail-start INVALID_REQUEST "bad"`, "CH×1 AA", work.StepAttempt, "", "INVALID_REQUEST"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, script(c.script), define(func(d *plugin.Definition) { d.Tools = []*tools.Tool{echoTool()} }))
			b.say("a")
			out := b.next()
			require.Equal(t, "TS1 IS-(next-turn:1) SS1.1 UM(a) RH(initial) RC "+c.trace, b.own())
			require.Equal(t, c.outcome, out.Outcome)
			require.Equal(t, c.finish, out.Finish)
			require.Equal(t, []string{"a"}, out.Users)
			require.True(t, out.Entered && out.Committed)
			if c.code != "" {
				require.Equal(t, c.code, out.Failure.Code)
				require.Equal(t, out.Failure, events[session.AssistantAttempt](b)[0].Failure)
				require.Nil(t, out.Recovery)
			}
			require.Len(t, b.requests(), 1)
		})
	}
}

func TestAMessageCitesItsChunksAndCarriesUsage(t *testing.T) { // C-003, C-009, C-120, C-121
	t.Parallel()
	for name, c := range map[string]struct {
		script string
		cites  int
		usage  bool
	}{
		"text":        {`text "hello" chunks=2`, 5, true},
		"finish only": {`empty`, 1, false},
		"nothing":     {`none`, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, script(c.script))
			b.say("a")
			out := b.next()
			log := b.records()
			last := log[len(log)-1]
			require.NotNil(t, last.Sources)
			require.Len(t, last.Sources, c.cites)
			require.Equal(t, c.usage, out.Usage != nil)
			m := last.Event.(session.AssistantMessage)
			require.Equal(t, out.Usage, m.Usage)
			require.Equal(t, "a1.1", m.Message.ID)
			require.Equal(t, session.Source{Kind: session.SourceModel, Provider: "scripted", Model: "test"}, m.Message.Source)
		})
	}
}

func TestCallsTravelWithTheTraitsOfTheirTools(t *testing.T) {
	t.Parallel()
	wild := echoTool(tools.ParallelIf(func(json.RawMessage) bool { panic("no idea") }))
	wild.Name = "wild"
	b := newBench(t, script(`tool c1 echo {"text":"x"} tool c2 wild {"text":"x"} tool c3 nosuch {} tool c4 echo "not json"`),
		define(func(d *plugin.Definition) {
			d.Tools = []*tools.Tool{echoTool(tools.ParallelSafe(), tools.WithEffect(tools.Pure), tools.WithQueue("q")), wild}
		}))
	b.say("a")
	out := b.next()
	require.Equal(t, []work.Call{
		{ID: "c1", Name: "echo", Arguments: `{"text":"x"}`, Parallel: true, Effect: "pure", TimeoutMS: 300000, Queue: "q"},
		{ID: "c2", Name: "wild", Arguments: `{"text":"x"}`, Effect: "once", TimeoutMS: 300000},
		{ID: "c3", Name: "nosuch", Arguments: `{}`, Effect: "once"},
		{ID: "c4", Name: "echo", Arguments: `not json`, Effect: "pure", TimeoutMS: 300000, Queue: "q"},
	}, out.Calls)
}

func TestFramesFrameAnAttempt(t *testing.T) { // C-138
	t.Parallel()
	b := newBench(t)
	b.say("a")
	b.next()
	require.Equal(t, []stream.Kind{stream.KindStart, stream.KindChunk, stream.KindEnd}, b.frames.kinds())
	for i, f := range b.frames.all {
		require.Equal(t, i, f.N)
		require.Equal(t, "sess/1.1/1.1", f.AttemptID)
	}
	end := b.frames.all[len(b.frames.all)-1]
	require.Equal(t, &stream.Outcome{Kind: stream.Committed, EventType: "assistant/message", Seq: b.head.Count - 1}, end.Outcome)
}
