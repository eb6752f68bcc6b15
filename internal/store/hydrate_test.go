package store_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/store/storetest"
	"github.com/everturn/everturn/session"
)

func user(id string, content session.Content) session.Message {
	return session.Message{ID: id, Role: session.RoleUser, Content: content, Source: session.Source{Kind: session.SourceUser}}
}

func TestHydratePutsBodiesBack(t *testing.T) {
	t.Parallel()
	s := open(t, "mem://", store.Options{})
	full := session.Content{session.Text{Text: "a"}, session.Artifact{SHA256: "of a tool", Bytes: 1, MediaType: "text/plain"}}
	raw, err := json.Marshal(full)
	require.NoError(t, err)
	content, err := s.PutBlob(t.Context(), raw, session.StoredContent)
	require.NoError(t, err)
	arguments, err := s.PutBlob(t.Context(), []byte(`{"a":1}`), "text/plain")
	require.NoError(t, err)

	result := func(c session.Content) session.Event {
		return session.ToolResult{Turn: 1, Step: 1, Message: user("r", session.Content{session.ToolResultBlock{ToolCallID: "c", Content: c}})}
	}
	for name, c := range map[string]struct{ in, want session.Event }{
		"inbox": {
			session.InboxSpliced{Target: session.NextTurn, Inserted: []session.Message{user("m", session.Content{content})}},
			session.InboxSpliced{Target: session.NextTurn, Inserted: []session.Message{user("m", full)}},
		},
		"user message": {
			session.UserMessage{Message: user("m", session.Content{session.Text{Text: "b"}, content})},
			session.UserMessage{Message: user("m", append(session.Content{session.Text{Text: "b"}}, full...))},
		},
		"tool result": {result(session.Content{content}), result(full)},
		"tool call": {
			session.ToolCall{CallID: "c", ArgumentsBlob: &arguments},
			session.ToolCall{CallID: "c", Arguments: `{"a":1}`},
		},
		"nothing set aside": {session.UserMessage{Message: user("m", full)}, session.UserMessage{Message: user("m", full)}},
		"another event":     {session.TurnStart{Turn: 1}, session.TurnStart{Turn: 1}},
	} {
		in := []session.Record{session.NewRecord(3, c.in)}
		out, err := s.Hydrate(t.Context(), in)
		require.NoError(t, err, name)
		require.Equal(t, session.NewRecord(3, c.want), out[0], name)
		require.Equal(t, session.NewRecord(3, c.in), in[0], name)
	}
}

func TestAppendNeedsTheBodiesItPutsBack(t *testing.T) {
	t.Parallel()
	s, faults := faulty(t)
	missing := session.Artifact{SHA256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", MediaType: session.StoredContent}
	faults.Forget()
	for _, e := range []session.Event{
		session.UserMessage{Message: user("m", session.Content{missing})},
		session.ToolCall{CallID: "c", ArgumentsBlob: &missing},
	} {
		_, err := s.Append(t.Context(), "s", 0, store.Head{}, []session.Record{session.NewRecord(1, e)})
		require.ErrorIs(t, err, store.ErrNotFound)
		require.ErrorContains(t, err, missing.SHA256)
	}
	require.Empty(t, faults.Calls(storetest.Match{Op: storetest.Create}))
}
