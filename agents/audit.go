package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/everturn/everturn/session"
)

// An Approval is what the log says of one call that had to be asked about.
type Approval struct {
	Agent  string    `json:"agent"`
	ID     string    `json:"id"` // what a decision names
	Turn   int       `json:"turn"`
	Step   int       `json:"step"`
	CallID string    `json:"callId"`
	Asked  time.Time `json:"asked"`
	Due    time.Time `json:"due,omitzero"` // zero: without end

	Tool      string `json:"tool"`
	Arguments string `json:"arguments"`        // the model's, in full
	Digest    string `json:"digest,omitempty"` // of both
	Why       string `json:"why,omitempty"`    // it had to be asked about

	Decided time.Time       `json:"decided,omitzero"`  // zero: it waits, or its run ended without a decision
	Outcome string          `json:"outcome,omitempty"` // granted, rejected, expired or cancelled
	By      string          `json:"by,omitempty"`
	Reason  string          `json:"reason,omitempty"`
	Via     string          `json:"via,omitempty"`    // policy or rule; empty: a person, a deadline or a cancel
	Rule    string          `json:"rule,omitempty"`   // that let it run, or that the decision left behind
	Edited  json.RawMessage `json:"edited,omitempty"` // what was executed in the place of Arguments

	Result string `json:"result,omitempty"` // of the call: ok, error or the error's code; empty: there is none yet
}

// Approvals are the calls of the agent that had to be asked about, in the order of the log. They come from the store; no
// worker is needed. What a fork began with is not its own.
func (a *Agent) Approvals(ctx context.Context) ([]Approval, error) {
	header, err := a.Header(ctx)
	if err != nil {
		return nil, err
	}
	f := audit{agent: a.id, blob: func(sha256 string) ([]byte, error) { return a.client.Store.Blob(ctx, sha256) }}
	for r, err := range a.Log(ctx, header.SeedLength) {
		if err != nil {
			return nil, err
		}
		if err := f.fold(r); err != nil {
			return nil, a.wrap("audit", fmt.Errorf("event %d: %w", r.Seq, err))
		}
	}
	return f.all, nil
}

// An audit reads a log.
type audit struct {
	agent string
	blob  func(sha256 string) ([]byte, error)
	all   []Approval
	calls []session.ToolCall // of the open step
	ruled struct{ By, Reason string }
}

func (f *audit) fold(r session.Record) error {
	switch e := r.Event.(type) {
	case session.StepStart:
		f.calls = nil
	case session.ToolCall:
		f.calls = append(f.calls, e)
	case session.ToolResult:
		f.result(e, r.Surface.Replace)
	case session.Feature:
		switch e.Kind {
		case "approval/asked":
			return f.asked(r.Time, e.Data)
		case "approval/decided":
			return f.decided(r.Time, e.Data)
		case "approval/policy":
			f.ruled.By, f.ruled.Reason = "", ""
			return json.Unmarshal(e.Data, &f.ruled)
		}
	}
	return nil
}

// asked notes a request. Workers of before say only which call it is about, which is in its tool/call.
func (f *audit) asked(at int64, data json.RawMessage) error {
	var e struct {
		ID, CallID, Tool, Arguments, Digest, Reason string
		Turn, Step                                  int
		DeadlineMS                                  int64
		ArgumentsBlob                               *session.Artifact
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return err
	}
	for _, c := range f.calls {
		if c.CallID == e.CallID && e.Tool == "" {
			e.Tool, e.Arguments, e.ArgumentsBlob = c.Name, c.Arguments, c.ArgumentsBlob
		}
	}
	if e.ArgumentsBlob != nil {
		text, err := f.blob(e.ArgumentsBlob.SHA256)
		if err != nil {
			return fmt.Errorf("arguments of call %s: %w", e.CallID, err)
		}
		e.Arguments = string(text)
	}
	one := Approval{Agent: f.agent, ID: e.ID, Turn: e.Turn, Step: e.Step, CallID: e.CallID, Asked: time.UnixMilli(at).UTC(),
		Tool: e.Tool, Arguments: e.Arguments, Digest: e.Digest, Why: e.Reason}
	if e.DeadlineMS > 0 {
		one.Due = time.UnixMilli(at + e.DeadlineMS).UTC()
	}
	f.all = append(f.all, one)
	return nil
}

func (f *audit) decided(at int64, data json.RawMessage) error {
	var e struct {
		ID, Outcome, By, Reason, Via, Rule string
		Edited                             json.RawMessage
	}
	if err := json.Unmarshal(data, &e); err != nil {
		return err
	}
	if e.Via == "policy" { // who set it answers for it
		e.By, e.Reason = f.ruled.By, f.ruled.Reason
	}
	for i := range f.all {
		if a := &f.all[i]; a.ID == e.ID && a.Outcome == "" {
			a.Decided, a.Outcome, a.By, a.Reason = time.UnixMilli(at).UTC(), e.Outcome, e.By, e.Reason
			a.Via, a.Rule, a.Edited = e.Via, e.Rule, e.Edited
		}
	}
	return nil
}

func (f *audit) result(e session.ToolResult, projection bool) {
	if projection || len(e.Message.Content) == 0 {
		return
	}
	block, ok := e.Message.Content[0].(session.ToolResultBlock)
	if !ok {
		return
	}
	result := "ok"
	switch {
	case e.Error != nil:
		result = e.Error.Code
	case block.IsError:
		result = "error"
	}
	for i := range f.all {
		if a := &f.all[i]; a.CallID == block.ToolCallID && a.Turn == e.Turn && a.Step == e.Step {
			a.Result = result
		}
	}
}
