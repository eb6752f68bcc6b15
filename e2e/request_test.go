package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/tools"
	"github.com/everturn/everturn/tools/builtin"
	"github.com/everturn/everturn/worker"
)

func TestEveryRequestIsRebuiltFromTheLog(t *testing.T) { // §4.6.2
	p := here(t)
	recorder := recordingWorker(t, p, `
tool c1 echo {"text":"one"} tool c2 echo {"text":"two"}
text "half" open error SERVER "try again"
text "both said"
reasoning "hm" text "second"
text "cut short" max-tokens
`)
	a, err := p.agents.Create(t.Context(), agents.CreateOptions{ID: p.id("a"), Definition: helper})
	require.NoError(t, err)
	_, err = a.Inject(t.Context(), agents.Text("some context"))
	require.NoError(t, err)
	for _, text := range []string{"first", "next", "last"} {
		ask(t, a, text)
	}
	idle(t, a)

	var rebuilt []llm.Request
	for _, s := range all[session.StepStart](p.records(a.ID())) {
		out := p.ok("request", a.ID(), fmt.Sprintf("%d.%d", s.Turn, s.Step), "--json")
		for d := json.NewDecoder(bytes.NewBufferString(out)); d.More(); {
			var r llm.Request
			require.NoError(t, d.Decode(&r))
			rebuilt = append(rebuilt, r)
		}
	}
	sent := recorder.Session(a.ID())
	require.Len(t, sent, 5, "the failed attempt included")
	require.Len(t, rebuilt, len(sent))
	for i := range sent {
		require.JSONEq(t, encode(t, sent[i]), encode(t, rebuilt[i]), "request %d", i+1)
	}
}

// recordingWorker runs a worker in this process and keeps what its model is sent.
func recordingWorker(t *testing.T, p *place, script string) *scripted.Recorder {
	t.Helper()
	recorder := &scripted.Recorder{}
	echo := builtin.Echo()
	w, err := worker.New(t.Context(), worker.Config{
		Client: p.sdk, TaskQueue: p.queue, Store: p.store(), Profile: worker.Embedded,
		Providers: []llm.Provider{scripted.New(scripted.Config{Recorder: recorder, Models: map[string]scripted.Model{
			"script": {Script: scripted.MustParse(script)}}})},
		Definitions: []*plugin.Definition{{Name: helper, Provider: scripted.Name, Model: "script", Tools: []*tools.Tool{echo},
			Sections: []plugin.Section{{Name: "identity", Text: "You are on record."}}}},
	})
	require.NoError(t, err)
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	return recorder
}

func encode(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return string(raw)
}
