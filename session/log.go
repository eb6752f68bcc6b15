package session

import (
	"fmt"
	"slices"
)

// A Log is an append-only session log with its fold. It only grows, and only by records that keep every rule.
type Log struct {
	header  Header
	records []Record
	state   *State
}

// NewLog returns an empty log.
func NewLog(h Header) *Log { return &Log{header: h, state: NewSeededState(h.SeedLength)} }

// Append gives r the next seq, checks it and adds it. A refusal is a [*RuleError] and changes nothing.
func (l *Log) Append(r Record) (Record, error) {
	r.Seq = l.state.Count()
	if err := l.state.Apply(r); err != nil {
		return Record{}, err
	}
	l.records = append(l.records, r)
	return r, nil
}

// Header is the session's description.
func (l *Log) Header() Header { return l.header }

// Records are all events so far; later appends do not show in the result.
func (l *Log) Records() []Record { return slices.Clip(l.records) }

// State is the live fold: read it, or clone it.
func (l *Log) State() *State { return l.state }

// Validate refuses a header that this package cannot serve. See spec §2.2.
func (h Header) Validate() error {
	switch {
	case h.Version != FormatVersion:
		return fmt.Errorf("session %.40q: unknown format version %d, this program reads %d", h.ID, h.Version, FormatVersion)
	case !ValidID(h.ID):
		return fmt.Errorf("session id %.40q is not 1–%d characters without control characters", h.ID, maxID)
	case h.ParentSession != "" && !ValidID(h.ParentSession):
		return fmt.Errorf("session %s: parent session id %.40q is not valid", h.ID, h.ParentSession)
	case h.SeedLength < 0 || h.DelegationDepth < 0:
		return fmt.Errorf("session %s: seedLength and delegationDepth must not be negative", h.ID)
	}
	return nil
}
