package driver

import "testing"

func TestGoldenTrace(t *testing.T) {
	t.Parallel()
	runScripts(t, []script{{"C-001 the golden trace, event for event", `
		followup p1 => IS+(next-turn:p1) TS1 IS-(next-turn:1)
		step calls c1 chunks=4 => SS1.1 UM(p1) RH(initial) RC CH×4 AM TC(c1)
		tool c1 ok => TR(c1) SE
		step ok chunks=4 => SS1.2 CH×4 AM SE TE(completed)
		status running,idle
		followup p2 => IS+(next-turn:p2) TS2 IS-(next-turn:1)
		step ok chunks=4 => SS2.1 UM(p2) CH×4 AM SE TE(completed)
		status running,idle
	`}})
}
