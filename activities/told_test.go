package activities

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/stream"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
)

// Every event is told, also after a listener failed. See spec §2.5.
func TestListenersAreToldOfWhatActivitiesAppend(t *testing.T) {
	t.Parallel()
	var heard []string
	listen := func(n plugin.Notice) {
		var r session.Record
		require.NoError(t, json.Unmarshal(n.Data, &r))
		heard = append(heard, n.Session+" "+n.Name+" "+r.Event.Type())
		panic("odd")
	}
	failed := 0
	a := &Activities{Config: Config{Definitions: []*plugin.Definition{{Name: "silent"}, {Name: "d", Listeners: []plugin.Listener{listen}}},
		Log: func(context.Context, string, ...any) { failed++ }}}
	a.tell(t.Context(), "s", []session.Record{
		session.NewRecord(0, session.StepStart{Turn: 1, Step: 1}), session.NewRecord(0, session.StepEnd{Turn: 1, Step: 1}),
	})
	require.Equal(t, []string{"s " + stream.NoticeEvent + " step/start", "s " + stream.NoticeEvent + " step/end"}, heard)
	require.Equal(t, 2, failed)
}
