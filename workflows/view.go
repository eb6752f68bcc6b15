package workflows

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// View is the state as callers see it. The local engine answers with the same function.
func View(s *driver.State) signals.State {
	return signals.State{
		ID: s.Session, Definition: s.Definition, Title: s.Title, Parent: s.Parent, Model: s.Model, Status: status(s), Turn: s.Turn, Step: step(s),
		Attempt: s.Attempt, Phase: string(s.Phase), Cancel: s.Cancelled, WaitingFor: waitingFor(s), Inbox: inbox(s), Calls: calls(s),
		Deferred: deferred(s), Children: children(s), Maintenance: maintenance(s), Log: logHead(s), Revision: s.Revision, IdleGeneration: s.Generation,
		Rules: s.Rules, Manifest: s.Manifest.Digest, LastError: s.LastError, Usage: s.Usage,
		Spec: s.Spec, Queue: s.Queue, Metadata: Metadata(s.Metadata), Changing: s.Change != nil || len(s.Configures) > 0, Approvals: approvals(s), Plan: s.Plan,
	}
}

// Metadata reads the recorded metadata of a state; nil if there is none.
func Metadata(raw json.RawMessage) map[string]string {
	var m map[string]string
	if len(raw) == 0 || json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return m
}

// step is the step that runs or ran last; while a proposed one is being entered it is that one.
func step(s *driver.State) int {
	if s.Phase == driver.Stepping && !s.StepOpen {
		return s.Step + 1
	}
	return s.Step
}

func status(s *driver.State) string {
	switch s.Phase {
	case driver.Birth:
		return "creating"
	case driver.Closed:
		return "closed"
	default:
		return s.Status()
	}
}

// waitingFor says in words what has to happen next.
func waitingFor(s *driver.State) string {
	switch s.Phase {
	case driver.Birth:
		return "a worker to set the agent up"
	case driver.Stepping:
		return fmt.Sprintf("the model (turn %d step %d attempt %d)", s.Turn, step(s), s.Attempt)
	case driver.Retrying:
		return fmt.Sprintf("retry %d at %s", s.Retry.Number, clock(s.Retry.DueMS)) + unless(s.Retry.After == "", " after "+s.Retry.After)
	case driver.Tools:
		return waitingForCalls(s)
	case driver.Starting, driver.Stopping:
		return "a hook"
	case driver.Maintaining:
		return "maintenance: " + s.Maintenance.Task
	case driver.Claiming, driver.Draining:
		return "the store"
	case driver.Idle:
		if s.Disposing {
			return "its children to end: " + strings.Join(children(s), ", ")
		}
		if s.Log.Broken != "" {
			return "the store, to flush the log" + unless(s.Log.Since == 0, ", since "+clock(s.Log.Since)) + ": " + s.Log.Broken
		}
		return ""
	default:
		return ""
	}
}

// clock is a time of Unix ms as people read it.
func clock(ms int64) string { return time.UnixMilli(ms).UTC().Format(time.RFC3339) }

// unless leaves a text out: states of earlier workers do not know everything.
func unless(unknown bool, text string) string {
	if unknown {
		return ""
	}
	return text
}

// waitingForCalls says which tools run and which calls wait for somebody.
func waitingForCalls(s *driver.State) string {
	parts := working(s)
	for _, d := range deferred(s) {
		parts = append(parts, sayDeferred(d))
	}
	return strings.Join(parts, "; ")
}

// working says which tools and child agents run.
func working(s *driver.State) []string {
	var parts []string
	if names := runningTools(s); len(names) > 0 {
		parts = append(parts, "tools: "+strings.Join(names, ", "))
	}
	for _, c := range s.Calls {
		if c.State == driver.CallDelegated {
			parts = append(parts, "child agent "+c.Child)
		}
	}
	return parts
}

func maintenance(s *driver.State) *signals.Maintenance {
	m := s.Maintenance
	if m == nil {
		return nil
	}
	return &signals.Maintenance{Request: m.Request, Task: m.Task, Done: m.Done, Result: m.Result, Failure: m.Failure}
}

func children(s *driver.State) []string {
	out := []string{}
	for _, c := range s.Children {
		out = append(out, c.ID)
	}
	return out
}

func runningTools(s *driver.State) []string {
	var names []string
	for _, c := range s.Calls {
		if c.State == driver.CallRunning || c.State == driver.CallGating || c.State == driver.CallPosting {
			names = append(names, c.Name)
		}
	}
	return names
}

func inbox(s *driver.State) []signals.Pending {
	out := []signals.Pending{}
	for _, p := range s.NextStep {
		out = append(out, signals.Pending{ID: p.ID, Target: session.NextStep, Bytes: p.Bytes})
	}
	for _, p := range s.NextTurn {
		out = append(out, signals.Pending{ID: p.ID, Target: session.NextTurn, Bytes: p.Bytes})
	}
	return out
}

func calls(s *driver.State) []signals.CallState {
	out := []signals.CallState{}
	for _, c := range s.Calls {
		state := string(c.State)
		if c.State == driver.CallWaiting {
			state = "waiting"
		}
		out = append(out, signals.CallState{ID: c.ID, Name: c.Name, State: state})
	}
	return out
}

func logHead(s *driver.State) signals.LogHead {
	return signals.LogHead{Epoch: s.Epoch, Hash: s.Log.Head.Hash, Count: s.Log.Head.Count, Tail: len(s.Log.Tail),
		Waiting: len(s.Log.Waiting), Lent: s.Log.Lent != "", Problem: s.Log.Broken, StoreID: s.Store}
}

// LogView is what the store does not hold yet.
func LogView(s *driver.State) signals.Log {
	return signals.Log{Head: logHead(s), Tail: s.Log.Tail, Waiting: s.Log.Waiting, Revision: s.Revision}
}

// IdleView answers whenIdle.
func IdleView(s *driver.State, in signals.WhenIdle) signals.Idle {
	idle := s.Quiet() && (in.After == nil || s.Generation > *in.After)
	return signals.Idle{Idle: idle, Generation: s.Generation, Revision: s.Revision}
}

// MessageView says where a message is.
func MessageView(s *driver.State, id string) signals.MessageState {
	f := s.Fate(id)
	return signals.MessageState{State: cmp.Or(f.State, "unknown"), Turn: f.Turn, Kind: f.Kind, Count: s.Log.Head.Count, Target: f.Target, Step: f.Step,
		Consumed: f.Consumed, Edited: f.Edited, Cause: f.Cause, ReplacedBy: f.ReplacedBy, Reason: f.Reason}
}

func (a *agent) view() signals.State {
	s := View(a.driver.State())
	s.WaitingFor = cmp.Or(a.blocked, s.WaitingFor)
	return s
}

func (a *agent) logView() signals.Log { return LogView(a.driver.State()) }

// isIdle answers whenIdle. An agent that cannot read what it was sent is not idle.
func (a *agent) isIdle(in signals.WhenIdle) signals.Idle {
	idle := IdleView(a.driver.State(), in)
	idle.Idle = idle.Idle && a.blocked == ""
	return idle
}

func (a *agent) messageView(id string) signals.MessageState { return MessageView(a.driver.State(), id) }

// The search attributes, typed.
var (
	attrStatus     = temporal.NewSearchAttributeKeyKeyword(signals.AttrStatus)
	attrDefinition = temporal.NewSearchAttributeKeyKeyword(signals.AttrDefinition)
	attrModel      = temporal.NewSearchAttributeKeyKeyword(signals.AttrModel)
	attrTurn       = temporal.NewSearchAttributeKeyInt64(signals.AttrTurn)
	attrWaiting    = temporal.NewSearchAttributeKeyKeyword(signals.AttrWaiting)
	attrParent     = temporal.NewSearchAttributeKeyKeyword(signals.AttrParent)
)

// transition updates the search attributes, in one command, when the status or what it waits for changes.
func (a *agent) transition(t driver.Transition) {
	s := a.driver.State()
	if !s.Manifest.Attributes {
		return // not registered on this server: an upsert would fail the task for ever
	}
	if err := workflow.UpsertTypedSearchAttributes(a.ctx, listed(s, t)...); err != nil {
		workflow.GetLogger(a.ctx).Warn("search attributes not updated", "error", err)
	}
}

// listed are the search attributes of a status.
func listed(s *driver.State, t driver.Transition) []temporal.SearchAttributeUpdate {
	set := []temporal.SearchAttributeUpdate{attrStatus.ValueSet(t.Status), attrTurn.ValueSet(int64(t.Turn)), attrDefinition.ValueSet(s.Definition)}
	if s.Manifest.Rules > 1 {
		set = append(set, waitingUpdate(t.Waiting))
	}
	if t.Model != "" {
		set = append(set, attrModel.ValueSet(t.Model))
	}
	if s.Parent != "" {
		set = append(set, attrParent.ValueSet(s.Parent))
	}
	return set
}

// memo shows the recorded metadata in listings.
func (a *agent) memo(r driver.Recorded) {
	value := any(nil) // takes an earlier one away
	if len(r.Metadata) > 0 {
		value = r.Metadata
	}
	if err := workflow.UpsertMemo(a.ctx, map[string]any{signals.MemoMetadata: value}); err != nil {
		workflow.GetLogger(a.ctx).Warn("metadata not shown in listings", "error", err)
	}
}

func waitingUpdate(waiting string) temporal.SearchAttributeUpdate {
	if waiting == "" {
		return attrWaiting.ValueUnset()
	}
	return attrWaiting.ValueSet(waiting)
}
