package conformance

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What the scenarios of this repository do not use yet works as README.md says.
const language = `# C-910  acts
model: text "ok"
> create
  nothing
  notices: created
> again inject a
  receipt duplicate
  IS+(next-step:a)
> again clear
  receipt duplicate
  ISx(next-step:1)
> look
  nothing
> signal send b next-turn wake
> idle
  IS+(next-turn:b) TS1 IS-(next-turn:1) SS1.1 UM(b) RH(initial) RC CH AM SE TE(completed)
> direct remove b
  receipt done not-found
> batch inject c; replace c d; cancel hook:why keepInbox; send e next-turn; clear
  receipt done: parked, done found, done, parked, done
  IS+(next-step:c) ISr(next-step:c→d) IS+(next-turn:e) ISx(next-step:1) ISx(next-turn:1)
> dispose
  nothing
  status closed
  notices: inserted(a) discarded(a) inserted(b) session-start(startup) running TS1 claimed(b,1) TE(completed) idle inserted(c) discarded(c) inserted(d) inserted(e) discarded(d) discarded(e) disposed

# C-911  gates
system: "be kind"
model: text "1"
model: text "2"
model: text "3"
model: text "4"
gate pre-step 1.1: rewrite "other words", add note
gate pre-step 2.1: empty
gate pre-step 3.1: series, inject x
gate request 4.1: followup y
gate pre-step 5.1: cancel hook:enough keepInbox
gate pre-step 6.1: throw "no"
> followup a
> idle
  IS+(next-turn:a) TS1 IS-(next-turn:1) SS1.1 UM(a) UM(note) RH(initial) RC CH AM SE TE(completed)
  request 1: system "be kind" | user "other words" | user[scenario] note
> followup b
> idle
  IS+(next-turn:b) TS2 IS-(next-turn:1) TE(completed)
> followup c
> idle
  IS+(next-turn:c) TS3 IS-(next-turn:1) SS3.1 UM(c) RH(series) CH AM IS+(next-step:x) SE
  IS-(next-step:1) SS3.2 UM(x) CH AM SE TE(completed)
> followup d
> idle
  IS+(next-turn:d) TS4 IS-(next-turn:1) SS4.1 UM(d) CH AM IS+(next-turn:y) SE TE(completed)
  TS5 IS-(next-turn:1) CR(hook enough) TE(aborted hook enough)
> followup e
> idle
  IS+(next-turn:e) TS6 IS-(next-turn:1) TE(error UNKNOWN)
  gate pre-step: 1.1(a) 2.1(b) 3.1(c) 3.2(x) 4.1(d) 5.1(y) 6.1(e)

# C-912  another model
model: text "ok"
gate request 1.1: model other
> followup a
> idle
  IS+(next-turn:a) TS1 IS-(next-turn:1) SS1.1 UM(a) RH(initial) RC SE TE(error NO_ADAPTER)
  data RH: {"header":{"config":{"model":"other"}}}

# C-913  tools
model: tool c1 meta {} tool c2 context {}
model: tool c3 steer {} tool c4 pin {}
model: tool c5 ends {}
message m: text "from a tool"
tool meta: pure, meta {"shown":true}, text "1"
tool context: keyed, context m, text "2"
tool steer: steer s, text "3"
tool pin: pin p, text "4"
tool ends: concludes, text "5"
window: -1
> followup a
> until p
> release p
> idle
  IS+(next-turn:a) TS1 IS-(next-turn:1) SS1.1 UM(a) RH(initial) RC CH AM TC(c1) TR(c1) TC(c2) TR(c2) IS+(next-step:m) SE
  IS-(next-step:1) SS1.2 UM(m) CH AM TC(c3) IS+(next-step:s) TR(c3) TC(c4) TR(c4) SE
  IS-(next-step:1) SS1.3 UM(s) CH AM TC(c5) TR(c5) SE TE(completed)
  data TR(c1): {"meta":{"shown":true}}
  data RC: {"contextWindow":null}
  tools order: +c1,-c1,+c2,-c2,+c3,-c3,+c4,-c4,+c5,-c5
`

func TestTheLanguageMeansWhatItSays(t *testing.T) {
	t.Parallel()
	for _, s := range loaded(t, language) {
		t.Run(s.Title, func(t *testing.T) {
			t.Parallel()
			r := s.Run(t.Context(), Local())
			require.True(t, r.OK, r.Error)
		})
	}
}
