package activities

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
)

// The texts of runtime context. See spec §8.6.
const (
	contextPreamble = "Runtime context. This snapshot supersedes every earlier one."
	contextNone     = "There is no runtime context any more. Every earlier snapshot is void."
	formSnapshot    = "snapshot"
)

// findSnapshot is the candidate message that brings history up to date with the runtime contexts, or nil. See spec §8.6.
func (s *step) findSnapshot(ctx context.Context, parts []plugin.ContextText) (*session.Message, error) {
	if s.silent {
		return nil, nil
	}
	last, shown, err := s.lastSnapshot(ctx)
	if err != nil {
		return nil, err
	}
	want := contextText(parts)
	if want == "" && last != "" && last != contextNone {
		want = contextNone
	}
	if want == "" || shown && want == last {
		return nil, nil
	}
	m := session.Message{
		ID:      s.id("ctx", 0),
		Role:    session.RoleUser,
		Content: session.TextContent(want),
		Source:  session.Source{Kind: session.SourcePlugin, Plugin: session.PromptPlugin, Form: formSnapshot},
	}
	for _, p := range parts {
		m.Source.Sections = append(m.Source.Sections, p.Name)
	}
	return &m, nil
}

func contextText(parts []plugin.ContextText) string {
	if len(parts) == 0 {
		return ""
	}
	texts := []string{contextPreamble}
	for _, p := range parts {
		texts = append(texts, p.Text)
	}
	return strings.Join(texts, "\n\n")
}

// lastSnapshot is the text of the last snapshot, and whether it is still on the surface. One that was shadowed, which
// takes a rewritten surface, is looked up in the log.
func (s *step) lastSnapshot(ctx context.Context) (text string, shown bool, err error) {
	rewritten := false
	for _, r := range s.state.Surface() {
		if m, ok := snapshotOf(r); ok {
			text, shown = m.Text(), true
		}
		rewritten = rewritten || r.Surface.Replace
	}
	if shown || !rewritten {
		return text, shown, nil
	}
	text, err = s.seen.last(ctx, s)
	return text, false, err
}

func snapshotOf(r session.Record) (session.Message, bool) {
	e, ok := r.Event.(session.UserMessage)
	if !ok || e.Source.Form != formSnapshot || e.Source.Plugin != session.PromptPlugin {
		return session.Message{}, false
	}
	return e.Message, true
}

// A snapshotCache remembers the last snapshot of logs that were searched, so that each is read through once.
type snapshotCache struct {
	mu   sync.Mutex
	seen map[string]seenSnapshot // by session and epoch
}

type seenSnapshot struct {
	head store.Head
	text string
}

// maxSeen bounds the cache; an entry is small and the loss of one costs a read.
const maxSeen = 4096

// last returns the text of the last snapshot before the step. The tail of a log holds none: they are committed by steps.
func (c *snapshotCache) last(ctx context.Context, s *step) (string, error) {
	id, head := s.in.Ident, store.Head(s.in.Head)
	key := fmt.Sprintf("%s/%d", id.Session, id.Epoch)
	c.mu.Lock()
	from := c.seen[key]
	c.mu.Unlock()
	if from.head.Count > head.Count {
		from = seenSnapshot{}
	}
	text := from.text
	for r, err := range s.Store.Facts(ctx, id.Session, head, from.head.Count) {
		if err != nil {
			return "", err
		}
		if m, ok := snapshotOf(r); ok {
			text = m.Text()
		}
	}
	c.keep(key, seenSnapshot{head, text})
	return text, nil
}

func (c *snapshotCache) keep(key string, s seenSnapshot) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.seen == nil || len(c.seen) >= maxSeen {
		c.seen = map[string]seenSnapshot{}
	}
	c.seen[key] = s
}
