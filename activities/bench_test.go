package activities

import (
	"context"
	"fmt"
	"testing"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
)

// BenchmarkStep is one step of a conversation of n messages, on a worker that has its log in memory.
func BenchmarkStep(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("messages=%d", n), func(b *testing.B) {
			a, in := conversation(b, n)
			b.ReportAllocs()
			for b.Loop() {
				in.Attempt++ // a journal of its own
				if _, err := a.Step(b.Context(), in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func conversation(b *testing.B, n int) (*Activities, work.StepIn) {
	b.Helper()
	st, err := store.Open(b.Context(), "mem://", store.Options{})
	if err != nil {
		b.Fatal(err)
	}
	registry, err := llm.NewRegistry(scripted.New(scripted.Config{Models: map[string]scripted.Model{
		"m": {Respond: func(llm.Request) scripted.Answer { return scripted.Text("fine") }},
	}}))
	if err != nil {
		b.Fatal(err)
	}
	a, err := New(Config{Store: st, Registry: registry, Definitions: []*plugin.Definition{{Name: "d", Provider: "scripted", Model: "m"}}})
	if err != nil {
		b.Fatal(err)
	}
	id := work.Ident{Session: "s", Definition: "d", Rules: work.Rules}
	var records []session.Record
	add := func(e session.Event) {
		r := session.NewRecord(0, e)
		r.Seq = int64(len(records))
		records = append(records, r)
	}
	for i := range n {
		add(session.UserMessage{Message: session.Message{ID: fmt.Sprint(i), Role: session.RoleUser, Content: session.TextContent("some words")}})
	}
	head, err := a.append(context.Background(), 1, id, work.Head{}, records)
	if err != nil {
		b.Fatal(err)
	}
	ref, err := st.PutBlob(b.Context(), []byte(`{}`), assemblyMediaType)
	if err != nil {
		b.Fatal(err)
	}
	tail := []session.Record{session.NewRecord(0, session.TurnStart{Turn: 1}), session.NewRecord(0, session.StepStart{Turn: 1, Step: 1})}
	return a, work.StepIn{Ident: id, Turn: 1, Step: 1, Attempt: 1, Head: head, Tail: tail, Assembly: ref.SHA256}
}
