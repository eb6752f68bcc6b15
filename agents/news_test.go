package agents

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/stream"
	"github.com/everturn/everturn/session"
)

// Who waits beside a worker is woken by what somebody may wait for, and by nothing else.
func TestNews(t *testing.T) {
	t.Parallel()
	event := func(e session.Event) stream.Frame {
		raw, err := json.Marshal(session.NewRecord(1, e))
		require.NoError(t, err)
		return stream.Frame{Session: "a", Kind: stream.KindNotice, Name: "session/event", Data: raw}
	}
	notice := func(name string) stream.Frame { return stream.Frame{Session: "a", Kind: stream.KindNotice, Name: name} }
	ended := event(session.TurnEnd{Turn: 1, Reason: session.TurnReason{Kind: session.TurnCompleted}})
	for _, f := range []stream.Frame{ended, notice("agent/status"), notice("agent/created"), notice("agent/disposed"), notice("client/called")} {
		require.True(t, isNews(f), "%+v", f)
	}
	for _, f := range []stream.Frame{event(session.TurnStart{Turn: 1}), notice("agent/inbox/inserted"), {Session: "a", Kind: stream.KindChunk}} {
		require.False(t, isNews(f), "%+v", f)
	}

	broker := &stream.Memory{}
	news := (&Agent{client: &Client{Config: Config{Broker: broker}}, id: "a"}).news(t.Context())
	broker.Publish(ended)
	<-news
	require.Nil(t, (&Agent{client: &Client{}, id: "a"}).news(t.Context()), "without a feed nobody is woken")
}
