package activities

import (
	"context"
	"slices"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
)

// exclusive asks again about the parallel calls that are not started, and names those that must run alone now. It is
// asked after everything else, since this very call may have changed the answer. See spec §4.8.3, C-158, C-159.
func (c *call) exclusive(ctx context.Context) (ids []string, alone bool) {
	from := c.in.From
	if len(c.in.Later) > 0 {
		from = c.in.Later[0]
	}
	if from == "" || c.in.Head == nil {
		return nil, false
	}
	calls, err := c.stepCalls(ctx)
	first := slices.IndexFunc(calls, func(b session.ToolCallBlock) bool { return b.ID == from })
	if err != nil || first < 0 { // alone is always safe
		c.Log(ctx, "the modes of later calls are unknown", "session_id", c.in.Ident.Session, "error", err)
		return nil, true
	}
	for _, b := range calls[first:] {
		if !c.kind.parallel(c.shown, b) {
			ids = append(ids, b.ID)
		}
	}
	return ids, false
}

func (k *kind) parallel(v plugin.View, b session.ToolCallBlock) bool {
	t, known := k.tool(v, b.Name)
	return known && t.ParallelWith(b.Arguments)
}

// stepCalls are the calls of the step's message.
func (c *call) stepCalls(ctx context.Context) ([]session.ToolCallBlock, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	st, err := c.Store.State(ctx, c.in.Ident.Session, store.Head(*c.in.Head))
	if err != nil {
		return nil, err
	}
	for _, r := range slices.Backward(st.Surface()) {
		if m, ok := r.Event.(session.AssistantMessage); ok && m.Turn == c.in.Turn && m.Step == c.in.Step {
			return m.Message.Content.ToolCalls(), nil
		}
	}
	return nil, nil
}
