package e2e

import (
	"flag"
	"testing"
)

// What `make chaos` asks for; an ordinary test run plays a sample.
var (
	everyStrike  = flag.Bool("strikes", false, "play every row of the fault matrix")
	syncMode     = flag.String("sync", "normal", "when the servers of the fault matrix flush their database: normal or full")
	randomFaults = flag.Int("faults", roundFaults, "how many random faults")
	firstRound   = flag.Int("first", 1, "the seed of the first round of random faults")
)

// TestFaultMatrix plays the rows of the fault matrix: see docs/faults.md.
func TestFaultMatrix(t *testing.T) {
	long(t)
	for _, r := range strikes() {
		if !r.often && !*everyStrike {
			continue
		}
		t.Run(r.name(), func(t *testing.T) {
			t.Parallel()
			r.trap.Name = "trap"
			s := newScene(t, r.own, *syncMode, r.may)
			defer s.tell()
			r.play(s, r)
		})
	}
}
