package activities

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/store/storetest"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
)

func TestARequestThatCannotBeLoggedIsNotSent(t *testing.T) { // C-273, §4.11 (a)
	t.Parallel()
	for name, match := range map[string]storetest.Match{
		"step/start refused": {Op: storetest.Create, Prefix: "segments/"},
		"journal refused":    {Op: storetest.Create, Prefix: "journal/"},
		"assembly refused":   {Op: storetest.Create, Prefix: "blobs/"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			if match.Prefix == "blobs/" {
				b.rules = rulesLean - 1 // from then on the journal holds the assembly
			}
			b.faults.Fail(match, errors.New("disk full"), storetest.Always)
			b.say("a")
			out := b.next()
			require.Equal(t, work.StepFailed, out.Outcome)
			require.Equal(t, work.CodeStore, out.Failure.Code)
			require.Contains(t, out.Failure.Message, "disk full")
			require.False(t, out.Entered || out.Committed)
			require.Empty(t, out.Users)
			require.Equal(t, b.head, out.Head)
			require.Equal(t, "TS1 IS-(next-turn:1)", b.own())
			require.Empty(t, b.requests())
			require.Len(t, b.faults.Calls(match), quickTries)
		})
	}
}

func TestAFaultOfTheStoreThatPassesIsNotSeen(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.faults.Fail(storetest.Match{Op: storetest.Create}, errors.New("busy"), 2)
	b.say("a")
	require.Equal(t, work.StepMessage, b.next().Outcome)
	require.Equal(t, "TS1 IS-(next-turn:1) SS1.1 UM(a) RH(initial) RC CH×4 AM", b.own())
}

func TestAChunkThatCannotBeRecordedEndsTheCall(t *testing.T) { // C-136
	t.Parallel()
	asked := false
	b := newBench(t, script(`text "`+strings.Repeat("x", 3*journalBytes)+`" chunks=3`), define(func(d *plugin.Definition) {
		d.RequestError = []plugin.RequestErrorGate{func(ctx context.Context, in plugin.RequestFailure, next func(context.Context, plugin.RequestFailure) (plugin.Recovery, error)) (plugin.Recovery, error) {
			asked = true
			return next(ctx, in)
		}}
	}))
	b.faults.Fail(storetest.Match{Op: storetest.Create, Prefix: journalKey(1, 1)}, errors.New("disk full"), storetest.Always)
	b.say("a")
	out := b.next()
	require.Equal(t, work.StepAttempt, out.Outcome)
	require.Equal(t, work.CodeStore, out.Failure.Code)
	require.Nil(t, out.Recovery)
	require.False(t, asked)
	require.Equal(t, "TS1 IS-(next-turn:1) SS1.1 UM(a) RH(initial) RC CH×1 AA", b.own())
}

func TestAJournalThatBreaksStopsASilentModel(t *testing.T) { // C-136
	t.Parallel()
	b := newBench(t, script(`text "x" open hold for-ever`))
	b.a.journalEvery = 1
	b.faults.Fail(storetest.Match{Op: storetest.Create, Prefix: journalKey(1, 1)}, errors.New("disk full"), storetest.Always)
	b.say("a")
	out := b.next()
	require.Equal(t, work.StepAttempt, out.Outcome)
	require.Equal(t, work.CodeStore, out.Failure.Code)
	require.Equal(t, "TS1 IS-(next-turn:1) SS1.1 UM(a) RH(initial) RC CH×1 AA", b.own())
}

func TestAChunkThatTheLogRefusesEndsTheCall(t *testing.T) {
	t.Parallel()
	b := newBench(t, route(func(m *scripted.Model) {
		m.Script = scripted.MustParse("text \"ok\" chunk {\"type\":\"finish\",\"reason\":{\"kind\":\"whatever\"}}")
	}))
	b.say("a")
	out := b.next()
	require.Equal(t, work.StepAttempt, out.Outcome)
	require.Equal(t, work.CodeUnknown, out.Failure.Code)
	require.Nil(t, out.Recovery)
	require.Equal(t, "TS1 IS-(next-turn:1) SS1.1 UM(a) RH(initial) RC CH×2 AA", b.own())
}

func TestAnAnswerThatCannotBeLoggedIsAnErrorOfTheActivity(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.at["stream/end"] = func() {
		b.faults.Fail(storetest.Match{Op: storetest.Create, Prefix: "segments/"}, errors.New("disk full"), storetest.Always)
	}
	b.say("a")
	in := b.in()
	_, err := b.a.Step(b.ctx, in)
	require.ErrorContains(t, err, "disk full")

	b.faults.Clear()
	b.at, b.exec = nil, 2
	b.a.Registry = must(llm.NewRegistry(scripted.New(scripted.Config{Models: map[string]scripted.Model{"test": {Script: scripted.MustParse(`text "ok"`)}}})))
	out := b.run(in)
	require.Equal(t, work.StepMessage, out.Outcome)
	require.Equal(t, "TS1 IS-(next-turn:1) SS1.1 UM(a) RH(initial) RC AA CH×4 AM", b.own())
}

func TestAZombieOfAnOlderEpochIsRefused(t *testing.T) { // A3.12
	t.Parallel()
	for name, fence := range map[string]string{"before it starts": "", "before it logs": "step/prepared", "before it settles": "stream/end"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			claim := func() { require.NoError(t, b.store.ClaimEpoch(t.Context(), sess, 2, "resume")) }
			b.at[fence] = claim
			if fence == "" {
				claim()
			}
			b.say("a")
			_, err := b.a.Step(b.ctx, b.in())
			var refusal *Refusal
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, work.ErrFenced, refusal.Kind)
		})
	}
}

func TestAnAgentWaitsForAWorkerThatFits(t *testing.T) { // A3.3, A3.12
	t.Parallel()
	b := newBench(t)
	b.say("a")
	for says, change := range map[string]func(*work.Ident){
		"WRONG_STORE: this worker uses another store":                                                              func(id *work.Ident) { id.Store = "elsewhere" },
		`UNKNOWN_DEFINITION: definition "nobody" is not registered with this worker, which knows tester`:           func(id *work.Ident) { id.Definition = "nobody" },
		fmt.Sprintf("WORKER_TOO_OLD: agent sess goes by rules %d, this worker knows %d", work.Rules+1, work.Rules): func(id *work.Ident) { id.Rules = work.Rules + 1 },
	} {
		in := b.in()
		change(&in.Ident)
		_, err := b.a.Step(b.ctx, in)
		require.ErrorContains(t, err, says)
		var refusal *Refusal
		require.False(t, errors.As(err, &refusal), "another worker may take it: %v", err)
	}
	require.Equal(t, work.StepMessage, b.next().Outcome, "nothing has happened yet")
}

func TestTheGivenHeadIsPublished(t *testing.T) { // A3.3
	t.Parallel()
	b := newBench(t, script("text \"1\"\ntext \"2\""))
	b.turnOf("a")
	given := b.head
	b.turnOf("b")
	_, head, err := b.store.LatestHead(t.Context(), sess)
	require.NoError(t, err)
	require.Equal(t, store.Head(given), head)
}

func TestATailThatDoesNotContinueTheLogFailsTheStep(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.say("a")
	in := b.in()
	in.Tail = append(in.Tail[:1:1], session.NewRecord(0, session.StepEnd{Turn: 1, Step: 1}))
	out, err := b.a.Step(b.ctx, in)
	require.NoError(t, err)
	require.Equal(t, work.StepFailed, out.Outcome)
	require.Equal(t, in.Head, out.Head)
	require.Contains(t, out.Failure.Message, "do not continue the log")
}
