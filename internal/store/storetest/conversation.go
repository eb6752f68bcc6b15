package storetest

import (
	"fmt"

	"github.com/everturn/everturn/session"
)

// Conversation returns a valid log of plain turns: every turn is one prompt and one answer streamed in the given number
// of chunks. Seqs count from 0.
func Conversation(turns, chunks int) []session.Record {
	var c conversation
	for turn := 1; turn <= turns; turn++ {
		c.turn(turn, chunks)
	}
	return c.records
}

type conversation struct {
	records []session.Record
}

func (c *conversation) add(e session.Event, sources ...int64) int64 {
	seq := int64(len(c.records))
	r := session.NewRecord(1_764_500_000_000+seq, e, sources...)
	r.Seq = seq
	c.records = append(c.records, r)
	return seq
}

func (c *conversation) turn(turn, chunks int) {
	prompt := session.Message{
		ID: fmt.Sprintf("u%d", turn), Role: session.RoleUser,
		Content: session.TextContent(fmt.Sprintf("question %d <&> 你好", turn)),
		Source:  session.Source{Kind: session.SourceUser},
	}
	c.add(session.InboxSpliced{Target: session.NextTurn, Inserted: []session.Message{prompt}})
	c.add(session.TurnStart{Turn: turn})
	c.add(session.InboxSpliced{Target: session.NextTurn, RemovedCount: 1, Inserted: []session.Message{}})
	c.add(session.StepStart{Turn: turn, Step: 1})
	c.add(session.UserMessage{Message: prompt})
	if turn == 1 {
		c.add(session.RequestHeader{
			Header: session.HeaderContent{Config: session.CallConfig{Provider: "scripted", Model: "m"}},
			Reason: session.HeaderInitial,
		})
	}
	c.answer(turn, chunks)
	c.add(session.StepEnd{Turn: turn, Step: 1})
	c.add(session.TurnEnd{Turn: turn, Reason: session.TurnReason{Kind: session.TurnCompleted}})
}

func (c *conversation) answer(turn, chunks int) {
	var text string
	var cited []int64
	for i := range chunks {
		delta := fmt.Sprintf("word%d of %d, ", i, turn)
		text += delta
		cited = append(cited, c.add(session.AssistantChunk{Turn: turn, Step: 1, Chunk: session.TextDelta{Text: delta}}))
	}
	answer := session.Message{
		ID: fmt.Sprintf("a%d", turn), Role: session.RoleAssistant, Content: session.TextContent(text),
		Source: session.Source{Kind: session.SourceModel, Provider: "scripted", Model: "m"},
	}
	c.add(session.AssistantMessage{Turn: turn, Step: 1, Message: answer}, cited...)
}
