package main

import (
	"bytes"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBoundsAreMetOrMissed(t *testing.T) {
	t.Parallel()
	r := newReport()
	r.begin("speed")
	r.add("of sound", 343.2, "m/s")
	r.atMost("at most", 2, "ms", 2)
	r.atMost("too much", 2.5, "ms", 2)
	r.atLeast("at least", 0.9, "", 0.85)
	r.atLeast("too little", 0.8, "", 0.85)
	r.atMost("nothing was measured", math.NaN(), "", 1)
	var out bytes.Buffer
	r.print(&out, "speed", "how fast things are")
	require.Equal(t, `
speed: how fast things are
  of sound              343 m/s
  at most               2 ms     ≤ 2 ms   PASS
  too much              2.50 ms  ≤ 2 ms   FAIL
  at least              0.900    ≥ 0.850  PASS
  too little            0.800    ≥ 0.850  FAIL
  nothing was measured  NaN      ≤ 1      FAIL
`, out.String())
	require.Equal(t, 3, r.end(&out))
}

func TestMeasurementsAreChosenByName(t *testing.T) {
	t.Parallel()
	all, err := choose("")
	require.NoError(t, err)
	require.Len(t, all, len(measurements))
	one, err := choose("history")
	require.NoError(t, err)
	require.Len(t, one, 1)
	_, err = choose("history,nosuch")
	require.ErrorContains(t, err, `no measurement "nosuch"`)
	_, err = run(t.Context(), options{}, nil)
	require.ErrorContains(t, err, "EVERTURN_DEVSERVER")
}
