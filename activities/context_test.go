package activities

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/store/storetest"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
)

// facts gives turn n the n-th text as runtime context.
func facts(texts ...string) setting {
	return define(func(d *plugin.Definition) {
		d.Contexts = []plugin.RuntimeContext{{Name: "facts", Render: func(_ context.Context, v plugin.View) (string, error) { return texts[v.Turn-1], nil }}}
	})
}

func TestRuntimeContextIsToldWhenItChanges(t *testing.T) { // C-105 to C-108
	t.Parallel()
	b := newBench(t, script(answers), facts("A", "A", "B", "", ""))
	for i, want := range []string{
		"UM(t1) UM(ctx1.1) RH(initial) RC", "UM(t2)", "UM(t3) UM(ctx3.1)", "UM(t4) UM(ctx4.1)", "UM(t5)",
	} {
		b.turnOf([]string{"t1", "t2", "t3", "t4", "t5"}[i])
		require.Contains(t, b.own(), ".1 "+want+" CH×4")
	}
	users := events[session.UserMessage](b)
	require.Equal(t, contextPreamble+"\n\nA", users[1].Text())
	require.Equal(t, session.Source{Kind: session.SourcePlugin, Plugin: "prompt", Form: "snapshot", Sections: []string{"facts"}}, users[1].Source)
	require.Equal(t, contextNone, users[6].Text())
	require.Len(t, events[session.RequestHeader](b), 1)
	b.reconstructed()
}

func TestRuntimeContextCanBeSuppressed(t *testing.T) { // §8.6
	t.Parallel()
	quiet := define(func(d *plugin.Definition) {
		d.Assembly = []plugin.AssemblyGate{func(ctx context.Context, v plugin.View, next func(context.Context, plugin.View) (plugin.Assembled, error)) (plugin.Assembled, error) {
			out, err := next(ctx, v)
			out.NoSnapshot = v.Turn == 2 || v.Turn == 3
			return out, err
		}}
	})
	b := newBench(t, script(answers), facts("A", "B", "", "B"), quiet)
	for i, want := range []string{"UM(t1) UM(ctx1.1) RH(initial) RC", "UM(t2)", "UM(t3)", "UM(t4) UM(ctx4.1)"} {
		b.turnOf([]string{"t1", "t2", "t3", "t4"}[i])
		require.Contains(t, b.own(), ".1 "+want+" CH×4")
	}
	b.reconstructed()
}

func TestAShadowedSnapshotIsToldAgain(t *testing.T) { // C-109 to C-111
	t.Parallel()
	for name, c := range map[string]struct {
		texts []string
		want  string
	}{
		"unchanged, C-109": {[]string{"A", "A", "A"}, "UM(b) UM(ctx2.1)"},
		"gone, C-110":      {[]string{"A", "", ""}, "UM(b) UM(ctx2.1)"},
		"never any, C-111": {[]string{"", "", ""}, "UM(b)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, script(answers), facts(c.texts...))
			b.turnOf("a")
			b.compact()
			b.turnOf("b")
			require.Contains(t, b.own(), "SS2.1 "+c.want+" RH(series) CH×4")
			b.turnOf("c")
			require.Contains(t, b.own(), "SS3.1 UM(c) CH×4")
			b.reconstructed()
		})
	}
}

// compact replaces the whole history with a summary.
func (b *bench) compact() {
	surface := b.fold().Surface()
	var seqs []int64
	for _, r := range surface {
		seqs = append(seqs, r.Seq)
	}
	r := session.NewRecord(0, session.UserMessage{Message: session.Message{
		ID: "summary", Role: session.RoleUser, Content: session.TextContent("in short"),
		Source: session.Source{Kind: session.SourcePlugin, Plugin: "compaction"},
	}}, seqs...)
	r.Surface = session.ReplaceOp(seqs[0], seqs[len(seqs)-1])
	r.Seq = b.head.Count + int64(len(b.tail))
	b.tail = append(b.tail, r)
}

func TestAnEmptyWakeWithASnapshotCallsTheModel(t *testing.T) { // §8.6, quirk
	t.Parallel()
	b := newBench(t, facts("A"))
	b.openTurn()
	b.next()
	require.Equal(t, "TS1 SS1.1 UM(ctx1.1) RH(initial) RC CH×4 AM", b.own())
}

func TestAResumedLogKeepsItsSnapshot(t *testing.T) { // C-112
	t.Parallel()
	b := newBench(t, script(answers), facts("A", "A"))
	b.turnOf("a")
	b.log(session.EndSeed{})
	b.turnOf("b")
	require.Contains(t, b.own(), "SS2.1 UM(b) RH(resume) CH×4")
}

// A log that cannot be searched now is searched by the next execution: a guess would stay in the cache. See spec §8.6.
func TestASearchForTheSnapshotThatFailsIsRepeated(t *testing.T) {
	t.Parallel()
	var b *bench
	b = newBench(t, script(answers), define(func(d *plugin.Definition) {
		d.Contexts = []plugin.RuntimeContext{{Name: "facts", Render: func(_ context.Context, v plugin.View) (string, error) {
			if v.Turn == 2 && b.exec == 1 {
				b.faults.Down(nil)
			}
			return map[int]string{1: "A"}[v.Turn], nil // from the second turn on there is nothing to tell
		}}}
	}))
	b.turnOf("a")
	b.compact()
	b.say("b")
	in := b.in()
	_, err := b.a.Step(b.ctx, in)
	require.ErrorIs(t, err, storetest.ErrDown)
	b.faults.Up()
	b.exec = 2
	b.run(in)
	require.Contains(t, b.own(), "SS2.1 UM(b) UM(ctx2.1) RH(series)", "the model is told that the snapshot is void")
}
