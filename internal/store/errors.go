package store

import (
	"errors"
	"fmt"
)

var (
	// ErrExists is returned by Create when the key is taken.
	ErrExists = errors.New("object already exists")
	// ErrNotFound is returned when there is no such object, or no such session.
	ErrNotFound = errors.New("not found")
	// ErrFenced matches every [*FencedError].
	ErrFenced = errors.New("fenced")
)

// A CorruptError says that stored bytes are missing or are not what they must be.
type CorruptError struct {
	Session string // empty when the object belongs to no session
	// FirstSeq and LastSeq are the events that cannot be read, inclusive. FirstSeq is -1 when only their end is known.
	FirstSeq, LastSeq int64
	Hash              string // SHA-256 that was asked for, if the object is named by one
	Key               string // the object
	Reason            string
	Err               error // what the driver said, if it did
}

// Error names the object, what is lost and what to do.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("%sobject %s: %s (restore this object from a backup%s)", e.where(), e.Key, e.Reason, e.advice())
}

func (e *CorruptError) where() string {
	switch {
	case e.Session == "":
		return ""
	case e.LastSeq < 0:
		return fmt.Sprintf("session %q: ", e.Session)
	case e.FirstSeq < 0:
		return fmt.Sprintf("session %q, events up to %d: ", e.Session, e.LastSeq)
	default:
		return fmt.Sprintf("session %q, events %d to %d: ", e.Session, e.FirstSeq, e.LastSeq)
	}
}

func (e *CorruptError) advice() string {
	if e.Session == "" || e.FirstSeq <= 0 {
		return ""
	}
	return fmt.Sprintf(", or fork the session at an event before %d", e.FirstSeq)
}

// Unwrap returns what the driver said.
func (e *CorruptError) Unwrap() error { return e.Err }

// unreadable wraps what this program cannot make sense of although the bytes are those that were written.
type unreadable struct{ err error }

func (e *unreadable) Error() string {
	return e.err.Error() + " (the bytes are intact: another version of this program wrote them, use that or a newer one)"
}

func (e *unreadable) Unwrap() error { return e.err }

// damaged is a CorruptError of an object that holds no events.
func damaged(key, reason string, err error) error {
	return &CorruptError{FirstSeq: -1, LastSeq: -1, Key: key, Reason: reason, Err: err}
}

// A FencedError says that an epoch of a session belongs to somebody else now. The writer must stop.
type FencedError struct {
	Session string
	Epoch   int64  // the epoch that was asked for
	Claimed int64  // the epoch that stands in the way
	Owner   string // who claimed it
}

// Error names both epochs and the owner.
func (e *FencedError) Error() string {
	return fmt.Sprintf("session %q: epoch %d is fenced: epoch %d belongs to %q (this writer is out of date and must stop)",
		e.Session, e.Epoch, e.Claimed, e.Owner)
}

// Is makes errors.Is(err, ErrFenced) true.
func (e *FencedError) Is(target error) bool { return target == ErrFenced }

// A ConflictError says that a create-only object already holds something else.
type ConflictError struct {
	What string // what was to be stored
	Key  string
}

// Error names the object.
func (e *ConflictError) Error() string {
	return fmt.Sprintf("%s: object %s already holds something else (it is written once; two writers disagree)", e.What, e.Key)
}

// Is makes errors.Is(err, ErrExists) true.
func (e *ConflictError) Is(target error) bool { return target == ErrExists }
