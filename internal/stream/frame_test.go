package stream

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/session"
)

func TestFrameJSON(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		frame Frame
		wire  string
	}{
		"start": {
			Frame{Session: "s", Kind: KindStart, Revision: 1, Time: 5, Turn: 1, Step: 2, Attempt: 3, Execution: 4, AttemptID: "a"},
			`{"session":"s","kind":"start","revision":1,"time":5,"turn":1,"step":2,"attempt":3,"execution":4,"n":0,"attemptId":"a"}`,
		},
		"chunk": {
			Frame{Session: "s", Kind: KindChunk, Turn: 1, Step: 1, N: 7, Chunk: session.TextDelta{Text: "hi"}},
			`{"session":"s","kind":"chunk","turn":1,"step":1,"n":7,"chunk":{"type":"text-delta","index":0,"text":"hi"}}`,
		},
		"chunk with a block": {
			Frame{Session: "s", Kind: KindChunk, N: 1, Chunk: session.BlockEnd{Index: 1, Block: session.Text{Text: "x"}}},
			`{"session":"s","kind":"chunk","n":1,"chunk":{"type":"block-end","index":1,"block":{"type":"text","text":"x"}}}`,
		},
		"committed": {
			Frame{Session: "s", Kind: KindEnd, N: 9, Outcome: &Outcome{Kind: Committed, EventType: "assistant/message", Seq: 11}},
			`{"session":"s","kind":"end","n":9,"outcome":{"kind":"committed","eventType":"assistant/message","seq":11}}`,
		},
		"abandoned": {
			Frame{Session: "s", Kind: KindEnd, N: 9, Outcome: &Outcome{Kind: Abandoned}},
			`{"session":"s","kind":"end","n":9,"outcome":{"kind":"abandoned"}}`,
		},
		"notice": {
			Frame{Session: "s", Kind: KindNotice, Name: NoticeStatus, Data: json.RawMessage(`{"status":"idle"}`),
				Epoch: 1, Seq: 4, Hash: "h", Provisional: true},
			`{"session":"s","kind":"notice","n":0,"name":"agent/status","data":{"status":"idle"},"epoch":1,"seq":4,"hash":"h","provisional":true}`,
		},
		"gap": {
			Frame{Session: "s", Kind: KindGap, Revision: 8, N: 3},
			`{"session":"s","kind":"gap","revision":8,"n":3}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := json.Marshal(c.frame)
			require.NoError(t, err)
			require.JSONEq(t, c.wire, string(got))
			var back Frame
			require.NoError(t, json.Unmarshal(got, &back))
			require.Equal(t, c.frame, back)
		})
	}
}

func TestFrameJSONRefusals(t *testing.T) {
	t.Parallel()
	var f Frame
	require.NoError(t, json.Unmarshal([]byte(`{"session":"s","kind":"notice","newer":1}`), &f))
	require.Error(t, json.Unmarshal([]byte(`{"session":1}`), &f))
	require.Error(t, json.Unmarshal([]byte(`{"chunk":{"type":"nonsense"}}`), &f))
	require.Equal(t, Frame{Session: "s", Kind: KindNotice}, f, "a refused frame changes nothing")
	_, err := json.Marshal(Frame{Chunk: session.BlockEnd{}})
	require.Error(t, err)
}
