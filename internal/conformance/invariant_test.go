package conformance

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/stream"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
)

// played is a sound scenario that has run, its log, and what the model was sent.
func played(t *testing.T) (*run, []session.Record) {
	t.Helper()
	all, err := Parse("f.txt", "# C-900  x\nmodel: text \"ok\"\n> followup a\n> idle\n> send b next-turn\n  status idle\n")
	require.NoError(t, err)
	r := all[0].begin(Local())
	t.Cleanup(func() { require.NoError(t, r.leave()) })
	for _, c := range all[0].commands {
		require.NoError(t, r.command(t.Context(), c))
	}
	records, err := r.log(t.Context())
	require.NoError(t, err)
	require.NoError(t, r.invariants(t.Context()))
	return r, records
}

func TestRequestsThatTheLogDoesNotYieldAreFound(t *testing.T) {
	t.Parallel()
	r, records := played(t)
	require.NoError(t, r.checkRequests(records))
	at := slices.Index(entries(records), "UM(a)")
	e := records[at].Event.(session.UserMessage)
	e.Content = session.TextContent("something else")
	changed := slices.Clone(records)
	changed[at].Event = e
	require.ErrorContains(t, r.checkRequests(changed), "request 1 is not what the log yields")

	silent := slices.DeleteFunc(slices.Clone(records), func(r session.Record) bool { return r.Event.Type() == "step/start" })
	require.ErrorContains(t, r.checkRequests(silent), "1 requests, but the log yields 0")
	var none llm.Request
	require.NotEqual(t, asJSON(none), asJSON(r.requests()[0]))
}

func TestLostAndDoubledMessagesAreFound(t *testing.T) {
	t.Parallel()
	r, records := played(t)
	state, err := session.Fold(0, records)
	require.NoError(t, err)
	require.NoError(t, r.checkMessages(records, state.Inbox()))

	r.inserts = append(r.inserts, "ghost")
	require.ErrorContains(t, r.checkMessages(records, state.Inbox()), "message ghost was accepted, but the log does not have it")
	r.inserts = r.inserts[:len(r.inserts)-1]

	twice := append(slices.Clone(records), records[slices.Index(entries(records), "UM(a)")])
	require.ErrorContains(t, r.checkMessages(twice, state.Inbox()), "message a was claimed 1 times, but entered 2 times")
	require.ErrorContains(t, r.checkMessages(records, session.Inbox{}), "the inbox is not what the log says")
}

func TestFramesThatTellSomethingElseAreFound(t *testing.T) {
	t.Parallel()
	_, records := played(t)
	at := int64(slices.Index(entries(records), "AM"))
	chunk := records[at-1].Event.(session.AssistantChunk).Chunk
	end := func(seq int64, kind string) stream.Frame {
		return stream.Frame{Kind: stream.KindEnd, Revision: 2, Outcome: &stream.Outcome{Kind: stream.Committed, EventType: kind, Seq: seq}}
	}
	tests := []struct {
		name   string
		frames []stream.Frame
		want   string
	}{
		{"sound", []stream.Frame{{Kind: stream.KindChunk, Revision: 1, Seq: at - 1, Chunk: chunk}, end(at, "assistant/message")}, ""},
		{"another chunk", []stream.Frame{{Kind: stream.KindChunk, Revision: 1, Seq: at - 2, Chunk: chunk}}, "something else"},
		{"another event", []stream.Frame{end(at-1, "assistant/message")}, "something else than event"},
		{"another type", []stream.Frame{end(at, "assistant/attempt")}, "something else than event"},
		{"an event that is not there", []stream.Frame{end(999, "assistant/message")}, "which the log does not have"},
		{"a revision that falls", []stream.Frame{{Kind: stream.KindStart, Revision: 3}, {Kind: stream.KindStart, Revision: 3}}, "revision 3 comes after 3"},
		{"a gap", []stream.Frame{{Kind: stream.KindGap, Revision: 1}}, "lost frames"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			err := checkFrames(tt.frames, records)
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.want)
		})
	}
}
