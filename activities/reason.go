package activities

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// A HistoryReader finds out who asked for the cancellation of a workflow run.
type HistoryReader interface {
	// CancelRequest returns the latest request to cancel the run; found is false if its history holds none.
	CancelRequest(ctx context.Context, workflowID, runID string) (r CancelRequest, found bool, err error)
}

// A CancelRequest is what a history says of a native cancellation.
type CancelRequest struct {
	Reason   string
	Identity string // who asked
	Workflow string // id of the workflow that asked, if one did
}

// historyPatience is how long CancelReason looks for a reason before it gives up.
const historyPatience = 2 * time.Second

// CancelReason says what the history knows about a native cancellation. When it cannot be read in time, or says
// nothing, the user cancelled. See architecture A3.9.
func (a *Activities) CancelReason(ctx context.Context, in work.CancelReasonIn) (work.CancelReasonOut, error) {
	byUser := work.CancelReasonOut{Cause: session.Cause{Kind: session.CauseUser}}
	if a.History == nil {
		return byUser, nil
	}
	ctx, cancel := context.WithTimeout(ctx, historyPatience)
	defer cancel()
	r, found, err := a.History.CancelRequest(ctx, in.Session, in.RunID)
	if err != nil {
		a.Log(ctx, "reason of a cancellation not found", "session_id", in.Session, "error", err)
	}
	if err != nil || !found {
		return byUser, nil
	}
	return reasonOf(r), nil
}

// reasonWire is a reason given as JSON.
type reasonWire struct {
	Kind      session.CauseKind `json:"kind"`
	Reason    string            `json:"reason"`
	KeepInbox bool              `json:"keepInbox"`
}

// kindDispose asks for the end of the agent, as a reason of its own or as the kind of a JSON reason.
const kindDispose = "dispose"

func reasonOf(r CancelRequest) work.CancelReasonOut {
	out := work.CancelReasonOut{Cause: session.Cause{Kind: session.CauseUser}, By: clip(r.Identity), Text: clip(r.Reason)}
	if r.Workflow != "" {
		out.Cause.Kind, out.By = session.CauseParent, r.Workflow
	}
	text := strings.TrimSpace(r.Reason)
	var w reasonWire
	if json.Unmarshal([]byte(text), &w) != nil {
		w = reasonWire{}
	}
	switch {
	case strings.EqualFold(text, kindDispose) || w.Kind == kindDispose || w.Kind == session.CauseDisposed:
		out.Cause, out.Dispose = session.Cause{Kind: session.CauseDisposed}, true
	case w.Kind == session.CauseUser || w.Kind == session.CauseParent:
		out.Cause = session.Cause{Kind: w.Kind}
	case w.Kind == session.CauseHook:
		out.Cause = session.Cause{Kind: w.Kind, Reason: clip(w.Reason)}
	}
	out.KeepInbox = w.KeepInbox
	return out
}
