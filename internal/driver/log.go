package driver

import (
	"encoding/json"
	"slices"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// Log is the driver's view of the session log. See architecture A3.2.
//
// Head names what the store holds. Tail are the events after it, with their seqs. While Lent names an effect, its
// borrower persists the first LentN events of the tail; if the borrower also Appends, later events wait in Waiting for
// their seq until it answers.
type Log struct {
	Head    work.Head        `json:"head"`
	Tail    []session.Record `json:"tail,omitempty"`
	Bytes   int              `json:"bytes,omitempty"` // of the tail, encoded
	Lent    string           `json:"lent,omitempty"`
	LentN   int              `json:"lentN,omitempty"`
	Appends bool             `json:"appends,omitempty"`
	Waiting []session.Record `json:"waiting,omitempty"`
	Broken  string           `json:"broken,omitempty"` // why the last persist failed
	Since   int64            `json:"since,omitempty"`  // Unix ms of the first of the persists that failed in a row, or 0
}

// Next is the seq of the next event, as far as it is known: a Step that runs may append before it.
func (l *Log) Next() int64 { return l.Head.Count + int64(len(l.Tail)) }

// log appends an event and returns its seq, or -1 while the log is lent to a writer that appends.
func (d *Driver) log(e session.Event, sources ...int64) int64 {
	return d.record(session.NewRecord(d.now, e, sources...))
}

// logInPlace appends an event that takes the place of one surface node.
func (d *Driver) logInPlace(e session.Event, node int64) {
	r := session.NewRecord(d.now, e, node)
	r.Surface = session.ReplaceOp(node, node)
	d.record(r)
}

func (d *Driver) record(r session.Record) int64 {
	l := &d.state.Log
	if l.Lent != "" && l.Appends {
		l.Waiting = append(l.Waiting, r)
		return -1
	}
	r.Seq = l.Next()
	l.Tail = append(l.Tail, r)
	l.Bytes += size(r)
	d.logged(r)
	return r.Seq
}

// logged announces an event that has its place, before anything that follows from it. See spec §2.4.1, §2.5.
func (d *Driver) logged(r session.Record) {
	d.events = append(d.events, r)
	d.notify("session/event", r)
}

// lend hands the first n events of the tail to an effect.
func (l *Log) lend(id string, n int, appends bool) {
	l.Lent, l.LentN, l.Appends = id, n, appends
}

// lent is what the borrower gets.
func (l *Log) lent() []session.Record { return slices.Clone(l.Tail[:l.LentN]) }

// giveBack ends a loan. If the borrower persisted, head is where it got to; else the tail stays as it was.
func (d *Driver) giveBack(head work.Head) {
	l := &d.state.Log
	if head != l.Head {
		l.Head, l.Broken, l.Since = head, "", 0 // the store took it
		l.Tail = slices.Clone(l.Tail[l.LentN:])
	}
	waiting := l.Waiting
	l.Lent, l.LentN, l.Appends, l.Waiting = "", 0, false, nil
	for _, r := range waiting {
		r.Seq = l.Next()
		l.Tail = append(l.Tail, r)
		d.logged(r)
	}
	l.Bytes = 0
	for _, r := range l.Tail {
		l.Bytes += size(r)
	}
}

// fits compares what a writer says it was lent with what it was lent, and where it got to: nowhere, exactly to the end
// of the loan, or, if it appended, beyond. See architecture A3.2.
func (d *Driver) fits(id string, echo work.Echo, head work.Head, appended, exactly bool) bool {
	l := &d.state.Log
	end := l.Head.Count + int64(l.LentN)
	ok := echo == work.EchoOf(l.Head.Count, l.Tail[:l.LentN])
	switch {
	case exactly:
		ok = ok && head.Count == end
	case appended:
		ok = ok && head.Count > end
	default:
		ok = ok && (head == l.Head || head.Count >= end)
	}
	if !ok {
		d.effect(Defect{Message: "driver: " + id + " answers to other events than this state lent it: refusing to go on"})
	}
	return ok
}

// size is the encoded length of a record. A record that cannot be encoded is refused before it gets here.
func size(r session.Record) int {
	raw, err := json.Marshal(r)
	if err != nil {
		return 0
	}
	return len(raw)
}

// persist lends a prefix of the tail to be written; publish names the head in the store afterwards.
func (d *Driver) persist(publish bool) {
	s := d.state
	n, bytes := 0, 0
	for n < len(s.Log.Tail) && (n == 0 || bytes+size(s.Log.Tail[n]) <= work.LendLimit) {
		bytes += size(s.Log.Tail[n])
		n++
	}
	id := d.effectID("persist")
	s.Log.lend(id, n, false)
	d.effect(StartPersist{In: work.PersistIn{ID: id, Ident: s.ident(), Head: s.Log.Head, Tail: s.Log.lent(), Publish: publish}})
}

// onPersisted takes over the new head. See spec §4.11.
func (d *Driver) onPersisted(in Persisted) {
	l := &d.state.Log
	if in.ID == "" || in.ID != l.Lent || l.Appends || !d.fits(in.ID, in.Out.Echo, in.Out.Head, false, true) {
		return
	}
	d.giveBack(in.Out.Head)
}

// onPersistFailed keeps the tail: Temporal holds it, and a later flush takes it along. An open turn reports the failure
// itself if it cannot go on. See spec §4.11.
func (d *Driver) onPersistFailed(in PersistFailed) {
	s := d.state
	if in.ID == "" || in.ID != s.Log.Lent || s.Log.Appends {
		return
	}
	d.giveBack(s.Log.Head)
	f := failureOf(&session.Failure{Code: work.CodeStore, Message: in.Message})
	if f.Message == "" {
		f.Message = "the store refused, without a reason"
	}
	s.Log.Broken = f.Message
	if s.Log.Since == 0 {
		s.Log.Since = d.now
	}
	if !s.TurnOpen {
		d.fail(f)
	}
	if s.FlushAt == "" {
		s.FlushAt = d.timer("flush", flushRetryMS, "store refused: flush again")
	}
}

// flushRetryMS is how long a failed flush waits before it is tried again.
const flushRetryMS = 30_000

func (d *Driver) timer(kind string, delayMS int64, summary string) string {
	id := d.effectID(kind)
	d.effect(StartTimer{ID: id, DelayMS: delayMS, Summary: summary})
	return id
}

// fail records and announces an error that ends no turn by itself.
func (d *Driver) fail(f *session.Failure) {
	d.state.LastError = f
	d.notify("agent/error", map[string]any{"turn": d.state.Turn, "step": d.state.Step, "error": f})
	d.tell(session.ToldError, work.TellIn{Failure: f})
}

// onTimer ends the wait that the timer stands for: a retry (spec §4.7.6), somebody's answer, a child, a flush.
func (d *Driver) onTimer(in TimerFired) {
	switch s := d.state; in.ID {
	case "":
	case s.FlushAt:
		s.FlushAt, s.Log.Broken = "", ""
	case s.Awaiting:
		d.onRetryDue()
	default:
		if !d.onChildTimer(in.ID) {
			d.onWaitDue(in.ID)
		}
	}
}
