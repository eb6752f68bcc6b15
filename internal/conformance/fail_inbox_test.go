package conformance

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A scenario of an edited inbox that holds in every line.
const soundInbox = `# C-900  a sound scenario
model: text "one" hold m
model: text "two"
> followup a
> until m
> followup b
> steer c at-turn 1
  inbox next-step: c; next-turn: b
> promote b next-step seen
  receipt done found
  message b: pending next-step
> batch reorder c b; remove b seen
  receipt done: done, refused STALE_REVISION
> followup d if-idle
  refused PRECONDITION
> release m
> idle
  IS+(next-turn:a) TS1 IS-(next-turn:1) SS1.1 UM(a) RH(initial) RC CH AM IS+(next-turn:b) IS+(next-step:c)
  ISm(next-step@0:b) ISm(next-step@0:c,b) SE IS-(next-step:2) SS1.2 UM(c) UM(b) CH AM SE TE(completed)
  message b: ended 1.2 completed
  logged b: ended 1.2 completed
`

var wrongInbox = []wrongLine{
	{"message b: pending next-step", "message b: pending next-turn", "message b: want pending next-turn, got pending next-step"},
	{"message b: ended 1.2 completed", "message b: dropped 1.2 blocked", "message b: want dropped 1.2 blocked, got ended 1.2 completed"},
	{"logged b: ended 1.2 completed", "logged x: ended 1.2 completed", "logged x: want ended 1.2 completed, got unknown"},
	{"ISm(next-step@0:c,b)", "ISm(next-step@1:c,b)", "log: want IS+"},
	{"promote b next-step seen\n  receipt done found", "promote x next-step seen\n  receipt done found", "receipt: want done found, got done not-found"},
	{"refused STALE_REVISION", "done found", "receipt: want done: done, done found"},
	{"at-turn 1", "at-turn 2", "refused (PRECONDITION)"},
	{"if-idle\n  refused", "reject\n  refused", "refused: want PRECONDITION, got BUSY"},
}

func TestASoundScenarioOfAnInboxHolds(t *testing.T) {
	t.Parallel()
	r := runText(t, soundInbox)
	require.True(t, r.OK, r.Error)
	for _, tt := range wrongInbox {
		require.Contains(t, soundInbox, tt.old)
		t.Run(tt.old+" is not "+tt.wrong, func(t *testing.T) {
			t.Parallel()
			r := runText(t, strings.Replace(soundInbox, tt.old, tt.wrong, 1))
			require.False(t, r.OK)
			require.Contains(t, r.Error, tt.want)
		})
	}
}
