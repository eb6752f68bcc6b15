package agents_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// serving is a place whose agent has client tools; its clock stands still, since otherwise it jumps to their deadlines.
func serving(t *testing.T, script string) (*place, *agents.Agent) {
	t.Helper()
	p := newPlace(t, script)
	p.engine.SetManual(true)
	a, err := p.client.Create(t.Context(), agents.CreateOptions{ID: "a", Definition: "helper", ClientTools: []signals.ClientTool{
		{Name: "open_url", Parameters: json.RawMessage(`{"type":"object","properties":{"url":{"type":"string"}}}`), Parallel: true}, {Name: "beep"}}})
	require.NoError(t, err)
	return p, a
}

// serve serves the agent until the test ends, or until it is called off; it returns when nothing of it runs any more.
func serve(t *testing.T, a *agents.Agent, tools map[string]agents.ClientFunc) (callOff func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- a.Serve(ctx, tools) }()
	callOff = func() error { cancel(); return <-done }
	t.Cleanup(cancel)
	return callOff
}

// result is the first tool result of the log: a projection may come after it.
func (p *place) result(a *agents.Agent) (out session.ToolResultBlock) {
	p.t.Helper()
	for r, err := range a.Log(p.t.Context(), 0) {
		require.NoError(p.t, err)
		if e, ok := r.Event.(session.ToolResult); ok && out.ToolCallID == "" {
			out = e.Message.Content[0].(session.ToolResultBlock)
		}
	}
	return out
}

func TestAProgramRunsTheCallsOfItsTools(t *testing.T) { // A3.7
	t.Parallel()
	for name, tt := range map[string]struct {
		run     agents.ClientFunc
		want    string
		isError bool
	}{
		"text": {func(_ context.Context, args json.RawMessage) (signals.CallResult, error) {
			return signals.CallResult{Text: "opened " + string(args)}, nil
		}, `opened {"url":"x"}`, false},
		"a value": {func(context.Context, json.RawMessage) (signals.CallResult, error) {
			return signals.CallResult{Value: json.RawMessage(`{"a": 1}`)}, nil
		}, `{"a":1}`, false},
		"a failure": {func(context.Context, json.RawMessage) (signals.CallResult, error) {
			return signals.CallResult{}, errors.New("no page")
		},
			"Error: no page", true},
		"a large text": {func(context.Context, json.RawMessage) (signals.CallResult, error) {
			return signals.CallResult{Text: strings.Repeat("x", 100_000)}, nil
		}, strings.Repeat("x", 100_000), false},
		"what nobody could read": {func(context.Context, json.RawMessage) (signals.CallResult, error) {
			return signals.CallResult{Text: "a", Value: json.RawMessage(`1`)}, nil
		}, "Error: the tool ran, but its result cannot be shown: result: set one of text, value, content and body (2 are set)", true},
		"what only the worker refuses": {func(context.Context, json.RawMessage) (signals.CallResult, error) {
			return signals.CallResult{Content: session.Content{session.Reasoning{Text: "hm"}}}, nil
		}, "cannot be part of a result", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, a := serving(t, "tool c1 open_url {\"url\":\"x\"}\ntext \"ok\"")
			serve(t, a, map[string]agents.ClientFunc{"open_url": tt.run})
			answer, err := a.Ask(t.Context(), "go")
			require.NoError(t, err)
			require.Equal(t, "ok", answer.Text)
			got := p.result(a)
			require.Equal(t, tt.isError, got.IsError)
			if stored, is := got.Content[0].(session.Artifact); is {
				got.Content, err = p.store.Content(t.Context(), stored)
				require.NoError(t, err)
			}
			if tt.isError {
				require.Contains(t, got.Content.Text(), tt.want)
			} else {
				require.Equal(t, tt.want, got.Content.Text())
			}
		})
	}
}

// The program dies in a call and is started again: the call has one result, and both runs knew it as the same one.
func TestAProgramThatIsStartedAgain(t *testing.T) { // A3.7
	t.Parallel()
	p, a := serving(t, "tool c1 beep {}\ntext \"ok\"")
	ids, begun := make(chan string, 2), make(chan struct{})
	callOff := serve(t, a, map[string]agents.ClientFunc{"beep": func(ctx context.Context, _ json.RawMessage) (signals.CallResult, error) {
		ids <- agents.CallID(ctx)
		close(begun)
		<-ctx.Done() // it dies here
		return signals.CallResult{Text: "from the dead"}, nil
	}})
	id, err := a.Followup(t.Context(), agents.Text("go"))
	require.NoError(t, err)
	<-begun
	require.ErrorIs(t, callOff(), context.Canceled)
	serve(t, a, map[string]agents.ClientFunc{"beep": func(ctx context.Context, _ json.RawMessage) (signals.CallResult, error) {
		ids <- agents.CallID(ctx)
		return signals.CallResult{Text: "beep"}, nil
	}})
	answer, err := a.Await(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, "ok", answer.Text)
	require.Equal(t, "beep", p.result(a).Content.Text())
	require.Equal(t, "1.1.c1.result", <-ids)
	require.Equal(t, "1.1.c1.result", <-ids)
}

// A call that ends otherwise stops its function; one that is not served waits.
func TestACallThatWaitsNoLongerIsStopped(t *testing.T) {
	t.Parallel()
	_, a := serving(t, "tool c1 beep {}\ntext \"ok\"")
	begun, stopped := make(chan struct{}), make(chan struct{})
	callOff := serve(t, a, map[string]agents.ClientFunc{"beep": func(ctx context.Context, _ json.RawMessage) (signals.CallResult, error) {
		close(begun)
		<-ctx.Done()
		close(stopped)
		return signals.CallResult{}, ctx.Err()
	}})
	id, err := a.Followup(t.Context(), agents.Text("go"))
	require.NoError(t, err)
	<-begun
	require.NoError(t, a.Cancel(t.Context(), agents.CancelOptions{}))
	<-stopped
	answer, err := a.Await(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, session.TurnAborted, answer.Outcome.Kind)
	require.NoError(t, a.Dispose(t.Context()))
	require.ErrorIs(t, callOff(), context.Canceled)
}

// Parallel calls are run side by side, each once, though the agent is looked at many times meanwhile.
func TestParallelCallsOfAProgram(t *testing.T) {
	t.Parallel()
	_, a := serving(t, "tool c1 open_url {} tool c2 open_url {}\ntext \"ok\"")
	var runs atomic.Int32
	both := make(chan struct{})
	serve(t, a, map[string]agents.ClientFunc{"open_url": func(ctx context.Context, _ json.RawMessage) (signals.CallResult, error) {
		if runs.Add(1) == 2 {
			close(both)
		}
		<-both
		return signals.CallResult{Text: agents.CallID(ctx)}, nil
	}})
	answer, err := a.Ask(t.Context(), "go")
	require.NoError(t, err)
	require.Equal(t, "ok", answer.Text)
	require.EqualValues(t, 2, runs.Load())
}

func TestServeEndsWithTheAgent(t *testing.T) {
	t.Parallel()
	_, a := serving(t, "text \"ok\"")
	ended := make(chan error, 1)
	go func() { ended <- a.Serve(t.Context(), nil) }()
	require.NoError(t, a.Dispose(t.Context()))
	require.ErrorIs(t, <-ended, agents.ErrClosed)
}
