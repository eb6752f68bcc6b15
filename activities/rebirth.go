package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// A session begins anew in two ways: resumed, when its workflow is gone, and forked, from another one's log. Both get an
// epoch of their own, which fences whoever still works for an older one, and a marker at the end of what they inherit.
// See spec §7, architecture A3.12.

// An InputReader reads what callers sent to a closed run, from its raw history: what the run accepted may be in no log.
type InputReader interface {
	Inputs(ctx context.Context, workflowID, runID string) (LastInputs, error)
}

// LastInputs is what the history of a closed run holds of its inbox.
type LastInputs struct {
	Create  signals.Create     // what the agent was created with
	Spec    string             // digest of the recorded data that an earlier run handed over
	Changes []json.RawMessage  // of the recorded data, in the order of the history
	Carried []session.Record   // events that an earlier run handed over and no segment holds
	Sent    []SentInput        // messages in the order of the history; removed ones are left out
	Started []session.ToolCall // turn, step and id of the calls whose bodies were scheduled

	Known bool // whether the run could still say where its log ended
	Head  work.Head
	Tail  []session.Record
}

// A SentInput is a message that was accepted.
type SentInput struct {
	Message session.Message
	Target  string
	First   bool // it was to come before everything that is queued
}

// sourceResume is how an incarnation begins that is not the first. See spec §6.1.6.
const sourceResume = "resume"

// setupAgain gives birth to an agent whose session has a past.
func (a *Activities) setupAgain(ctx context.Context, in work.SetupIn) (work.SetupOut, error) {
	k, err := a.kindOfBirth(in.Ident.Definition)
	if err != nil {
		return work.SetupOut{}, err
	}
	begin, source := a.forked, "startup"
	last := LastInputs{}
	if in.Resume != nil {
		if last, err = a.lastInputs(ctx, in); err != nil {
			return work.SetupOut{}, err
		}
		if in.Spec, err = a.specAgain(ctx, in.Spec, last); err != nil {
			return work.SetupOut{}, err
		}
		begin, source = func(ctx context.Context, in work.SetupIn) (*work.Inherited, error) {
			from, err := a.resumed(ctx, in, last)
			if err == nil {
				err = a.readModes(ctx, in.Ident.Session, from)
			}
			return from, err
		}, sourceResume
	}
	check := a.checkSpec
	if in.Resume != nil { // the rest was checked before, and a later deployment may have gone on
		check = a.checkRoute
	}
	if err := check(k, in.Spec); err != nil {
		return work.SetupOut{}, a.refuse(work.ErrInvalidSpec, err)
	}
	acts, err := a.announce(ctx, k, in, session.Header{ID: in.Ident.Session})
	if err != nil {
		return work.SetupOut{}, err
	}
	log, err := begin(ctx, in)
	if err != nil {
		return work.SetupOut{}, err
	}
	spec, err := a.putSpec(ctx, in.Spec)
	if err != nil {
		return work.SetupOut{}, err
	}
	out := a.born(k, in, spec, acts)
	out.Source, out.Log = source, log
	return out, nil
}

// readModes finds in the log what people made of the agent: its policy about approvals, and whether it plans. A fork begins
// without: nobody let its calls run.
func (a *Activities) readModes(ctx context.Context, id string, from *work.Inherited) error {
	header, err := a.Store.Header(ctx, id)
	if err != nil {
		return err
	}
	for r, err := range a.Store.Facts(ctx, id, store.Head(from.Head), header.SeedLength) {
		if err != nil {
			return fmt.Errorf("policy and mode: %w", err)
		}
		if e, ok := r.Event.(session.Feature); ok {
			if err := readMode(e, from); err != nil {
				return fmt.Errorf("%s, event %d: %w", e.Kind, r.Seq, err)
			}
		}
	}
	return nil
}

func readMode(e session.Feature, from *work.Inherited) error {
	switch e.Kind {
	case "approval/policy":
		from.Policy = new(work.Policy)
		return json.Unmarshal(e.Data, from.Policy)
	case "plan/mode":
		var mode struct{ Active bool }
		err := json.Unmarshal(e.Data, &mode)
		from.Plan = mode.Active
		return err
	default:
		return nil
	}
}

// specAgain is the recorded data the agent had last, as far as the closed run's history still knows: what it was created
// with, or what an earlier run handed over, and the changes since. Those that were refused are refused again.
func (a *Activities) specAgain(ctx context.Context, given work.Spec, last LastInputs) (work.Spec, error) {
	k, err := a.kindOfBirth(given.Definition)
	if err != nil || last.Create.Definition == "" {
		return given, err
	}
	spec, err := specOf(last.Create)
	if last.Spec != "" {
		spec, err = a.spec(ctx, last.Spec)
	}
	if err != nil {
		return given, err
	}
	for _, change := range last.Changes {
		if changed, err := patched(spec, change); err == nil && a.checkSpec(k, changed) == nil {
			spec = changed
		}
	}
	spec.Definition, spec.CWD = given.Definition, given.CWD
	return spec, nil
}

// specOf is the recorded data that an agent is created with: both name their fields alike.
func specOf(c signals.Create) (s work.Spec, err error) {
	raw, err := json.Marshal(c)
	if err != nil {
		return s, fmt.Errorf("what the agent was created with: %w", err)
	}
	return s, json.Unmarshal(raw, &s)
}

// lastInputs asks the history of the closed run, if there is one.
func (a *Activities) lastInputs(ctx context.Context, in work.SetupIn) (LastInputs, error) {
	reader, ok := a.History.(InputReader)
	if !ok || in.Resume.RunID == "" {
		return LastInputs{}, nil
	}
	last, err := reader.Inputs(ctx, in.Ident.Session, in.Resume.RunID)
	if err != nil {
		return last, fmt.Errorf("input of the closed run: %w", err)
	}
	return last, nil
}

// resumed prepares a new incarnation of a session. See spec §7.1.
func (a *Activities) resumed(ctx context.Context, in work.SetupIn, last LastInputs) (*work.Inherited, error) {
	id := in.Ident.Session
	if _, err := a.Store.Header(ctx, id); errors.Is(err, store.ErrNotFound) {
		return nil, a.refuse(work.ErrSessionNotFound, fmt.Errorf("session %q is not in this worker's store", id))
	} else if err != nil {
		return nil, err
	}
	old, head, err := a.Store.LatestHead(ctx, id)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	epoch, again, err := a.nextEpoch(ctx, in)
	if err != nil {
		return nil, err
	}
	if again { // an execution of this activity got this far before
		if done, err := a.reborn(ctx, in, epoch); done != nil || err != nil {
			return done, err
		}
	}
	if old == 0 { // nothing was published yet
		old = epoch - 1
	}
	b := rebirth{Activities: a, in: in, epoch: epoch, head: head}
	recalled, err := b.recall(ctx, last, old)
	if err != nil {
		return nil, err
	}
	late, err := a.lateInputs(ctx, in, b.head, recalled, last)
	if err != nil {
		return nil, err
	}
	known, err := b.results(ctx, old)
	if err != nil {
		return nil, err
	}
	return b.finish(ctx, recalled, session.RepairWith(b.state, known), late)
}

// nextEpoch claims the epoch of this birth; again says that an earlier execution claimed it.
func (a *Activities) nextEpoch(ctx context.Context, in work.SetupIn) (epoch int64, again bool, err error) {
	id, owner := in.Ident.Session, ownerOf(in)
	highest, err := a.Store.HighestEpoch(ctx, id)
	if err != nil && !errors.Is(err, store.ErrNotFound) { // a fork's session has none yet
		return 0, false, err
	}
	if highest > 0 && a.Store.ClaimEpoch(ctx, id, highest, owner) == nil {
		return highest, true, nil
	}
	return highest + 1, false, a.Store.ClaimEpoch(ctx, id, highest+1, owner)
}

// ownerOf names a birth: the same for every execution of its Setup, and no other's, even within one millisecond.
func ownerOf(in work.SetupIn) string {
	owner := fmt.Sprintf("%s@%d", in.Ident.Session, in.CreatedAt)
	if in.Resume != nil {
		owner += " after " + in.Resume.RunID
	}
	return owner
}

// reborn is what an earlier execution left, if it published its head.
func (a *Activities) reborn(ctx context.Context, in work.SetupIn, epoch int64) (*work.Inherited, error) {
	published, head, err := a.Store.LatestHead(ctx, in.Ident.Session)
	if errors.Is(err, store.ErrNotFound) || err == nil && published < epoch {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	state, err := a.Store.State(ctx, in.Ident.Session, head)
	if err != nil {
		return nil, err
	}
	return inherited(epoch, work.Head(head), state), nil
}

// A rebirth is a session on its way into a new incarnation.
type rebirth struct {
	*Activities
	in    work.SetupIn
	epoch int64
	head  store.Head
	state *session.State
}

// finish logs what was recalled, the repair, the marker and what was accepted last, as one segment, and names it in the
// store.
func (b *rebirth) finish(ctx context.Context, recalled, repair []session.Record, late []SentInput) (*work.Inherited, error) {
	records, err := b.apply(recalled, repair)
	if err != nil {
		return nil, fmt.Errorf("repair: %w", err)
	}
	add := func(e session.Event) error {
		r := session.NewRecord(b.now(), e)
		r.Seq = b.state.Count()
		if err := b.state.Apply(r); err != nil {
			return err
		}
		records = append(records, r)
		return nil
	}
	if !b.state.EndsWithSeed() {
		if err := add(session.EndSeed{}); err != nil {
			return nil, err
		}
	}
	for _, s := range late {
		splice, err := b.state.Inbox().Insert(s.Target, s.Message)
		if err != nil {
			continue // pending already, or no log would take it
		}
		if s.First {
			splice.Start = 0
		}
		if err := add(splice); err != nil {
			return nil, fmt.Errorf("input that no log has: %w", err)
		}
	}
	if err := b.write(ctx, records); err != nil {
		return nil, err
	}
	return inherited(b.epoch, work.Head(b.head), b.state), nil
}

func (b *rebirth) write(ctx context.Context, records []session.Record) (err error) {
	id := b.in.Ident.Session
	if len(records) > 0 {
		if b.head, err = b.Store.Append(ctx, id, b.epoch, b.head, records); err != nil {
			return err
		}
	}
	if b.head.Count == 0 {
		return nil
	}
	return b.Store.PublishHead(ctx, id, b.epoch, b.head)
}

// inherited is where the session stands.
func inherited(epoch int64, head work.Head, state *session.State) *work.Inherited {
	turn, _ := state.Turn()
	inbox := state.Inbox()
	return &work.Inherited{Epoch: epoch, Head: head, Turn: turn, NextTurn: pendingOf(inbox.NextTurn), NextStep: pendingOf(inbox.NextStep)}
}

func pendingOf(messages []session.Message) (out []work.Pending) {
	for _, m := range messages {
		raw, err := json.Marshal(m.Content)
		if err != nil {
			raw = nil // it was read from the log
		}
		out = append(out, work.Pending{ID: m.ID, Bytes: len(raw)})
	}
	return out
}

// lateInputs are messages that the closed run accepted and that were never inserted in the log.
func (a *Activities) lateInputs(ctx context.Context, in work.SetupIn, head store.Head, recalled []session.Record, last LastInputs) ([]SentInput, error) {
	logged := map[string]bool{}
	for _, r := range recalled {
		noteInserted(logged, r)
	}
	for r, err := range a.Store.Facts(ctx, in.Ident.Session, head, 0) {
		if err != nil {
			return nil, err
		}
		noteInserted(logged, r)
	}
	var out []SentInput
	for _, r := range last.Carried {
		if e, ok := r.Event.(session.InboxSpliced); ok {
			for _, m := range e.Inserted {
				out = append(out, SentInput{Message: m, Target: e.Target})
			}
		}
	}
	return a.unlogged(ctx, append(out, last.Sent...), logged)
}

func noteInserted(logged map[string]bool, r session.Record) {
	if e, ok := r.Event.(session.InboxSpliced); ok {
		for _, m := range e.Inserted {
			logged[m.ID] = true
		}
	}
}

// unlogged keeps what no log has, with its stored body put back.
func (a *Activities) unlogged(ctx context.Context, sent []SentInput, logged map[string]bool) (out []SentInput, err error) {
	for _, s := range sent {
		if logged[s.Message.ID] {
			continue
		}
		logged[s.Message.ID] = true
		splice := session.InboxSpliced{Target: s.Target, Inserted: []session.Message{s.Message}}
		full, err := a.Store.Hydrate(ctx, []session.Record{session.NewRecord(0, splice)})
		if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrNotContent) {
			continue // it was refused, or would have been
		}
		if err != nil {
			return nil, err
		}
		s.Message = full[0].Event.(session.InboxSpliced).Inserted[0]
		out = append(out, s)
	}
	return out, nil
}

// forked prepares a session that begins with another one's events: no byte of them is copied. See spec §7.3.
func (a *Activities) forked(ctx context.Context, in work.SetupIn) (*work.Inherited, error) {
	id, from := in.Ident.Session, in.Fork
	if h, err := a.Store.Header(ctx, id); err == nil && !a.bornOf(h, in) {
		return nil, a.refuse(work.ErrSessionExists, fmt.Errorf("session %q exists in this store already: choose another id", id))
	} else if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	parent, err := a.Store.Header(ctx, from.Session)
	if errors.Is(err, store.ErrNotFound) {
		return nil, a.refuse(work.ErrSessionNotFound, fmt.Errorf("session %q is not in this worker's store", from.Session))
	}
	if err != nil {
		return nil, err
	}
	head, err := a.boundary(ctx, from)
	if err != nil {
		return nil, err
	}
	epoch, again, err := a.nextEpoch(ctx, in)
	if err != nil {
		return nil, err
	}
	header := session.Header{
		Version: session.FormatVersion, ID: id, CreatedAt: in.CreatedAt, CWD: parent.CWD, ParentSession: from.Session,
		SeedLength: head.Count, DelegationDepth: parent.DelegationDepth, AgentPreset: in.Ident.Definition,
	}
	if err := a.Store.PutHeader(ctx, header); err != nil {
		return nil, err
	}
	if again {
		if done, err := a.reborn(ctx, in, epoch); done != nil || err != nil {
			return done, err
		}
	}
	state, err := a.Store.State(ctx, id, head)
	if err != nil {
		return nil, err
	}
	b := rebirth{Activities: a, in: in, epoch: epoch, head: head, state: state}
	return b.finish(ctx, nil, nil, nil)
}

// bornOf reports whether a stored header is of this very birth, which is tried again.
func (a *Activities) bornOf(h session.Header, in work.SetupIn) bool {
	return h.CreatedAt == in.CreatedAt && h.ParentSession == in.Fork.Session
}

// boundary is the head at the last event inherited: it must be there, and outside an open turn.
func (a *Activities) boundary(ctx context.Context, from *work.ForkFrom) (store.Head, error) {
	_, head, err := a.Store.LatestHead(ctx, from.Session)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return head, err
	}
	var records []session.Record
	for r, err := range a.Store.Facts(ctx, from.Session, head, 0) {
		if err != nil {
			return head, err
		}
		records = append(records, r)
	}
	count, err := session.ForkBoundary(records, head.Count, from.At)
	if err != nil {
		return head, a.refuseBoundary(err)
	}
	if count == 0 {
		return store.Head{}, nil
	}
	return a.Store.Cut(ctx, from.Session, head, count)
}

func (a *Activities) refuseBoundary(err error) error {
	var rule *session.RuleError
	if errors.As(err, &rule) && rule.Rule == session.RuleOpenTurn {
		return a.refuse(work.ErrOpenTurn, fmt.Errorf("fork: %w", err))
	}
	return a.refuse(work.ErrBoundary, fmt.Errorf("fork: %w", err))
}
