package session

import (
	"bytes"
	"flag"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite golden files")

// goldenScript is the golden log of spec §2.6.
const (
	goldenTurn1 = "IS+(next-turn:m1) TS1 IS-(next-turn:1) SS1.1 UM(m1) RH(initial) RC CH×4 AM[c1] TC(c1) TR(c1) SE " +
		"SS1.2 CH×4 AM SE TE(completed)"
	goldenTurn2 = "IS+(next-turn:m2) TS2 IS-(next-turn:1) SS2.1 UM(m2) CH×4 AM SE TE(completed)"
)

// See spec §2.6, C-001.
func TestGoldenLogKeepsEveryRuleAndItsSurfaceGrowsFromFourToSix(t *testing.T) {
	t.Parallel()
	s := newScribe(t, goldenTurn1)
	require.EqualValues(t, 23, s.log.State().Count())
	require.Len(t, s.log.State().Surface(), 4)
	s.write(goldenTurn2)
	require.EqualValues(t, 35, s.log.State().Count())
	require.Len(t, s.log.State().Surface(), 6)
	require.Len(t, s.log.State().Messages(), 6)
	require.Equal(t, []int64{7, 8, 9, 10}, s.log.Records()[11].Sources, "the message cites its chunks (C-003)")
	for i, r := range s.log.Records() {
		require.EqualValues(t, i, r.Seq) // C-008
	}
}

func TestGoldenLogReadsBackFromItsFile(t *testing.T) {
	t.Parallel()
	const file = "testdata/golden.jsonl"
	records := newScribe(t, goldenTurn1, goldenTurn2).log.Records()
	text := encodeLog(t, records)
	if *update {
		require.NoError(t, os.WriteFile(file, text, 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), string(text))
	read, err := ParseLog(want)
	require.NoError(t, err)
	require.Equal(t, Trace(records, nil), Trace(read, nil))
	state, err := Fold(0, read)
	require.NoError(t, err)
	require.Len(t, state.Messages(), 6)
}

func TestGoldenLogIsWrittenInTraceNotation(t *testing.T) {
	t.Parallel()
	records := newScribe(t, goldenTurn1, goldenTurn2).log.Records()
	want := "IS+(next-turn:m1) TS1 IS-(next-turn:1) SS1.1 UM(m1) RH(initial) RC CH×4 AM TC(c1) TR(c1) SE " +
		"SS1.2 CH×4 AM SE TE(completed) " + goldenTurn2
	require.Equal(t, want, Trace(records, nil))
}

// C-010
func TestSeedingWithACompletedLogGivesTheSameHistory(t *testing.T) {
	t.Parallel()
	s := newScribe(t, goldenTurn1, goldenTurn2)
	before := s.log.State().Messages()
	s.write("ES")
	require.Equal(t, before, s.log.State().Messages())
	require.True(t, s.log.State().EndsWithSeed())
}

func encodeLog(t testing.TB, records []Record) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := NewWriter(&buf)
	for _, r := range records {
		require.NoError(t, w.Write(r))
	}
	return buf.Bytes()
}
