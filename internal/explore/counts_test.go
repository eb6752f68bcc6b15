package explore

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/signals"
)

// counts say what schedules met.
type counts struct {
	begin time.Time
	mu    sync.Mutex
	n     map[string]int
}

func newCounts() *counts { return &counts{begin: time.Now(), n: map[string]int{}} }

func (c *counts) add(what string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[what] += n
}

// must is what a run has to meet that is long enough.
var must = []string{signals.Followup, signals.Steer, signals.Inject, signals.SendTo, "cancel", "cancel, keepInbox", "remove", "replace", "clear",
	"batch", "maintain", "native cancel", "dispose", "rollover asked for", "cancels that hit", "wakes latched", "attempts repeated", "rollovers", "turns"}

// enough schedules meet everything.
const enough = 300

// report says what was met, and that nothing is missing.
func (c *counts) report(t *testing.T, where string, n int) {
	took := time.Since(c.begin)
	var met, missing []string
	for _, what := range must {
		met = append(met, fmt.Sprintf("%s %d", what, c.n[what]))
		if c.n[what] == 0 {
			missing = append(missing, what)
		}
	}
	t.Logf("%s: %d schedules from seed %d in %s, %.0f a second: %s", where, c.n["schedules"], *firstFlag, took.Round(time.Second),
		float64(c.n["schedules"])/took.Seconds(), strings.Join(met, ", "))
	if n >= enough && !t.Failed() {
		require.Empty(t, slices.Clip(missing), "never happened")
	}
}
