package conformance

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/everturn/everturn/internal/stream"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
)

// notices keeps what listeners were told.
type notices struct {
	mu      sync.Mutex
	said    []string // in the words of a scenario
	told    []string // the notices themselves, one for each of said
	seen    int
	retells bool // a workflow task that could not be completed is executed again and tells all of its own again (D18)
}

func (n *notices) add(words string, what plugin.Notice) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.said = append(n.said, words)
	n.told = append(n.told, identity(what))
	if n.retells {
		n.forgetRepetition()
	}
}

// identity is what a notice and its repetition share; the time of an event is another when it is told again.
func identity(n plugin.Notice) string {
	var at struct{ Seq int64 }
	if n.Name == stream.NoticeEvent && json.Unmarshal(n.Data, &at) == nil {
		return fmt.Sprintf("%s %d", n.Name, at.Seq)
	}
	return n.Name + " " + string(n.Data)
}

// forgetRepetition drops what ends the list and was told just before. Statuses alone do not count: they
// have nothing by which one can be told from the next.
func (n *notices) forgetRepetition() {
	k := repetition(n.told, func(s string) bool { return strings.HasPrefix(s, stream.NoticeStatus+" ") })
	n.told, n.said = n.told[:len(n.told)-k], n.said[:len(n.said)-k]
	n.seen = min(n.seen, len(n.said))
}

// repetition is how many at the end of told repeat those before them, and are not all empty of meaning.
func repetition(told []string, empty func(string) bool) int {
	for k := len(told) / 2; k > 0; k-- {
		first, again := told[len(told)-2*k:len(told)-k], told[len(told)-k:]
		meant := func(s string) bool { return empty == nil || !empty(s) }
		if slices.Equal(first, again) && slices.ContainsFunc(again, meant) {
			return k
		}
	}
	return 0
}

// listen is the listener of the scenario's definition. It fails where the scenario says so, after it has noted what it
// was told.
func (w *world) listen(n plugin.Notice) {
	if words := inWords(n); words != "" {
		w.notices.add(words, n)
	}
	w.announced.add(n.Name, n.Session)
	w.fall(n)
}

// A saying is the union of what notices carry.
type saying struct {
	ID, Source, Status, Reason, Code string
	Turn                             int
	Error                            *session.Failure
}

// inWords writes a notice as scenarios do; of the events of the log only the boundaries of turns count.
func inWords(n plugin.Notice) string {
	if n.Name == stream.NoticeEvent {
		return boundary(n.Data)
	}
	var s saying
	if err := json.Unmarshal(n.Data, &s); err != nil {
		return fmt.Sprintf("%s(?)", n.Name)
	}
	switch n.Name {
	case stream.NoticeCreated:
		return "created"
	case stream.NoticeSessionStart:
		return fmt.Sprintf("session-start(%s)", s.Source)
	case stream.NoticeDisposed:
		return "disposed"
	case stream.NoticeStatus:
		return s.Status
	case stream.NoticeInserted:
		return fmt.Sprintf("inserted(%s)", s.ID)
	case stream.NoticeClaimed:
		return fmt.Sprintf("claimed(%s,%d)", s.ID, s.Turn)
	case stream.NoticeMoved:
		return fmt.Sprintf("moved(%s)", s.ID)
	case stream.NoticeDiscarded:
		return fmt.Sprintf("discarded(%s)", s.ID)
	case stream.NoticeDropped:
		return fmt.Sprintf("dropped(%s,%d,%s)", s.ID, s.Turn, s.Reason)
	case stream.NoticeError:
		return fmt.Sprintf("error(%d,%s)", s.Turn, s.Error.Code)
	case "agent/refused":
		return fmt.Sprintf("refused(%s)", s.Code)
	default:
		return "" // not of the spec
	}
}

func boundary(data json.RawMessage) string {
	var r session.Record
	if err := json.Unmarshal(data, &r); err != nil {
		return "session/event(?)"
	}
	switch r.Event.(type) {
	case session.TurnStart, session.TurnEnd:
		return entries([]session.Record{r})[0]
	default:
		return ""
	}
}

// fresh is what was said since it was looked at.
func (n *notices) fresh() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen == len(n.said) {
		return "none"
	}
	return strings.Join(n.said[n.seen:], " ")
}

// mark notes what was looked at.
func (n *notices) mark(words string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if words != "none" {
		n.seen += len(fields(words))
	}
}

// statuses is everything that was said of the status.
func (n *notices) statuses() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []string
	for _, s := range n.said {
		if s == "idle" || s == "running" {
			out = append(out, s)
		}
	}
	return listed(out)
}
