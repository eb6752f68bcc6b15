package driver

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/everturn/everturn/session"
)

// What a state holds many of is written as short strings: a state with a full inbox stays below 64 KiB. See
// architecture A3.4. Ids have no control characters but may have blanks, so they come last.

// MarshalText writes "bytes id".
func (p Pending) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%d %s", p.Bytes, p.ID), nil }

// UnmarshalText reads it.
func (p *Pending) UnmarshalText(text []byte) error {
	bytes, id, _ := strings.Cut(string(text), " ")
	n, err := strconv.Atoi(bytes)
	if err != nil || id == "" {
		return fmt.Errorf("pending message %.40q: want a size and an id", text)
	}
	*p = Pending{ID: id, Bytes: n}
	return nil
}

// The marks of an [Ended] that has no turn, or whose message did not enter it.
const (
	markDiscarded = "x"
	markDropped   = "-"
)

// MarshalText writes "turn kind id", "turn -kind id" for a dropped one, "x id" for a discarded one.
func (e Ended) MarshalText() ([]byte, error) {
	switch {
	case e.Discarded:
		return fmt.Appendf(nil, "%s %s", markDiscarded, e.ID), nil
	case e.Dropped:
		return fmt.Appendf(nil, "%d %s%s %s", e.Turn, markDropped, e.Kind, e.ID), nil
	default:
		return fmt.Appendf(nil, "%d %s %s", e.Turn, e.Kind, e.ID), nil
	}
}

// UnmarshalText reads it.
func (e *Ended) UnmarshalText(text []byte) error {
	first, rest, _ := strings.Cut(string(text), " ")
	if first == markDiscarded {
		*e = Ended{ID: rest, Discarded: true}
		return nil
	}
	turn, err := strconv.Atoi(first)
	kind, id, ok := strings.Cut(rest, " ")
	if err != nil || !ok {
		return fmt.Errorf("ended message %.40q: want a turn, a kind and an id", text)
	}
	kind, dropped := strings.CutPrefix(kind, markDropped)
	*e = Ended{ID: id, Turn: turn, Kind: session.TurnKind(kind), Dropped: dropped}
	return nil
}

// Ring remembers the last requests, oldest overwritten first. Its text form is where the next one goes, then the keys.
type Ring struct {
	IDs  []string // keys of one length
	Next int
}

// RingSize is how many request ids are remembered.
const RingSize = 1024

// A key is 8 bytes of a hash, in base64.
const (
	ringKeyBytes = 8
	ringKey      = 11
)

func (r *Ring) has(id string) bool {
	for _, x := range r.IDs {
		if x == id {
			return true
		}
	}
	return false
}

func (r *Ring) add(id string) {
	if len(r.IDs) < RingSize {
		r.IDs = append(r.IDs, id)
		return
	}
	r.IDs[r.Next] = id
	r.Next = (r.Next + 1) % RingSize
}

// MarshalText writes "next keys".
func (r Ring) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%d %s", r.Next, strings.Join(r.IDs, "")), nil
}

// UnmarshalText reads it.
func (r *Ring) UnmarshalText(text []byte) error {
	first, keys, _ := strings.Cut(string(text), " ")
	next, err := strconv.Atoi(first)
	if err != nil || len(keys)%ringKey != 0 {
		return fmt.Errorf("ring %.40q: want a position and keys of %d characters", text, ringKey)
	}
	*r = Ring{Next: next}
	for ; keys != ""; keys = keys[ringKey:] {
		r.IDs = append(r.IDs, keys[:ringKey])
	}
	return nil
}
