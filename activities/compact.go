package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
)

// A compaction replaces the oldest part of a history by a summary. Its events form a bracket that is also a lock; they
// go into the log together, so a bracket stays open only if somebody else wrote it. See spec §9.3.
type compaction struct {
	*Activities
	options plugin.Compaction
	session string
	why     string             // pressure, overflow or manual
	turn    *int               // nil outside of one
	route   session.CallConfig // of the conversation
	window  int                // tokens; 0: unknown
	total   int                // estimate of the whole request
	log     ledger
}

// A ledger is a log that is worked on: what the store has, and what is not written yet.
type ledger struct {
	head    store.Head
	pending func() []session.Record
	state   func() *session.State
	add     func(session.Record) error
}

// The events and the producer of a compaction.
const (
	compactionStart   = "compaction/start"
	compactionSummary = "compaction/summary"
	compactionEnd     = "compaction/end"
	compactionPlugin  = "compaction"
)

var (
	errNothingToCompact = errors.New("there is nothing to compact")
	errCompacting       = errors.New("another compaction of this log has begun and did not end")
)

// A compacted says what a compaction came to.
type compacted struct {
	Compacted bool           `json:"compacted"`
	Replaced  int            `json:"replaced,omitempty"` // messages
	Before    int            `json:"tokensBefore,omitempty"`
	After     int            `json:"tokensAfter,omitempty"`
	Start     int64          `json:"-"`
	End       int64          `json:"-"`
	Text      string         `json:"-"`
	Usage     *session.Usage `json:"-"`
}

// run compacts once. Without an error the surface was rewritten.
func (c *compaction) run(ctx context.Context) (compacted, error) {
	surface := c.log.state().Surface()
	span := surface[:planSpan(surface, c.retain())]
	if len(span) == 1 && isSummary(span[0]) || nodesSize(span) <= textTokens(framed("")) { // no summary would be shorter
		return compacted{}, errNothingToCompact
	}
	open, err := c.bracketOpen(ctx)
	switch {
	case err != nil:
		return compacted{}, err
	case open:
		return compacted{}, errCompacting
	}
	if err := c.feature(compactionStart, map[string]any{"turn": c.turn, "reason": c.why}); err != nil {
		return compacted{}, err
	}
	out, err := c.replace(ctx, span)
	end := map[string]any{"turn": c.turn}
	if err != nil {
		end["error"] = clip(err.Error())
	}
	return out, errors.Join(err, c.feature(compactionEnd, end))
}

// retain is how many tokens of the latest history stay. What was refused as too long may be smaller by estimate than the
// window.
func (c *compaction) retain() int {
	size := c.total
	if c.window > 0 {
		size = min(size, c.window)
	}
	return int(c.options.RetainRatio * float64(size))
}

// replace has the summary written and puts it in the place of the span.
func (c *compaction) replace(ctx context.Context, span []session.Record) (compacted, error) {
	out, err := c.summarise(ctx, span)
	if err != nil {
		return out, fmt.Errorf("summary: %w", err)
	}
	m := session.Message{
		ID: fmt.Sprintf("sum%d", c.log.state().Count()+1), Role: session.RoleUser, Content: session.TextContent(framed(out.Text)),
		Source: session.Source{Kind: session.SourcePlugin, Plugin: compactionPlugin},
	}
	out.Compacted, out.Replaced = true, len(span)
	out.Before, out.After = nodesSize(span), messageSize(m)
	out.Start, out.End = span[0].Seq, span[len(span)-1].Seq
	if out.After >= out.Before {
		return out, fmt.Errorf("the summary has about %d tokens, what it should replace %d", out.After, out.Before)
	}
	if err := c.feature(compactionSummary, c.summary(out)); err != nil {
		return out, err
	}
	var seqs []int64
	for _, r := range span {
		seqs = append(seqs, r.Seq)
	}
	r := session.NewRecord(c.now(), session.UserMessage{Message: m}, seqs...)
	r.Surface = session.ReplaceOp(out.Start, out.End)
	return out, c.log.add(r)
}

// summary is the data of the event.
func (c *compaction) summary(out compacted) map[string]any {
	writer := c.writer()
	data := map[string]any{
		"turn": c.turn, "text": out.Text, "start": out.Start, "end": out.End, "replaced": out.Replaced,
		"tokensBefore": out.Before, "tokensAfter": out.After, "provider": writer.Provider, "model": writer.Model,
	}
	if out.Usage != nil {
		data["usage"] = out.Usage
	}
	return data
}

func (c *compaction) feature(kind string, data map[string]any) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return fmt.Errorf("%s: %w", kind, err)
	}
	return c.log.add(session.NewRecord(c.now(), session.Feature{Kind: kind, Data: raw}))
}

// bracketOpen looks for a compaction that began and did not end. One before the last end of a seed is stale.
func (c *compaction) bracketOpen(ctx context.Context) (open bool, err error) {
	for r, err := range c.records(ctx) {
		if err != nil {
			return false, err
		}
		switch r.Event.Type() {
		case compactionStart:
			open = true
		case compactionEnd, session.EndSeed{}.Type():
			open = false
		}
	}
	return open, nil
}

// records are the facts of the log, with those that are not written yet.
func (c *compaction) records(ctx context.Context) iter.Seq2[session.Record, error] {
	return func(yield func(session.Record, error) bool) {
		for r, err := range c.Store.Facts(ctx, c.session, c.log.head, 0) {
			if !yield(r, err) || err != nil {
				return
			}
		}
		for _, r := range c.log.pending() {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// planSpan says how many of the oldest nodes are to be replaced: as many as leave retain tokens, but never a part of a
// tool call with its results, and never the latest node. 0: none.
func planSpan(surface []session.Record, retain int) int {
	whole := wholeUnits(surface)
	best, tail := 0, 0
	for i := len(surface) - 1; i > 0; i-- {
		tail += nodeSize(surface[i])
		if best > 0 && tail > retain {
			break
		}
		if whole[i] {
			best = i
		}
	}
	return best
}

// wholeUnits says of every node whether all calls before it are answered before it.
func wholeUnits(surface []session.Record) []bool {
	open := map[string]bool{}
	whole := make([]bool, len(surface))
	for i, r := range surface {
		whole[i] = len(open) == 0
		switch e := r.Event.(type) {
		case session.AssistantMessage:
			for _, b := range e.Message.Content.ToolCalls() {
				open[b.ID] = true
			}
		case session.ToolResult:
			for _, b := range e.Message.Content {
				if result, ok := b.(session.ToolResultBlock); ok {
					delete(open, result.ToolCallID)
				}
			}
		}
	}
	return whole
}

func isSummary(r session.Record) bool {
	m, ok := r.Event.(session.UserMessage)
	return ok && m.Source.Plugin == compactionPlugin
}

// framed tells the model what the summary is.
func framed(text string) string {
	return "The beginning of this conversation was compacted. This summary stands for everything before this point.\n\n" +
		"<compacted-summary>\n" + strings.TrimSpace(text) + "\n</compacted-summary>"
}
