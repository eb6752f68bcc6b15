package session

import (
	"maps"
	"slices"
)

// A State is the fold of a log: everything that the next event is judged by and that a request is derived from.
// The zero value is not ready; see [NewState]. What the accessors return is read-only.
//
// Clones may be taken from several goroutines at once; nothing else may run beside [State.Apply].
type State struct {
	facts
	surface surface
}

// facts is the part of a state that is copied as a value.
type facts struct {
	count      int64 // seq of the next event
	seedLength int64 // events before it were inherited from another session
	lastTime   int64 // time of the last event that is not session/end-seed
	atSeed     bool  // the log ends with session/end-seed

	turn, step         int
	turnOpen, stepOpen bool
	stepped, claimed   bool            // of the open turn
	calls              map[string]call // of the open step, by call id
	blocks             []ToolCallBlock // of the open step's assistant messages

	header     *RequestHeader
	headerHere bool // a header was logged in this incarnation
	context    *RequestContext
	inbox      Inbox

	streaming  bool  // a request was built and its attempt is not settled
	rewritten  bool  // spec §8.5
	sentBefore int64 // nodes before this seq were in a built request, or present at attach

	account Account
}

// A call is what is known of a tool call in the open step.
type call struct {
	seq      int64 // of tool/call
	started  bool
	answered bool
}

// NewState returns the fold of an empty log.
func NewState() *State { return NewSeededState(0) }

// NewSeededState returns the fold of an empty log whose first seedLength events will be inherited: their inbox splices
// are excluded. See spec §2.4.1.
func NewSeededState(seedLength int64) *State { return &State{facts: facts{seedLength: seedLength}} }

// Fold applies records in order. The first seedLength of them were inherited from another session.
func Fold(seedLength int64, records []Record) (*State, error) {
	s := NewSeededState(seedLength)
	for _, r := range records {
		if err := s.Apply(r); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// Apply checks r against every rule of spec §2.1 and §2.4 and folds it in. A refusal is a [*RuleError] and leaves the
// state as it was.
func (s *State) Apply(r Record) error {
	if err := s.check(r); err != nil {
		return placed(err, s.count)
	}
	s.fold(r)
	return nil
}

// Clone returns an independent state at the cost of a few words.
func (s *State) Clone() *State {
	c := &State{facts: s.facts}
	c.calls = maps.Clone(s.calls)
	c.blocks = slices.Clip(s.blocks)
	c.inbox = s.inbox.clip()
	s.surface.cloneInto(&c.surface)
	return c
}

// Count is the number of events, and so the seq of the next one.
func (s *State) Count() int64 { return s.count }

// Turn is the number of the last turn, 0 before the first, and whether it is open.
func (s *State) Turn() (n int, open bool) { return s.turn, s.turnOpen }

// Step is the number of the last step of the last turn, 0 when it has none, and whether it is open.
func (s *State) Step() (n int, open bool) { return s.step, s.stepOpen }

// LastHeader is the last logged request header, or nil.
func (s *State) LastHeader() *RequestHeader { return s.header }

// HeaderSinceAttach reports whether this incarnation, which begins with the log or its last session/end-seed, has logged
// a request header.
func (s *State) HeaderSinceAttach() bool { return s.headerHere }

// LastContext is the last logged request context, or nil.
func (s *State) LastContext() *RequestContext { return s.context }

// Inbox is the pending input.
func (s *State) Inbox() Inbox { return s.inbox.clip() }

// Rewritten reports whether, since the last built request or since attach, a replacement shadowed a node that a
// previously built request contained or that was present at attach. See spec §8.5.
func (s *State) Rewritten() bool { return s.rewritten }

// EndsWithSeed reports whether the log's last event is session/end-seed; a resume then adds no other. See spec §7.1.
func (s *State) EndsWithSeed() bool { return s.atSeed }

// Surface returns the events that produce model messages, in order, after replacements.
func (s *State) Surface() []Record {
	return slices.AppendSeq(make([]Record, 0, s.surface.live), s.surface.all())
}
