package session

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Each trace is what the scribe wrote, up to its own extensions. See spec §2.4.4.
func TestTraceNotation(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ script, want string }{
		{"IS+(next-turn:a,b) IS+(next-step:c)", ""},
		{"IS+(next-turn:a,b) IS-(next-turn:1) ISx(next-turn:1)", ""},
		{"IS+(next-turn:a) ISr(next-turn:a→a2)", ""},
		{"TS1 SS1.1 SYS(p) UM(a) RH(initial) RC", "TS1 SS1.1 SYS UM(a) RH(initial) RC"},
		{"TS1 RH(change,series) RH(resume) RH(series)", ""},
		{"TS1 SS1.1 CH×1 AA LR(1) LRS(1) CH×2 AM", ""},
		{"TS1 SS1.1 AM! AM∅ SYS()", "TS1 SS1.1 AM! AM∅ SYS∅"},
		{"TS1 SS1.1 TC(c1) TR(c1) TC(c2) TR!(c2) TC(c3) TR!(c3,X) SE TE(completed)", ""},
		{"TS1 SS1.1 TC(c1) TR(c1) TR~3-3(c1)", "TS1 SS1.1 TC(c1) TR(c1) TR(c1)~"},
		{"UM(a) UM~0-0(b)", "UM(a) UM(b)~"},
		{"TS1 TE(aborted user) TS2 TE(aborted hook r) TS3 TE(error CODE) TS4 TE(max-tokens) TS5 TE(interrupted)", ""},
		{"CR(user) ES", ""},
	} {
		want := c.want
		if want == "" {
			want = c.script
		}
		require.Equal(t, want, Trace(newScribe(t, c.script).log.Records(), nil))
	}
}

func TestTraceNamesMessagesAsItIsTold(t *testing.T) {
	t.Parallel()
	records := newScribe(t, "IS+(next-turn:a) ISr(next-turn:a→b) UM(b)").log.Records()
	require.Equal(t, "IS+(next-turn:A) ISr(next-turn:A→B) UM(B)", Trace(records, strings.ToUpper))
}

func TestATracerNamesEditsAcrossPieces(t *testing.T) {
	t.Parallel()
	records := newScribe(t, "IS+(next-turn:a,b) ISr(next-turn:b→c)").log.Records()
	var tr Tracer
	require.Equal(t, "IS+(next-turn:a,b)", tr.Trace(records[:1]))
	require.Equal(t, "ISr(next-turn:b→c)", tr.Trace(records[1:]))
	require.Equal(t, "ISr(next-turn:?→c)", Trace(records[1:], nil), "without what came before")
}

func TestTraceShowsFeaturesByTypeAndNeverPanics(t *testing.T) {
	t.Parallel()
	require.Equal(t, "todo/write ?", Trace([]Record{{Event: Feature{Kind: "todo/write", Data: json.RawMessage("{}")}}, {}}, nil))
	for _, e := range everyEvent() {
		require.NotEmpty(t, Trace([]Record{{Event: e}}, nil))
	}
	require.Equal(t, "IS-(later:1)", Trace([]Record{{Event: InboxSpliced{Target: "later", Start: -4, RemovedCount: 1}}}, nil))
}
