package storetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/everturn/everturn/internal/store"
)

// The operations of [store.Objects].
const (
	Create = "create"
	Get    = "get"
	List   = "list"
	Delete = "delete"
	Touch  = "touch"
)

// Always is a number of times that is never used up.
const Always = -1

// ErrDown is what a store that is down answers unless told otherwise.
var ErrDown = errors.New("store is down")

// A Match selects operations. Empty fields match everything. Prefix is compared with the key; a list matches if it
// can yield such a key.
type Match struct {
	Op     string
	Prefix string
}

func (m Match) matches(op, key string) bool {
	if m.Op != "" && m.Op != op {
		return false
	}
	return strings.HasPrefix(key, m.Prefix) || op == List && strings.HasPrefix(m.Prefix, key)
}

// An effect is what a fault does to an operation.
type effect struct {
	before func(context.Context) error // if it fails, the operation is not done
	damage func([]byte) []byte         // to the bytes written or read
	after  error                       // returned although the operation was done
}

type fault struct {
	match Match
	times int // Always: for ever
	down  bool
	effect
}

// A Call is one operation that reached the driver or a fault.
type Call struct {
	Op  string
	Key string
}

// Faults decides what goes wrong. Make one with [NewFaults]; it is safe for concurrent use, and may be changed at any
// time. One Faults can be put around several stores.
type Faults struct {
	mu     sync.Mutex
	faults []*fault
	calls  []Call
}

// NewFaults returns faults of which there are none yet.
func NewFaults() *Faults { return &Faults{} }

// Wrap puts the faults around a driver. It is meant for [store.Options].
func (f *Faults) Wrap(inner store.Objects) store.Objects { return &Faulty{inner: inner, faults: f} }

func (f *Faults) add(m Match, times int, e effect) {
	if times == 0 {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, &fault{match: m, times: times, effect: e})
}

// Fail makes the next times matching operations return err and do nothing.
func (f *Faults) Fail(m Match, err error, times int) {
	f.add(m, times, effect{before: func(context.Context) error { return err }})
}

// FailAfter makes the next times matching operations return err although they were done: the answer was lost.
func (f *Faults) FailAfter(m Match, err error, times int) {
	f.add(m, times, effect{after: err})
}

// Down makes every operation return err, or [ErrDown] if it is nil, until [Faults.Up] or [Faults.Clear].
func (f *Faults) Down(err error) {
	if err == nil {
		err = ErrDown
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	refuse := effect{before: func(context.Context) error { return err }}
	f.faults = slices.Insert(f.faults, 0, &fault{times: Always, down: true, effect: refuse})
}

// Up ends [Faults.Down]; other faults stay.
func (f *Faults) Up() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = slices.DeleteFunc(f.faults, func(fl *fault) bool { return fl.down })
}

// Slow makes the next times matching operations wait, or until their context ends.
func (f *Faults) Slow(m Match, d time.Duration, times int) {
	f.add(m, times, effect{before: func(ctx context.Context) error {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}})
}

// Torn makes the next times matching creates store only the first keep bytes and return err: what a file system without
// flushing leaves after a power failure.
func (f *Faults) Torn(m Match, keep int, err error, times int) {
	m.Op = Create
	cut := func(b []byte) []byte { return b[:min(keep, len(b))] }
	f.add(m, times, effect{damage: cut, after: err})
}

// Corrupt flips a bit in what the next times matching gets return; the stored bytes stay as they are.
func (f *Faults) Corrupt(m Match, times int) {
	m.Op = Get
	f.add(m, times, effect{damage: func(b []byte) []byte {
		b = slices.Clone(b)
		if len(b) > 0 {
			b[len(b)/2] ^= 0x40
		}
		return b
	}})
}

// A Gate holds operations back. See [Faults.Block].
type Gate struct {
	arrived chan struct{}
	open    chan struct{}
	once    sync.Once
}

// Block holds every matching operation back until [Gate.Release], or until its context ends.
func (f *Faults) Block(m Match) *Gate {
	g := &Gate{arrived: make(chan struct{}, 1), open: make(chan struct{})}
	f.add(m, Always, effect{before: g.wait})
	return g
}

func (g *Gate) wait(ctx context.Context) error {
	select {
	case <-g.open:
		return nil
	default:
	}
	select {
	case g.arrived <- struct{}{}:
	default:
	}
	select {
	case <-g.open:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Arrived gets a value when an operation is being held.
func (g *Gate) Arrived() <-chan struct{} { return g.arrived }

// Release lets everything through, now and from now on.
func (g *Gate) Release() { g.once.Do(func() { close(g.open) }) }

// Clear removes all faults. Operations that are held by a [Gate] stay held.
func (f *Faults) Clear() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = nil
}

// Calls returns the matching operations so far, failed ones too, in order.
func (f *Faults) Calls(m Match) []Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []Call
	for _, c := range f.calls {
		if m.matches(c.Op, c.Key) {
			out = append(out, c)
		}
	}
	return out
}

// Forget empties the record of calls.
func (f *Faults) Forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = nil
}

// hit records an operation and takes the first fault that matches it.
func (f *Faults) hit(op, key string) effect {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, Call{op, key})
	for i, fl := range f.faults {
		if !fl.match.matches(op, key) {
			continue
		}
		if fl.times > 0 {
			fl.times--
		}
		if fl.times == 0 {
			f.faults = slices.Delete(f.faults, i, i+1)
		}
		return fl.effect
	}
	return effect{}
}
