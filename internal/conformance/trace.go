package conformance

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/everturn/everturn/session"
)

// entries writes each record in the notation of spec §2.4.4.
func entries(records []session.Record) []string {
	var t session.Tracer
	out := make([]string, len(records))
	for i, r := range records {
		out[i] = strings.TrimSuffix(t.Trace([]session.Record{r}), "×1")
	}
	return out
}

// join writes entries as one trace: consecutive chunks are one entry with their number.
func join(entries []string) string {
	var out []string
	for _, r := range runs(entries) {
		out = append(out, r.String())
	}
	return strings.Join(out, " ")
}

// A stretch is an entry of a trace, or several chunks. In what is wanted, n = 0 is any number of chunks but none.
type stretch struct {
	entry string
	n     int
}

func (r stretch) String() string {
	if r.entry != "CH" || r.n == 0 {
		return r.entry
	}
	return fmt.Sprintf("CH×%d", r.n)
}

func runs(entries []string) []stretch {
	var out []stretch
	for _, e := range entries {
		if last := len(out) - 1; e == "CH" && last >= 0 && out[last].entry == "CH" {
			out[last].n++
			continue
		}
		out = append(out, stretch{e, 1})
	}
	return out
}

var notation = regexp.MustCompile(`^(IS[-+xrm]\(.+\)|TS\d+|SS\d+\.\d+|SYS∅?~?|UM\(.+\)~?|RH\([a-z]+(,series)?\)|RC|CH(×\d+)?|AM!?∅?|AA|` +
	`TC\(.+\)|TR!?\(.+\)~?|SE|TE\(.+\)|ES|LRS?\(\d+\)|CR\(.+\)|[a-z]+(/[a-z-]+)+)$`)

// isTrace reports whether a line is a trace: its entries begin with two capitals, or are the type of an event.
func isTrace(line string) bool { return regexp.MustCompile(`^([A-Z]{2}|[a-z]+/)`).MatchString(line) }

// parseTrace reads what a trace is to be.
func parseTrace(line string) ([]stretch, error) {
	var out []stretch
	for _, e := range fields(strings.ReplaceAll(line, "−", "-")) {
		if !notation.MatchString(e) {
			return nil, fmt.Errorf("%q is no entry of a trace", e)
		}
		head, n, counted := strings.Cut(e, "×")
		r := stretch{entry: e, n: 1}
		if head == "CH" {
			r = stretch{entry: "CH"}
		}
		if counted {
			var err error
			if r.n, err = strconv.Atoi(n); err != nil || r.n < 1 {
				return nil, fmt.Errorf("%q: a positive number of chunks is expected", e)
			}
		}
		out = append(out, r)
	}
	return out, nil
}

// fields cuts a trace at blanks outside of parentheses.
func fields(line string) []string {
	var out []string
	depth, start := 0, -1
	for i, c := range line + " " {
		switch {
		case c == ' ' && depth == 0:
			if start >= 0 {
				out = append(out, line[start:i])
			}
			start = -1
			continue
		case c == '(':
			depth++
		case c == ')':
			depth--
		}
		if start < 0 {
			start = i
		}
	}
	if start >= 0 { // a parenthesis does not close
		out = append(out, line[start:])
	}
	return out
}

// A verdict compares what is seen with what is wanted.
type verdict int

const (
	differs verdict = iota // and waiting will not help
	comes                  // what is wanted begins with it
	holds
)

// matches compares a trace that may still grow with the one that is wanted.
func matches(want []stretch, trace string) verdict {
	got := stretches(trace)
	for i, g := range got {
		if i >= len(want) || want[i].entry != g.entry {
			return differs
		}
		exact := want[i].n == 0 || want[i].n == g.n
		open := i == len(got)-1 && g.n < want[i].n // its chunks may still come
		if !exact && !open {
			return differs
		}
		if !exact {
			return comes
		}
	}
	if len(got) < len(want) {
		return comes
	}
	return holds
}

// stretches reads a trace that was written by join.
func stretches(trace string) []stretch {
	var out []stretch
	for _, e := range fields(trace) {
		r := stretch{entry: e, n: 1}
		if n, ok := strings.CutPrefix(e, "CH×"); ok {
			r.entry = "CH"
			r.n, _ = strconv.Atoi(n) // join wrote it
		}
		out = append(out, r)
	}
	return out
}

// length is the number of events that a trace stands for.
func length(trace string) int {
	n := 0
	for _, r := range stretches(trace) {
		n += r.n
	}
	return n
}
