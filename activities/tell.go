package activities

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/webhook"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// Tell keeps the index of what waits and names the webhooks that are to be called; asked once more for one of these, it
// calls it. It may run any number of times: the index does not change, and every call of a webhook has the same id.
//
// It does not ask whether the agent goes on in another epoch: what happened, happened.
func (a *Activities) Tell(ctx context.Context, in work.TellIn) (work.TellOut, error) {
	out, err := a.inform(ctx, in)
	if err != nil {
		return work.TellOut{}, a.leave(err, "tell "+in.Kind)
	}
	return out, nil
}

func (a *Activities) inform(ctx context.Context, in work.TellIn) (out work.TellOut, err error) {
	if in.Ident.Rules > work.Rules {
		return out, unfit(work.ErrWorkerTooOld, fmt.Errorf("agent %s goes by rules %d, this worker knows %d", in.Ident.Session, in.Ident.Rules, work.Rules))
	}
	k, err := a.kind(in.Ident.Definition)
	if err != nil {
		return out, unfit(work.ErrUnknownDefinition, err)
	}
	if err := a.sameStore(in.Ident); err != nil {
		return out, unfit(work.ErrWrongStore, err)
	}
	if in.Target == "" {
		if err := a.index(ctx, in); err != nil {
			return out, err
		}
	}
	spec, err := a.specOfTold(ctx, in)
	if err != nil {
		return out, err
	}
	for _, t := range targets(k.Definition, spec, in.Kind) {
		if in.Target == "" {
			out.Targets = append(out.Targets, t.Target)
		} else if t.Key == in.Target {
			return out, a.deliver(ctx, in, t)
		}
	}
	if in.Target != "" {
		return out, final{a.Later(fmt.Errorf("this worker knows no such webhook of definition %s: it may be another deployment's", in.Ident.Definition), 0)}
	}
	return out, nil
}

// specOfTold is what the agent was created with. One that was erased meanwhile has no webhooks of its own any more.
func (a *Activities) specOfTold(ctx context.Context, in work.TellIn) (work.Spec, error) {
	spec, err := a.spec(ctx, in.Ident.Spec)
	if errors.Is(err, store.ErrNotFound) {
		return work.Spec{}, nil
	}
	return spec, err
}

// index notes what waits, or that it waits no longer.
func (a *Activities) index(ctx context.Context, in work.TellIn) error {
	id := in.Ident
	switch {
	case in.Wait != nil:
		w := in.Wait
		return a.Store.Asked(ctx, store.Waiting{Session: id.Session, Epoch: id.Epoch, ID: w.ID, Kind: w.Kind, Definition: id.Definition,
			Title: in.Title, Parent: in.Parent, Turn: in.Turn, CallID: w.CallID, Tool: w.Tool, Reason: w.Reason, Digest: w.Digest, SinceMS: in.Time, DueMS: w.DueMS})
	case in.Ended != nil:
		return a.Store.WaitEnded(ctx, id.Session, id.Epoch, in.Ended.ID)
	}
	return nil
}

// deliver calls one webhook, once.
func (a *Activities) deliver(ctx context.Context, in work.TellIn, t target) error {
	secret, err := a.Webhooks.secret(t.hook.Secret)
	if err != nil { // a deployment may bring it
		return final{a.Later(fmt.Errorf("webhook %s: %w", t.Host, err), 0)}
	}
	body, err := a.delivery(ctx, in)
	if err != nil {
		return err
	}
	err = a.hooks.Send(ctx, t.hook.URL, secret, deliveryID(in), body)
	var failed *webhook.Error
	switch {
	case errors.As(err, &failed) && failed.Permanent:
		return a.refuse(work.ErrUntellable, failed)
	case err != nil:
		after := time.Duration(0)
		if failed != nil {
			after = min(failed.After, work.TellPatience)
		}
		return final{a.Later(err, after)}
	}
	return nil
}

// deliveryID is the same for every try, and fit for a header, which an agent's id need not be.
func deliveryID(in work.TellIn) string {
	sum := sha256.Sum256([]byte(in.ID))
	return "told_" + hex.EncodeToString(sum[:16])
}

// A delivery is what a webhook gets. Fields are only added. See docs/webhooks.md.
type delivery struct {
	ID    string    `json:"id"`
	Type  string    `json:"type"`
	Time  time.Time `json:"time"`
	Agent toldAgent `json:"agent"`
	Turn  int       `json:"turn,omitempty"`
	Step  int       `json:"step,omitempty"`
	Data  any       `json:"data"`
}

type toldAgent struct {
	ID         string `json:"id"`
	Definition string `json:"definition"`
	Title      string `json:"title,omitempty"`
	Parent     string `json:"parent,omitempty"`
}

func (a *Activities) delivery(ctx context.Context, in work.TellIn) ([]byte, error) {
	d := delivery{ID: deliveryID(in), Type: in.Kind, Time: time.UnixMilli(in.Time).UTC(), Turn: in.Turn, Step: in.Step,
		Agent: toldAgent{ID: in.Ident.Session, Definition: in.Ident.Definition, Title: in.Title, Parent: in.Parent}}
	switch {
	case in.Wait != nil:
		d.Data = waitOf(*in.Wait)
	case in.Ended != nil:
		d.Data = in.Ended
	case in.Reason != nil:
		data, err := a.turnOf(ctx, in)
		if err != nil {
			return nil, err
		}
		d.Data = data
	case in.Spent != nil:
		d.Data = in.Spent
	default:
		d.Data = struct {
			Error *session.Failure `json:"error"`
		}{in.Failure}
	}
	return json.Marshal(d)
}

// toldWait is what a person, or a program, needs to answer.
type toldWait struct {
	ID            string          `json:"id"`
	Kind          string          `json:"kind"`
	CallID        string          `json:"callId"`
	Tool          string          `json:"tool"`
	Arguments     json.RawMessage `json:"arguments,omitempty"`
	ArgumentBytes int64           `json:"argumentBytes,omitempty"` // if they are too long to be told: read them in the log
	Reason        string          `json:"reason,omitempty"`
	Digest        string          `json:"digest,omitempty"`
	Questions     json.RawMessage `json:"questions,omitempty"`
	Due           *time.Time      `json:"due,omitempty"`
	Answer        toldAnswer      `json:"answer"`
}

// toldAnswer says how: one of the signals, or updates, to the agent's workflow, with what is filled in of the payload.
type toldAnswer struct {
	Signals []string          `json:"signals"`
	Payload map[string]string `json:"payload"`
}

func waitOf(w work.Waits) toldWait {
	out := toldWait{ID: w.ID, Kind: w.Kind, CallID: w.CallID, Tool: w.Tool, Reason: w.Reason, Digest: w.Digest, Questions: w.Questions}
	if w.DueMS > 0 {
		due := time.UnixMilli(w.DueMS).UTC()
		out.Due = &due
	}
	switch {
	case w.Blob != nil:
		out.ArgumentBytes = w.Blob.Bytes
	case json.Valid([]byte(w.Arguments)):
		out.Arguments = json.RawMessage(w.Arguments)
	case w.Arguments != "":
		out.Arguments, _ = json.Marshal(w.Arguments) // a string has a JSON form
	}
	out.Answer.Payload = map[string]string{"id": w.ID}
	switch w.Kind {
	case work.WaitQuestion:
		out.Answer.Signals = []string{signals.AnswerAsked}
	case work.WaitClient:
		out.Answer.Signals = []string{signals.GiveResult}
	default:
		out.Answer.Signals = []string{signals.Approve, signals.DenyCall}
		if w.Digest != "" {
			out.Answer.Payload["digest"] = w.Digest
		}
	}
	return out
}

// toldTurn is how a turn ended.
type toldTurn struct {
	Reason   session.TurnReason `json:"reason"`
	Messages []string           `json:"messages,omitempty"` // ids of what it took
	Text     string             `json:"text,omitempty"`     // of its last message
	Cut      bool               `json:"cut,omitempty"`      // it is longer
}

const (
	maxToldText = 2 << 10
	lookBack    = 256 // events before the end of the log in which the turn's last message is looked for
)

// turnOf finds the turn's last words at the end of the log.
func (a *Activities) turnOf(ctx context.Context, in work.TellIn) (out toldTurn, err error) {
	out.Reason, out.Messages = *in.Reason, in.Ids
	if in.Head == nil || in.Head.Count == 0 {
		return out, nil
	}
	head := store.Head{Hash: in.Head.Hash, Count: in.Head.Count}
	for r, err := range a.Store.Facts(ctx, in.Ident.Session, head, max(0, head.Count-lookBack)) {
		if errors.Is(err, store.ErrNotFound) { // it was erased meanwhile
			return out, nil
		}
		if err != nil {
			return out, fmt.Errorf("last words of turn %d of %s: %w", in.Turn, in.Ident.Session, err)
		}
		if m, ok := r.Event.(session.AssistantMessage); ok && m.Turn == in.Turn {
			out.Text = m.Message.Text()
		}
	}
	if len(out.Text) > maxToldText {
		out.Text, out.Cut = valid(out.Text[:maxToldText]), true
	}
	return out, nil
}
