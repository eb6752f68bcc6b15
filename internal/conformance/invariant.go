package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"slices"

	"github.com/everturn/everturn/activities"
	"github.com/everturn/everturn/internal/stream"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
)

// invariants is what is checked of every scenario, whatever it looks at.
func (r *run) invariants(ctx context.Context) error {
	records, err := r.log(ctx)
	if err != nil {
		return err
	}
	for i, rec := range records {
		if rec.Seq != int64(i) {
			return fmt.Errorf("event %d of the log has the seq %d", i, rec.Seq)
		}
	}
	state, err := session.Fold(r.from.seed, records)
	if err != nil {
		return fmt.Errorf("the log breaks a rule: %w", err)
	}
	if _, open := state.Turn(); open {
		return fmt.Errorf("a turn is open")
	}
	if err := r.checkRequests(records); err != nil {
		return err
	}
	if err := r.checkMessages(records, state.Inbox()); err != nil {
		return err
	}
	return checkFrames(r.frames.list(), records)
}

// checkRequests rebuilds every request from the log and compares it with what the model was sent. See spec §4.6.2.
func (r *run) checkRequests(records []session.Record) error {
	var rebuilt []llm.Request
	for _, rec := range records {
		e, ok := rec.Event.(session.StepStart)
		if !ok || rec.Seq < r.from.before() {
			continue
		}
		requests, err := activities.Requests(session.Header{ID: r.agent.ID(), SeedLength: r.from.seed}, yieldAll(records), e.Turn, e.Step)
		if err != nil {
			return fmt.Errorf("rebuild the requests of step %d.%d: %w", e.Turn, e.Step, err)
		}
		rebuilt = append(rebuilt, requests...)
	}
	sent := r.asked()
	if len(sent) != len(rebuilt) {
		return fmt.Errorf("the model was sent %d requests, but the log yields %d", len(sent), len(rebuilt))
	}
	for i := range sent {
		have, want := sent[i], asJSON(rebuilt[i])
		if have != want {
			return fmt.Errorf("request %d is not what the log yields: sent %s, rebuilt %s", i+1, have, want)
		}
	}
	return nil
}

func yieldAll(records []session.Record) iter.Seq2[session.Record, error] {
	return func(yield func(session.Record, error) bool) {
		for _, r := range records {
			if !yield(r, nil) {
				return
			}
		}
	}
}

func asJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// checkMessages follows every message: what was accepted is in the log, and each insertion came to exactly one end.
func (r *run) checkMessages(records []session.Record, inbox session.Inbox) error {
	f := fates{}
	for _, rec := range records[min(r.from.seed, int64(len(records))):] {
		switch e := rec.Event.(type) {
		case session.InboxSpliced:
			f.splice(e)
		case session.InboxMoved:
			f.move(e)
		case session.UserMessage:
			f.enter(e.ID)
		}
	}
	for _, id := range r.inserts {
		if f.inserted[id] == 0 {
			return fmt.Errorf("message %s was accepted, but the log does not have it", id)
		}
		f.inserted[id]--
	}
	for id, n := range f.entered {
		if n > f.claimed[id] && f.claimed[id] > 0 {
			return fmt.Errorf("message %s was claimed %d times, but entered %d times", id, f.claimed[id], n)
		}
	}
	pending := f.inbox
	for _, list := range [][2][]session.Message{{pending.NextTurn, inbox.NextTurn}, {pending.NextStep, inbox.NextStep}} {
		if !slices.EqualFunc(list[0], list[1], func(a, b session.Message) bool { return a.ID == b.ID }) {
			return fmt.Errorf("the inbox is not what the log says")
		}
	}
	return f.err
}

// fates counts what became of messages.
type fates struct {
	inbox                      session.Inbox
	inserted, claimed, entered map[string]int
	err                        error
}

func (f *fates) splice(e session.InboxSpliced) {
	if f.inserted == nil {
		f.inserted, f.claimed, f.entered = map[string]int{}, map[string]int{}, map[string]int{}
	}
	list := f.inbox.NextTurn
	if e.Target == session.NextStep {
		list = f.inbox.NextStep
	}
	if e.Outcome == "" && e.RemovedCount > 0 && e.Start+e.RemovedCount <= len(list) {
		for _, m := range list[e.Start : e.Start+e.RemovedCount] {
			f.claimed[m.ID]++
		}
	}
	for _, m := range e.Inserted {
		f.inserted[m.ID]++
	}
	if err := f.inbox.Apply(e); err != nil && f.err == nil {
		f.err = err
	}
}

// move changes the order; every message stays what it is.
func (f *fates) move(e session.InboxMoved) {
	if err := f.inbox.ApplyMove(e); err != nil && f.err == nil {
		f.err = err
	}
}

func (f *fates) enter(id string) {
	if f.entered == nil {
		f.entered = map[string]int{}
	}
	f.entered[id]++
}

// checkFrames compares the live feed with the log: revisions rise, chunks and ends tell what is there. See spec §2.5.
func checkFrames(all []stream.Frame, records []session.Record) error {
	last := int64(0)
	for _, f := range all {
		if f.Kind == stream.KindGap {
			return fmt.Errorf("the live feed lost frames")
		}
		if f.Revision <= last {
			return fmt.Errorf("frame revision %d comes after %d", f.Revision, last)
		}
		last = f.Revision
		if err := checkFrame(f, records); err != nil {
			return err
		}
	}
	return nil
}

func checkFrame(f stream.Frame, records []session.Record) error {
	seq := f.Seq
	if f.Outcome != nil {
		seq = f.Outcome.Seq
	}
	if f.Kind != stream.KindChunk && f.Kind != stream.KindEnd {
		return nil
	}
	if seq < 0 || seq >= int64(len(records)) {
		return fmt.Errorf("a %s frame tells of event %d, which the log does not have", f.Kind, seq)
	}
	switch e := records[seq].Event.(type) {
	case session.AssistantChunk:
		if f.Kind == stream.KindChunk && reflect.DeepEqual(f.Chunk, e.Chunk) {
			return nil
		}
	case session.AssistantMessage, session.AssistantAttempt:
		if f.Kind == stream.KindEnd && e.Type() == f.Outcome.EventType {
			return nil
		}
	}
	return fmt.Errorf("a %s frame tells of something else than event %d, which is %s", f.Kind, seq, records[seq].Event.Type())
}
