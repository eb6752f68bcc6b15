package scripted_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/session"
)

// full is a request with something in every field that could be shared.
func full(id string) llm.Request {
	temperature := 0.5
	answer := assistant(session.ToolCallBlock{ID: "c1", Name: "echo", Arguments: "{}"})
	answer.Source.Replay = &session.ReplayState{Blocks: []json.RawMessage{json.RawMessage(`{"sig":1}`)}}
	snapshot := user("snapshot")
	snapshot.Source.Sections = []string{"time"}
	return llm.Request{
		Session:  id,
		Config:   session.CallConfig{Provider: "scripted", Model: "m", Temperature: &temperature, Stop: []string{"END"}},
		System:   "be kind",
		Messages: []session.Message{user("a"), answer, result("c1", "x"), snapshot},
		Tools:    []session.ToolSchema{{Name: "echo", Parameters: json.RawMessage(`{"type":"object"}`)}},
	}
}

// spoil changes everything that a request refers to.
func spoil(req llm.Request) {
	*req.Config.Temperature = 9
	req.Config.Stop[0] = "spoiled"
	req.Messages[0].Content[0] = session.Text{Text: "spoiled"}
	req.Messages[1].Source.Replay.Blocks[0][1] = 'X'
	req.Messages[2].Content[0].(session.ToolResultBlock).Content[0] = session.Text{Text: "spoiled"}
	req.Messages[3].Source.Sections[0] = "spoiled"
	req.Messages[3] = user("spoiled")
	req.Tools[0].Parameters[0] = 'X'
	req.Tools[0].Name = "spoiled"
}

func record(t *testing.T, p llm.Provider, req llm.Request) {
	t.Helper()
	call, err := p.Prepare(t.Context(), req.Config)
	require.NoError(t, err)
	for range call.Stream(t.Context(), req) {
		break
	}
}

func TestTheRecorderKeepsDeepCopies(t *testing.T) {
	t.Parallel()
	recorder := new(scripted.Recorder)
	p := scripted.New(scripted.Config{Recorder: recorder})
	sent := full("s")
	record(t, p, sent)
	spoil(sent)
	require.Equal(t, []llm.Request{full("s")}, recorder.Requests(), "the sender changed its request")
	spoil(recorder.Requests()[0])
	require.Equal(t, []llm.Request{full("s")}, recorder.Requests(), "a reader changed its copy")
}

func TestTheRecorderKeepsTheOrderPerSession(t *testing.T) {
	t.Parallel()
	recorder := new(scripted.Recorder)
	p := scripted.New(scripted.Config{Recorder: recorder})
	for _, id := range []string{"a", "b", "a"} {
		record(t, p, full(id))
	}
	var order []string
	for _, req := range recorder.Requests() {
		order = append(order, req.Session)
	}
	require.Equal(t, []string{"a", "b", "a"}, order)
	require.Len(t, recorder.Session("a"), 2)
	require.Empty(t, recorder.Session("c"))
}

func TestARequestWithoutAnAnswerIsRecordedAsWell(t *testing.T) {
	t.Parallel()
	recorder := new(scripted.Recorder)
	p := scripted.New(scripted.Config{Recorder: recorder, Models: map[string]scripted.Model{"m": {}}})
	record(t, p, full("a"))
	require.Len(t, recorder.Requests(), 1)
}
