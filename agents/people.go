package agents

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
	"github.com/google/uuid"
)

// AnswerOptions are for the record.
type AnswerOptions struct {
	By        string
	RequestID string // the same request is applied once; made up if empty
}

// Answer answers the questions that a call asks, all at once. id is one of State.Deferred, of kind signals.WaitQuestion;
// what does not fit the questions is a [*RefusedError], and the call waits on. See architecture A3.7.
func (a *Agent) Answer(ctx context.Context, id string, answers []signals.AnswerTo, o AnswerOptions) error {
	in := signals.Answers{RequestID: made(o.RequestID), ID: id, Answers: answers, By: o.By}
	_, err := a.Act(ctx, signals.AnswerAsked, in)
	return err
}

// Questions are what a deferred call asks.
func Questions(d signals.Deferred) (out []signals.Question, err error) {
	if err = json.Unmarshal(d.Questions, &out); err != nil {
		err = fmt.Errorf("questions of %s: %w", d.ID, err)
	}
	return out, err
}

// GiveResult gives the result of a call that a program of the caller's runs; r.ID is one of State.Deferred, of kind
// signals.WaitClient. A large result is stored first. A call that does not wait any more refuses it, and so does one whose
// result nobody could read: that is a [*RefusedError].
func (a *Agent) GiveResult(ctx context.Context, r signals.CallResult) error {
	r.RequestID = made(r.RequestID)
	r, err := a.client.resultBody(ctx, r)
	if err != nil {
		return a.wrap(signals.GiveResult, err)
	}
	if err := r.Validate(); err != nil {
		return &RefusedError{Code: signals.ErrInvalid, Message: err.Error()}
	}
	_, err = a.Act(ctx, signals.GiveResult, r)
	return err
}

func made(id string) string {
	if id == "" {
		return uuid.NewString()
	}
	return id
}

// resultBody makes a result small enough for a signal. A large value is stored as the text that the model would be shown.
// See architecture A3.4.
func (c *Client) resultBody(ctx context.Context, r signals.CallResult) (signals.CallResult, error) {
	content := r.Result()
	if len(r.Value) > 0 {
		var text bytes.Buffer
		if err := json.Compact(&text, r.Value); err != nil {
			return r, &RefusedError{Code: signals.ErrInvalid, Message: "the value is not valid JSON: " + err.Error()}
		}
		content = session.TextContent(text.String())
	}
	raw, err := json.Marshal(content)
	if err != nil || r.Body != nil || len(raw) <= signals.MaxInline {
		return r, err
	}
	if len(raw) > signals.MaxBody {
		return r, &RefusedError{Code: "TOO_LARGE", Message: fmt.Sprintf("the result is %d bytes; at most %d are taken: put it into a file and give its name", len(raw), signals.MaxBody)}
	}
	blob, err := c.Store.PutBlob(ctx, raw, session.StoredContent)
	if err != nil {
		return r, fmt.Errorf("store the result: %w", err)
	}
	r.Text, r.Value, r.Content, r.Body = "", nil, nil, &blob
	return r, nil
}
