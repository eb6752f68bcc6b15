package activities

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
	"github.com/everturn/everturn/tools"
)

// childLog writes a log of a session "k", with a step around every message, and returns its head.
func (b *bench) childLog(events ...session.Event) work.Head {
	b.t.Helper()
	require.NoError(b.t, b.store.ClaimEpoch(b.ctx, "k", 1, "test"))
	in := work.PersistIn{Ident: b.ident()}
	in.Ident.Session = "k"
	step := 0
	add := func(e session.Event) {
		r := session.NewRecord(1764500000000, e)
		r.Seq = int64(len(in.Tail))
		in.Tail = append(in.Tail, r)
	}
	for _, e := range events {
		said, ok := e.(session.AssistantMessage)
		if !ok {
			if _, opens := e.(session.TurnStart); opens {
				step = 0
			}
			add(e)
			continue
		}
		step++
		said.Step = step
		add(session.StepStart{Turn: said.Turn, Step: step})
		add(said)
		add(session.StepEnd{Turn: said.Turn, Step: step})
	}
	out, err := b.a.Persist(b.ctx, in)
	require.NoError(b.t, err)
	return out.Head
}

func (b *bench) collect(head work.Head) work.ToolOut {
	b.t.Helper()
	in := b.call("t", "{}")
	in.Mode, in.Child = work.ToolCollect, &work.Answered{Session: "k", Head: head}
	return b.tool(in)
}

func spoke(turn int, text string) session.Event {
	return session.AssistantMessage{Turn: turn, Step: 1, Message: session.Message{ID: "x" + text[:1], Role: session.RoleAssistant,
		Content: session.TextContent(text), Source: session.Source{Kind: session.SourceModel, Provider: "scripted", Model: "test"}}}
}

func ends(turn int, reason session.TurnReason) session.Event {
	return session.TurnEnd{Turn: turn, Reason: reason}
}

func never(context.Context, anyArgs) (tools.Result, error) {
	return tools.Result{}, errors.New("the body runs again")
}

func TestTheAnswerOfAChildIsWhatItsLastTurnSaid(t *testing.T) { // A3.13
	t.Parallel()
	completed := session.TurnReason{Kind: session.TurnCompleted}
	tests := []struct {
		name   string
		events []session.Event
		text   string // of an answer, or of an error
		fails  bool
	}{
		{"the last text", []session.Event{session.TurnStart{Turn: 1}, spoke(1, "first"), spoke(1, "second"), ends(1, completed)}, "second", false},
		{"of the last turn", []session.Event{session.TurnStart{Turn: 1}, spoke(1, "old"), ends(1, completed), session.TurnStart{Turn: 2}, spoke(2, "new"), ends(2, completed)}, "new", false},
		{"that had nothing to say", []session.Event{session.TurnStart{Turn: 1}, spoke(1, "old"), ends(1, completed), session.TurnStart{Turn: 2}, ends(2, completed)}, "", false},
		{"an empty message says nothing", []session.Event{session.TurnStart{Turn: 1}, spoke(1, "kept"), session.AssistantMessage{Turn: 1, Message: session.Message{ID: "e", Role: session.RoleAssistant, Content: session.Content{},
			Source: session.Source{Kind: session.SourceModel, Provider: "scripted", Model: "test"}}}, ends(1, completed)}, "kept", false},
		{"cut off by the output limit", []session.Event{session.TurnStart{Turn: 1}, spoke(1, "half"), ends(1, session.TurnReason{Kind: session.TurnMaxTokens})}, "half", false},
		{"an error", []session.Event{session.TurnStart{Turn: 1}, spoke(1, "half"), ends(1, session.TurnReason{Kind: session.TurnErrored, Error: &session.Failure{Code: "AUTH", Message: "no key"}})},
			"the child agent k gave no answer: AUTH: no key", true},
		{"a cancel", []session.Event{session.TurnStart{Turn: 1}, ends(1, session.TurnReason{Kind: session.TurnAborted, Aborted: &session.Cause{Kind: session.CauseUser}})},
			"the child agent k gave no answer: it was cancelled (user)", true},
		{"a gate that blocked it", []session.Event{session.TurnStart{Turn: 1}, ends(1, session.TurnReason{Kind: session.TurnBlocked})},
			"the child agent k gave no answer: its turn ended blocked", true},
		{"no turn", []session.Event{session.CancelRequested{Cause: session.Cause{Kind: session.CauseUser}, Via: "api"}},
			"the child agent k gave no answer: it took no turn", true},
		{"a turn that is not over", []session.Event{session.TurnStart{Turn: 1}, spoke(1, "half")}, "its turn is not over", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := called(t, tool(never))
			out := b.collect(b.childLog(tt.events...))
			require.Equal(t, tt.fails, out.IsError)
			if tt.fails {
				require.Contains(t, out.Content.Text(), "Error: ")
				require.Contains(t, out.Content.Text(), tt.text)
				require.Equal(t, &session.CodedError{Name: "ChildAgentError", Code: work.CodeChild}, out.Error)
				return
			}
			require.Equal(t, tt.text, out.Content.Text())
			require.Nil(t, out.Error)
		})
	}
}

func TestALargeAnswerOfAChildIsStored(t *testing.T) { // A3.4
	t.Parallel()
	text := strings.Repeat("word ", 4000)
	b := called(t, tool(never))
	out := b.collect(b.childLog(session.TurnStart{Turn: 1}, spoke(1, text), ends(1, session.TurnReason{Kind: session.TurnCompleted})))
	body, isStored := storedBody(out.Content)
	require.True(t, isStored, "it does not travel in the answer")
	content, err := b.store.Content(b.ctx, body)
	require.NoError(t, err)
	require.Equal(t, text, content.Text())
}

func TestTheAnswerOfAChildThatCannotBeReadIsTriedAgain(t *testing.T) {
	t.Parallel()
	b := called(t, tool(never))
	in := b.call("t", "{}")
	in.Mode = work.ToolCollect
	_, err := b.a.Tool(b.ctx, in)
	require.ErrorContains(t, err, "no child is named")
	in.Child = &work.Answered{Session: "k", Head: work.Head{Hash: strings.Repeat("0", 64), Count: 3}}
	_, err = b.a.Tool(b.ctx, in)
	require.ErrorContains(t, err, "log of child k")
}

func TestACallThatIsDelegated(t *testing.T) { // A3.7
	t.Parallel()
	large := strings.Repeat("a long task ", 1000)
	tests := []struct {
		name   string
		child  tools.Child
		follow func(*testing.T, *bench, work.ToolOut, signals.Create)
	}{
		{"the definition and the place are made up", tools.Child{Prompt: "look"}, func(t *testing.T, b *bench, out work.ToolOut, c signals.Create) {
			require.Regexp(t, `^sess-1\.1-[0-9a-f]{8}$`, out.Delegate.ID)
			require.Equal(t, signals.Create{Definition: agent, Parent: sess, Owned: true, Reports: true, First: &signals.Send{ID: "prompt", Text: "look"}}, c)
			require.Equal(t, out.Delegate, b.tool(b.call("t", "{}")).Delegate, "who asks again means the same child")
		}},
		{"all is said", tools.Child{ID: "k", Definition: "other", Title: "T", Provider: "p", Model: "m", ReasoningEffort: "high", MaxTokens: 9, CWD: "/srv",
			Prompt: "look", Keep: true, Deadline: time.Minute}, func(t *testing.T, _ *bench, out work.ToolOut, c signals.Create) {
			require.Equal(t, "k", out.Delegate.ID)
			require.True(t, out.Delegate.Keep)
			require.Equal(t, int64(60_000), out.DeadlineMS)
			require.Equal(t, signals.Create{Definition: "other", Title: "T", Provider: "p", Model: "m", ReasoningEffort: "high", MaxTokens: 9, CWD: "/srv",
				Parent: sess, Owned: true, Reports: true, First: &signals.Send{ID: "prompt", Text: "look"}}, c)
		}},
		{"a large prompt is stored", tools.Child{ID: "k", Prompt: large}, func(t *testing.T, b *bench, out work.ToolOut, c signals.Create) {
			require.Less(t, len(out.Delegate.Create), 1000)
			content, err := b.store.Content(b.ctx, *c.First.Body)
			require.NoError(t, err)
			require.Equal(t, large, content.Text())
		}},
		{"without a prompt there is nothing to wait for", tools.Child{ID: "k"}, func(t *testing.T, _ *bench, out work.ToolOut, _ signals.Create) {
			require.Equal(t, "Error: the tool delegates the call without a prompt", out.Content.Text())
			require.Equal(t, work.CodeChild, out.Error.Code)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			b := called(t, tool(func(context.Context, anyArgs) (tools.Result, error) { return tools.Result{Delegate: &tt.child}, nil }, tools.WithEffect(tools.Pure)))
			out := b.tool(b.call("t", "{}"))
			var c signals.Create
			if out.Delegate != nil {
				require.NoError(t, json.Unmarshal(out.Delegate.Create, &c))
				require.Empty(t, out.Content)
			}
			tt.follow(t, b, out, c)
		})
	}
}

func TestADelegationIsRememberedByTheLedger(t *testing.T) { // A3.7
	t.Parallel()
	runs := 0
	b := called(t, tool(func(context.Context, anyArgs) (tools.Result, error) {
		runs++
		return tools.Result{Delegate: &tools.Child{Prompt: "look"}}, nil
	}))
	first := b.tool(b.call("t", "{}"))
	b.exec = 2 // the answer was lost
	again := b.tool(b.call("t", "{}"))
	require.Equal(t, 1, runs)
	require.Equal(t, first.Delegate, again.Delegate)
}

func TestAHookStartsChildren(t *testing.T) { // A3.8, §6.4
	t.Parallel()
	large := strings.Repeat("x", 5000)
	hook := func(ctx context.Context, _ plugin.Moment) error {
		a := plugin.AgentFrom(ctx)
		require.NotEqual(t, a.Spawn(tools.Child{Prompt: "one"}), a.Spawn(tools.Child{Prompt: large, CancelWithParent: true}))
		a.Followup(msg("m", "between"))
		require.Equal(t, "named", a.Spawn(tools.Child{ID: "named"}))
		return nil
	}
	b := newBench(t, define(func(d *plugin.Definition) { d.TurnStopping = []plugin.Hook{hook} }))
	b.turnOf("a")
	run := func() work.HookOut {
		out, err := b.a.Hook(b.ctx, work.HookIn{ID: "hook-1", Ident: b.ident(), Point: work.HookTurnStopping, Turn: 1, N: 1})
		require.NoError(t, err)
		return out
	}
	out := run()
	require.Len(t, out.Acts, 4)
	require.Equal(t, out.Acts, run().Acts, "a hook that runs again means the same children")
	var first, second signals.Create
	require.NoError(t, json.Unmarshal(out.Acts[0].Child.Create, &first))
	require.NoError(t, json.Unmarshal(out.Acts[1].Child.Create, &second))
	require.Equal(t, signals.Create{Definition: agent, Parent: sess, Owned: true, First: &signals.Send{ID: "prompt", Text: "one"}}, first)
	require.NotNil(t, second.First.Body)
	require.True(t, out.Acts[1].Child.Follows)
	require.Equal(t, work.ActSend, out.Acts[2].Kind)
	require.Equal(t, "named", out.Acts[3].Child.ID)
}

func TestTheNameOfAChildIsAValidID(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("p", 200)
	require.Equal(t, "p-1.1-a", childID("p", "1.1-a"))
	require.True(t, session.ValidID(childID(long, "1.1-a")))
	require.NotEqual(t, childID(long, "1.1-a"), childID(long, "1.1-b"))
	require.Equal(t, childID(long, "1.1-a"), childID(long, "1.1-a"))
}

// runs is a history that knows which workflows run, and who started them.
type runs struct {
	HistoryReader
	parents map[string]string
	err     error
}

func (r runs) IsChild(_ context.Context, id, parent string) (bool, error) {
	return parent != "" && r.parents[id] == parent, r.err
}

func TestALookAtAChild(t *testing.T) { // A3.13
	t.Parallel()
	look := func(h HistoryReader, id string) (work.LookOut, error) {
		b := newBench(t)
		b.a.History = h
		return b.a.Look(b.ctx, work.LookIn{Session: id, Parent: sess})
	}
	known := runs{parents: map[string]string{"k": sess, "other": "somebody"}}
	for id, gone := range map[string]bool{"k": false, "other": true, "nobody": true} {
		out, err := look(known, id)
		require.NoError(t, err)
		require.Equal(t, gone, out.Gone, id)
	}
	out, err := look(nil, "k")
	require.NoError(t, err)
	require.False(t, out.Gone, "nobody can say: it counts as there")
	_, err = look(runs{err: errors.New("no server")}, "k")
	require.ErrorContains(t, err, "look at k: no server")
}
