package activities

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// Reset prepares an agent whose run was set back to an earlier point: it claims an epoch, which fences the writers of the
// abandoned run, names the head at that point as the log's end, and looks up which effects the abandoned run had started
// after it. It may run again. See architecture A3.12.
func (a *Activities) Reset(ctx context.Context, in work.ResetIn) (work.ResetOut, error) {
	out, err := a.reset(ctx, in)
	if err != nil {
		return work.ResetOut{}, fmt.Errorf("reset of %s: %w", in.Ident.Session, err) // always worth another try
	}
	return out, nil
}

func (a *Activities) reset(ctx context.Context, in work.ResetIn) (out work.ResetOut, err error) {
	k, err := a.kind(in.Ident.Definition)
	if err != nil {
		return out, err
	}
	if err := a.sameStore(in.Ident); err != nil {
		return out, err
	}
	if a.Heartbeat != nil { // a run that was reset in its turn learns here that it is over: it must not claim anything
		a.Heartbeat(ctx)
	}
	if err := ctx.Err(); err != nil {
		return out, err
	}
	if out.Epoch, err = a.claimAnew(ctx, in); err != nil {
		return out, err
	}
	if err := a.Store.PublishHead(ctx, in.Ident.Session, out.Epoch, store.Head(in.Head)); err != nil {
		return out, err
	}
	if out.Context, err = a.lookBack(ctx, in, out.Epoch); err != nil {
		return out, err
	}
	out.Worker = a.worker(k, in.Ident)
	return out, nil
}

// claimAnew claims the next epoch for the run, or finds the one that an earlier execution claimed.
func (a *Activities) claimAnew(ctx context.Context, in work.ResetIn) (int64, error) {
	id, owner := in.Ident.Session, "reset "+in.RunID
	highest, err := a.Store.HighestEpoch(ctx, id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return 0, err
	}
	if highest = max(highest, in.Ident.Epoch); highest > in.Ident.Epoch && a.Store.ClaimEpoch(ctx, id, highest, owner) == nil {
		return highest, nil
	}
	return highest + 1, a.Store.ClaimEpoch(ctx, id, highest+1, owner)
}

// lookBack makes the message that tells the model which effects there were after the point that the run was set back to;
// nil if none is known. What it is not told it would repeat blindly.
func (a *Activities) lookBack(ctx context.Context, in work.ResetIn, until int64) (*session.Message, error) {
	var lines []string
	for epoch := in.Ident.Epoch; epoch < until; epoch++ {
		prefix := fmt.Sprintf("%s/%d/", in.Ident.Session, epoch)
		started, err := a.Store.StartedEffects(ctx, prefix)
		if err != nil {
			return nil, err
		}
		for _, e := range started {
			p, ok := placeOf(strings.TrimPrefix(e.Key, prefix))
			if !ok || !p.after(in.Turn, in.Step) {
				continue
			}
			line, err := a.effectLine(ctx, e, p)
			if err != nil {
				return nil, err
			}
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return nil, nil
	}
	text := "This conversation was set back to an earlier point. After that point these tool calls had been started, which you do not " +
		"see here. Their effects were not undone: check before you repeat one.\n" + strings.Join(lines, "\n")
	m := session.Message{ID: fmt.Sprintf("reset-%d", until), Role: session.RoleUser, Content: session.TextContent(text),
		Source: session.Source{Kind: session.SourcePlugin, Plugin: "everturn", Form: "notice", Summary: "the conversation was set back"}}
	var err error
	m.Content, err = a.inline(ctx, m.Content)
	return &m, err
}

// An effectPlace is where in a session a call was made.
type effectPlace struct {
	turn, step int
	call       string
}

// placeOf reads the end of an idempotency key: turn.step/callId.
func placeOf(text string) (p effectPlace, ok bool) {
	at, call, found := strings.Cut(text, "/")
	turn, step, dotted := strings.Cut(at, ".")
	var bad, worse error
	p.turn, bad = strconv.Atoi(turn)
	p.step, worse = strconv.Atoi(step)
	p.call = call
	return p, found && dotted && errors.Join(bad, worse) == nil
}

func (p effectPlace) after(turn, step int) bool {
	return cmp.Or(cmp.Compare(p.turn, turn), cmp.Compare(p.step, step)) > 0
}

// maxToldResult bounds what is told of one call, in bytes.
const maxToldResult = 400

func (a *Activities) effectLine(ctx context.Context, e store.StartedEffect, p effectPlace) (string, error) {
	what := string(e.Note)
	if what == "" {
		what = "call " + p.call
	}
	entry, err := a.Store.Effect(ctx, e.Key)
	if err != nil {
		return "", err
	}
	ending := "it is not known whether it took effect"
	if entry.State == store.EffectDone {
		var out work.ToolOut
		if err := json.Unmarshal(entry.Result, &out); err != nil {
			return "", fmt.Errorf("effect ledger: %w", err)
		}
		ending = "it ended with: " + short(out.Content.Text(), maxToldResult)
	}
	return fmt.Sprintf("- %s, turn %d step %d: %s", what, p.turn, p.step, ending), nil
}

// short is one line of at most n bytes.
func short(text string, n int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > n {
		return valid(text[:n]) + "…"
	}
	return text
}
