package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/session"
)

// The bounds of the history. A turn may take twice what it adds to the exported log, and something for each request; how
// long the conversation is does not matter.
const (
	perNewByte   = 2
	perModelCall = 3 << 10
	mayGrow      = 1.10
)

// bytesPerToken is what a token of English takes, about.
const bytesPerToken = 4

// ordinary is a turn of two model calls and one tool call.
var ordinary = job{Steps: 1, Calls: 1, Bytes: 200}

// measureHistory grows one conversation and looks at what its turns take.
func measureHistory(ctx context.Context, b *bench) error {
	s, err := b.open(ctx, plan{})
	if err != nil {
		return err
	}
	defer s.close()
	a, err := s.create(ctx, "history", plain)
	if err != nil {
		return err
	}
	c := &conversation{site: s, agent: a}
	if err := b.growth(ctx, c); err != nil {
		return err
	}
	for _, j := range append([]job{b.scale.long}, b.scale.wide...) {
		if err := b.longTurn(ctx, c, j); err != nil {
			return err
		}
	}
	return nil
}

// growth measures ordinary turns as the conversation grows.
func (b *bench) growth(ctx context.Context, c *conversation) error {
	var per []float64
	for _, tokens := range b.scale.tokens {
		if err := c.grow(ctx, tokens); err != nil {
			return err
		}
		spent, err := c.spend(ctx, slices.Repeat([]job{ordinary}, b.scale.turns)...)
		if err != nil {
			return err
		}
		turn := float64(spent.bytes-spent.handover) / float64(b.scale.turns)
		per = append(per, turn)
		b.add(fmt.Sprintf("ordinary turn, conversation of %d tokens", tokens), turn, "bytes")
		b.add("  events", float64(spent.events)/float64(b.scale.turns), "")
		if spent.runs > 0 {
			b.add("  to hand over to a new run", float64(spent.handover)/float64(spent.runs), "bytes")
		}
	}
	b.atMost("largest ÷ smallest of these turns", slices.Max(per)/slices.Min(per), "", mayGrow)
	return nil
}

// longTurn measures one turn against what it adds to the log.
func (b *bench) longTurn(ctx context.Context, c *conversation, j job) error {
	spent, err := c.spend(ctx, j)
	if err != nil {
		return err
	}
	what := fmt.Sprintf("turn of %d model calls, %d tool calls of %d bytes", j.modelCalls(), j.Steps*j.Calls, j.Bytes)
	b.atMost(what, float64(spent.bytes), "bytes", float64(perNewByte*spent.fresh+perModelCall*j.modelCalls()))
	b.add("  new bytes of the exported log", float64(spent.fresh), "bytes")
	b.add("  events", float64(spent.events), "")
	b.add("  new runs", float64(spent.runs), "")
	return nil
}

// A conversation is one agent and how far its log and history are known.
type conversation struct {
	*site
	agent *agents.Agent
	said  int // bytes of the texts so far
}

// words of one message that makes a conversation longer.
const messageTokens = 2_000

// grow makes the conversation so many tokens long, at least.
func (c *conversation) grow(ctx context.Context, tokens int) error {
	for n := tokens*bytesPerToken - c.said; n > 0; n = tokens*bytesPerToken - c.said {
		text := words(min(n, messageTokens*bytesPerToken))
		if err := ask(ctx, c.agent, text); err != nil {
			return err
		}
		c.said += len(text)
	}
	return nil
}

// An expense is what some turns took: of workflow history, and new in the exported log.
type expense struct {
	history
	fresh int // bytes of new JSON Lines, chunks left out
}

// spend has jobs done, one after another.
func (c *conversation) spend(ctx context.Context, jobs ...job) (expense, error) {
	before, from, err := c.known(ctx)
	if err != nil {
		return expense{}, err
	}
	for _, j := range jobs {
		if err := ask(ctx, c.agent, j.asked()); err != nil {
			return expense{}, err
		}
		c.said += j.Steps * j.Calls * j.Bytes
	}
	after, _, err := c.known(ctx)
	if err != nil {
		return expense{}, err
	}
	fresh, err := c.fresh(ctx, from)
	return expense{after.less(before), fresh}, err
}

// known is the history so far, and the end of the log.
func (c *conversation) known(ctx context.Context) (history, int64, error) {
	if err := c.agent.WhenIdle(ctx); err != nil {
		return history{}, 0, err
	}
	h, err := historyOf(ctx, c.sdk, c.agent.ID())
	if err != nil {
		return history{}, 0, err
	}
	s, err := c.agent.State(ctx)
	return h, s.Log.Count, err
}

// fresh is what the exported log has from a place on, without its chunks, in bytes.
func (c *conversation) fresh(ctx context.Context, from int64) (bytes int, err error) {
	for r, err := range c.agent.Log(ctx, from) {
		if err != nil {
			return 0, err
		}
		if _, chunk := r.Event.(session.AssistantChunk); chunk {
			continue
		}
		line, err := json.Marshal(r)
		if err != nil {
			return 0, err
		}
		bytes += len(line) + 1
	}
	return bytes, nil
}

// history is the size of what Temporal remembers of an agent, over all its runs.
type history struct {
	events, bytes int
	runs          int // after the first
	handover      int // bytes of the events that end a run and begin the next one
}

func (h history) less(before history) history {
	return history{h.events - before.events, h.bytes - before.bytes, h.runs - before.runs, h.handover - before.handover}
}

// historyOf reads all runs of an agent, from the first on.
func historyOf(ctx context.Context, c client.Client, id string) (history, error) {
	var h history
	return h, everyEvent(ctx, c, id, h.count)
}

func (h *history) count(e *historypb.HistoryEvent) {
	h.events++
	h.bytes += e.Size()
	next := e.GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
	if next != "" {
		h.runs++
	}
	if next != "" || e.GetWorkflowExecutionStartedEventAttributes().GetContinuedExecutionRunId() != "" {
		h.handover += e.Size()
	}
}

// everyEvent goes through the events of all runs of a workflow.
func everyEvent(ctx context.Context, c client.Client, id string, f func(e *historypb.HistoryEvent)) error {
	d, err := c.DescribeWorkflow(ctx, id, "")
	if err != nil {
		return err
	}
	for run := d.RawResponse.GetWorkflowExecutionInfo().GetFirstRunId(); run != ""; {
		events := c.GetWorkflowHistory(ctx, id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		run = ""
		for events.HasNext() {
			e, err := events.Next()
			if err != nil {
				return err
			}
			f(e)
			run = e.GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
		}
	}
	return nil
}
