package agents

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/session"
)

func TestWhatAnAuditReads(t *testing.T) {
	t.Parallel()
	blobs := map[string]string{"ab": `{"to":"large"}`}
	f := audit{agent: "clerk", blob: func(sha256 string) ([]byte, error) {
		if text, ok := blobs[sha256]; ok {
			return []byte(text), nil
		}
		return nil, errors.New("gone")
	}}
	at := int64(0)
	log := func(e session.Event) error {
		at += 1000
		return f.fold(session.NewRecord(at, e))
	}
	feature := func(kind, data string) {
		t.Helper()
		require.NoError(t, log(session.Feature{Kind: kind, Data: json.RawMessage(data)}))
	}
	call := func(turn int, id string, code *session.CodedError, failed bool) {
		require.NoError(t, log(session.ToolResult{Turn: turn, Step: 1, Error: code, Message: session.Message{
			Content: session.Content{session.ToolResultBlock{ToolCallID: id, IsError: failed}}}}))
	}
	feature("approval/asked", `{"turn":1,"step":1,"id":"1.1.c1","callId":"c1","tool":"deploy","arguments":"{\"to\":\"prod\"}","digest":"d1","reason":"production","deadlineMs":60000}`)
	feature("approval/decided", `{"id":"1.1.c1","callId":"c1","outcome":"granted","by":"ann","reason":"fine","digest":"d2","edited":{"to":"test"},"rule":"rule-1"}`)
	feature("approval/decided", `{"id":"1.1.c1","callId":"c1","outcome":"rejected","by":"nobody"}`)
	call(1, "c1", nil, false)
	require.Equal(t, []Approval{{Agent: "clerk", ID: "1.1.c1", Turn: 1, Step: 1, CallID: "c1", Asked: time.UnixMilli(1000).UTC(), Due: time.UnixMilli(61000).UTC(),
		Tool: "deploy", Arguments: `{"to":"prod"}`, Digest: "d1", Why: "production", Decided: time.UnixMilli(2000).UTC(), Outcome: "granted", By: "ann",
		Reason: "fine", Rule: "rule-1", Edited: json.RawMessage(`{"to":"test"}`), Result: "ok"}}, f.all)

	require.NoError(t, log(session.StepStart{Turn: 2, Step: 1}))
	require.NoError(t, log(session.ToolCall{Turn: 2, Step: 1, CallID: "c1", Name: "old", Arguments: `{"a":1}`}))
	feature("approval/asked", `{"turn":2,"step":1,"id":"2.1.c1","callId":"c1","reason":"","deadlineMs":0}`) // by a worker of before
	require.Equal(t, "old", f.all[1].Tool)
	require.Equal(t, `{"a":1}`, f.all[1].Arguments)
	require.True(t, f.all[1].Due.IsZero())
	require.Empty(t, f.all[1].Outcome, "it waits")
	call(2, "c1", &session.CodedError{Code: "ABORTED"}, true)
	require.Equal(t, "ok", f.all[0].Result, "another turn's call of the same id")
	require.Equal(t, "ABORTED", f.all[1].Result)

	feature("approval/policy", `{"policy":"never","by":"bob","reason":"night"}`)
	feature("approval/asked", `{"turn":3,"step":1,"id":"3.1.c1","callId":"c1","tool":"deploy","argumentsBlob":{"sha256":"ab","bytes":9},"digest":"d1"}`)
	feature("approval/decided", `{"id":"3.1.c1","callId":"c1","outcome":"rejected","by":"","reason":"","via":"policy"}`)
	call(3, "c1", nil, true)
	last := f.all[2]
	require.Equal(t, []string{`{"to":"large"}`, "rejected", "bob", "night", "policy", "error"},
		[]string{last.Arguments, last.Outcome, last.By, last.Reason, last.Via, last.Result})

	require.ErrorContains(t, log(session.Feature{Kind: "approval/asked", Data: json.RawMessage(`{"callId":"c9","argumentsBlob":{"sha256":"cd"}}`)}), "arguments of call c9: gone")
	require.Error(t, log(session.Feature{Kind: "approval/decided", Data: json.RawMessage(`[]`)}))
}
