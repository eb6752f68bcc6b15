package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTracesAreCompared(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, want, got string
		verdict         verdict
	}{
		{"equal", "TS1 TE(aborted user)", "TS1 TE(aborted user)", holds},
		{"nothing yet", "TS1", "", comes},
		{"a beginning", "TS1 SS1.1 SE", "TS1 SS1.1", comes},
		{"an event too many", "TS1", "TS1 SS1.1", differs},
		{"another event", "TS1 SS1.1", "TS1 SS1.2", differs},
		{"another reason", "TE(aborted user)", "TE(aborted parent)", differs},
		{"another order", "TC(c1) TC(c2)", "TC(c2) TC(c1)", differs},
		{"any number of chunks", "CH AM", "CH×7 AM", holds},
		{"at least one chunk", "CH AM", "AM", differs},
		{"exactly so many chunks", "CH×3 AM", "CH×3 AM", holds},
		{"chunks that may still come", "CH×3 AM", "CH×2", comes},
		{"a chunk too few", "CH×3 AM", "CH×2 AM", differs},
		{"a chunk too many", "CH×3", "CH×4", differs},
		{"an interrupted message", "CH AM", "CH×1 AM!", differs},
		{"an empty message", "AM", "AM∅", differs},
		{"the minus of the spec", "IS−(next-turn:1)", "IS-(next-turn:1)", holds},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			want, err := parseTrace(tt.want)
			require.NoError(t, err)
			require.Equal(t, tt.verdict, matches(want, tt.got))
		})
	}
}

func TestATraceKnowsItsLength(t *testing.T) {
	t.Parallel()
	require.Zero(t, length(""))
	require.Equal(t, 7, length("TS1 CH×4 AM TE(aborted user)"))
}
