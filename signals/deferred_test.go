package signals_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

func TestDecodeAnswers(t *testing.T) {
	t.Parallel()
	got, err := signals.DecodeAnswers([]byte(`{"id":"1.1.c1.answer","answers":[{"id":"q","selected":["a"]}],"by":"ann","more":1}`))
	require.NoError(t, err)
	require.Equal(t, signals.Answers{ID: "1.1.c1.answer", Answers: []signals.AnswerTo{{ID: "q", Selected: []string{"a"}}}, By: "ann"}, got)
	for raw, want := range map[string]string{
		`{"answers":[{"text":"x"}]}`: "answer: id is missing",
		`{"id":"a"}`:                 "answer: answers are missing",
		`"a"`:                        "answer: the payload is not what the act takes",
		`{"id":"a","answers":{}}`:    "cannot unmarshal object",
		`{"id":"a","answers":[{"text":"` + strings.Repeat("x", 16<<10) + `"}]}`: "answer: the payload is 16",
	} {
		_, err := signals.DecodeAnswers([]byte(raw))
		require.ErrorContains(t, err, want)
	}
}

func TestDecodeResult(t *testing.T) {
	t.Parallel()
	body := session.Artifact{SHA256: "ab", Bytes: 5}
	for raw, want := range map[string]session.Content{
		`{"id":"r"}`:             session.TextContent(""),
		`{"id":"r","text":"hi"}`: session.TextContent("hi"),
		`{"id":"r","isError":true,"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}`: {session.Text{Text: "a"}, session.Text{Text: "b"}},
		`{"id":"r","body":{"sha256":"ab","bytes":5}}`:                                                 {session.Artifact{SHA256: "ab", Bytes: 5, MediaType: session.StoredContent}},
	} {
		got, err := signals.DecodeResult([]byte(raw))
		require.NoError(t, err)
		require.Equal(t, want, got.Result(), raw)
	}
	got, err := signals.DecodeResult([]byte(`{"id":"r","value":{"a": 1}}`))
	require.NoError(t, err)
	require.Equal(t, json.RawMessage(`{"a": 1}`), got.Value)

	for raw, want := range map[string]string{
		`{"text":"x"}`:                    "result: id is missing",
		`{"id":"r","text":"x","value":1}`: "set one of text, value, content and body (2 are set)",
		`{"id":"r","body":{"bytes":5}}`:   "body must name a stored object",
		`{"id":"r","value":`:              "result: the payload is not what the act takes",
		`{"id":"r","content":[{"type":"artifact","sha256":"ab","bytes":5,"mediaType":"` + session.StoredContent + `"}]}`: "use body",
		`{"id":"r","text":"` + strings.Repeat("x", signals.MaxResult+1) + `"}`:                                           "store it first",
		fmt.Sprintf(`{"id":"r","body":{"sha256":"ab","bytes":%d}}`, signals.MaxBody+1):                                   "at most 8388608 bytes",
	} {
		_, err := signals.DecodeResult([]byte(raw))
		require.ErrorContains(t, err, want)
	}
	require.NoError(t, signals.CallResult{ID: "r", Body: &body}.Validate())
}
