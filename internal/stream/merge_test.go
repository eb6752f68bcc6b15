package stream

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// at parses "turn.step.attempt.execution.n", or the name of a notice, or "gap".
func at(s string) Frame {
	f := Frame{Kind: KindChunk}
	if n, _ := fmt.Sscanf(s, "%d.%d.%d.%d.%d", &f.Turn, &f.Step, &f.Attempt, &f.Execution, &f.N); n == 5 {
		return f
	}
	if s == "gap" {
		return Frame{Kind: KindGap}
	}
	return Frame{Kind: KindNotice, Name: s}
}

func frames(list string) []Frame {
	var out []Frame
	for _, s := range strings.Fields(list) {
		out = append(out, at(s))
	}
	return out
}

// render writes merged frames back, with ! for a reset and ? for something missing before.
func render(merged []Merged) string {
	var out []string
	for _, m := range merged {
		s := fmt.Sprintf("%d.%d.%d.%d.%d", m.Turn, m.Step, m.Attempt, m.Execution, m.N)
		switch m.Kind {
		case KindNotice:
			s = m.Name
		case KindGap:
			s = "gap"
		}
		if m.Missing {
			s = "?" + s
		}
		if m.Reset {
			s = "!" + s
		}
		out = append(out, s)
	}
	return strings.Join(out, " ")
}

func TestMerge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ recorded, live, want string }{
		"live only":                      {"", "1.1.1.1.0 1.1.1.1.1 1.1.1.1.2", "1.1.1.1.0 1.1.1.1.1 1.1.1.1.2"},
		"a late reader misses the start": {"", "1.1.1.1.5 1.1.1.1.6", "?1.1.1.1.5 1.1.1.1.6"},
		"recorded comes first, once":     {"1.1.1.1.1 1.1.1.1.0", "1.1.1.1.0 1.1.1.1.1 1.1.1.1.2", "1.1.1.1.0 1.1.1.1.1 1.1.1.1.2"},
		"a hole shows":                   {"1.1.1.1.0", "1.1.1.1.2", "1.1.1.1.0 ?1.1.1.1.2"},
		"a higher attempt supersedes":    {"", "1.1.1.1.0 1.1.2.1.0 1.1.1.1.1 1.1.2.1.1", "1.1.1.1.0 !1.1.2.1.0 1.1.2.1.1"},
		"a higher execution supersedes":  {"1.1.1.1.0", "1.1.1.2.0 1.1.1.1.1", "1.1.1.1.0 !1.1.1.2.0"},
		"superseded without its start":   {"1.1.1.1.0", "1.1.1.2.3", "1.1.1.1.0 !?1.1.1.2.3"},
		"the next step supersedes nothing": {
			"", "1.1.1.1.0 1.2.1.1.0 1.1.1.1.1 2.1.1.1.0", "1.1.1.1.0 1.2.1.1.0 2.1.1.1.0",
		},
		"notices and gaps pass": {"", "1.1.1.1.0 busy gap 1.1.1.1.0 idle", "1.1.1.1.0 busy gap idle"},
		"numbers, not texts":    {"1.10.1.1.0 1.9.1.1.0", "", "1.9.1.1.0 1.10.1.1.0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := slices.Collect(Merge(frames(c.recorded), slices.Values(frames(c.live))))
			require.Equal(t, c.want, render(got))
		})
	}
}

func TestMergeCanBeLeft(t *testing.T) {
	t.Parallel()
	for n, m := range enumerate(Merge(frames("1.1.1.1.0 1.1.1.1.1"), slices.Values(frames("1.1.1.1.2 1.1.1.1.3")))) {
		require.Equal(t, n, m.N)
		if n == 2 {
			break
		}
	}
	for range Merge(frames("1.1.1.1.0 1.1.1.1.1"), nil) {
		break
	}
}

func enumerate(seq func(func(Merged) bool)) func(func(int, Merged) bool) {
	return func(yield func(int, Merged) bool) {
		n := 0
		for m := range seq {
			if !yield(n, m) {
				return
			}
			n++
		}
	}
}
