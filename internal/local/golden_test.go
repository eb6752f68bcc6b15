package local

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/session"
)

const goldenScript = `
	tool c1 echo {"text":"hi"}
	text "The tool says hi."
	text "Again."
`

// See spec §2.6, C-001.
func TestGoldenScenario(t *testing.T) {
	t.Parallel()
	w := newWorld(t, goldenScript)
	w.start()
	w.followup("m1")
	w.idle()
	require.Equal(t, "running idle", w.kinds.statuses())
	require.Len(t, surface(t, w.log()), 4)
	w.followup("m2")
	w.idle()
	require.Equal(t, "running idle running idle", w.kinds.statuses())

	log := w.log()
	require.Len(t, surface(t, log), 6)
	for i, r := range log {
		require.EqualValues(t, i, r.Seq)
	}
	require.Equal(t, []string{
		"agent/inbox/spliced", "turn/start", "agent/inbox/spliced", "step/start", "user/message", "request/header", "request/context",
		"assistant/chunk", "assistant/chunk", "assistant/chunk", "assistant/chunk", "assistant/message", "tool/call", "tool/result", "step/end",
		"step/start", "assistant/chunk", "assistant/chunk", "assistant/chunk", "assistant/chunk", "assistant/message", "step/end", "turn/end",
		"agent/inbox/spliced", "turn/start", "agent/inbox/spliced", "step/start", "user/message",
		"assistant/chunk", "assistant/chunk", "assistant/chunk", "assistant/chunk", "assistant/message", "step/end", "turn/end",
	}, types(log))
	require.Equal(t, []int64{7, 8, 9, 10}, log[11].Sources, "C-003")
}

func surface(t *testing.T, log []session.Record) []session.Record {
	t.Helper()
	s, err := session.Fold(0, log)
	require.NoError(t, err)
	return s.Surface()
}

func types(log []session.Record) []string {
	var out []string
	for _, r := range log {
		out = append(out, r.Event.Type())
	}
	return out
}
