package activities

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
)

// silent is the history of a closed run that cannot say where its log ended.
type silent struct {
	HistoryReader
	last LastInputs
}

func (s silent) Inputs(context.Context, string, string) (LastInputs, error) { return s.last, nil }

// effect makes an entry of the ledger for the first call.
func (b *bench) effect(t *testing.T, title string, out *work.ToolOut) {
	key := work.EffectKey(sess, 1, 1, 1, "c1")
	_, err := b.store.StartedAs(t.Context(), key, []byte(title))
	require.NoError(t, err)
	if out == nil {
		return
	}
	raw, err := json.Marshal(out)
	require.NoError(t, err)
	require.NoError(t, b.store.Done(t.Context(), key, raw))
}

// closed is an agent whose run was closed after its model had asked for a call.
func (b *bench) closed(t *testing.T) {
	_, err := b.a.Setup(b.ctx, b.birth())
	require.NoError(t, err)
	b.say("a")
	b.next()
	_, err = b.a.Persist(b.ctx, work.PersistIn{Ident: b.ident(), Head: b.head, Tail: b.tail, Publish: true})
	require.NoError(t, err)
}

// resumed is the log of the agent's next life.
func (b *bench) resumed(t *testing.T, last LastInputs) string {
	b.a.History = silent{last: last}
	again := b.birth()
	again.CreatedAt, again.Resume = 9, &work.ResumeFrom{RunID: "closed"}
	out, err := b.a.Setup(b.ctx, again)
	require.NoError(t, err)
	b.head, b.tail = out.Log.Head, nil
	return b.trace()
}

// A call that may have had its effect is never told as one that was not started, also if the closed run is silent: the
// tool/call was in no segment, and what says that it was decided is the raw history, a state that was handed over, or the
// ledger. See spec §7.2.
func TestAStartedCallOfASilentRunIsRepairedAsSuch(t *testing.T) {
	t.Parallel()
	const unknown, unstarted = "TC(c1) TR!(c1,TOOL_OUTCOME_UNKNOWN)", "TR!(c1,TOOL_NOT_STARTED)"
	scheduled := func(t *testing.T, in work.ToolIn) LastInputs {
		args, err := converter.GetDefaultDataConverter().ToPayloads(in)
		require.NoError(t, err)
		r := inputReader{}
		r.event(&historypb.HistoryEvent{Attributes: &historypb.HistoryEvent_ActivityTaskScheduledEventAttributes{
			ActivityTaskScheduledEventAttributes: &historypb.ActivityTaskScheduledEventAttributes{
				ActivityType: &commonpb.ActivityType{Name: work.Tool}, Input: args}}})
		return r.out
	}
	call := work.Call{ID: "c1", Name: "echo"}
	for name, tt := range map[string]struct {
		last func(*testing.T, *bench) LastInputs
		want string
	}{
		"nothing is known": {func(*testing.T, *bench) LastInputs { return LastInputs{} }, unstarted},
		"its body is planned": {func(t *testing.T, _ *bench) LastInputs {
			return scheduled(t, work.ToolIn{Turn: 1, Step: 1, Call: call})
		}, unknown},
		"only its gate is": {func(t *testing.T, _ *bench) LastInputs {
			return scheduled(t, work.ToolIn{Turn: 1, Step: 1, Call: call, Mode: work.ToolGate})
		}, unstarted},
		"one of another step": {func(t *testing.T, _ *bench) LastInputs {
			return scheduled(t, work.ToolIn{Turn: 1, Step: 2, Call: call})
		}, unstarted},
		"it was handed over": {func(*testing.T, *bench) LastInputs {
			return LastInputs{Carried: []session.Record{session.NewRecord(1, session.ToolCall{Turn: 1, Step: 1, CallID: "c1", Name: "echo"})}}
		}, unknown},
		"the ledger has its start": {func(t *testing.T, b *bench) LastInputs {
			b.effect(t, "echo {}", nil)
			return LastInputs{}
		}, unknown},
		"the ledger has its result": {func(t *testing.T, b *bench) LastInputs {
			b.effect(t, "echo {}", &work.ToolOut{Content: session.TextContent("done")})
			return LastInputs{}
		}, "TC(c1) TR(c1)"},
		"the ledger has the result of another call": {func(t *testing.T, b *bench) LastInputs {
			b.effect(t, "echo {\"n\":1}", &work.ToolOut{Content: session.TextContent("done")})
			return LastInputs{}
		}, unstarted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, script("tool c1 echo {}"))
			b.closed(t)
			require.Contains(t, b.resumed(t, tt.last(t, b)), " AM "+tt.want+" SE TE(interrupted) ES")
		})
	}
}

// What a post gate would have judged is not taken from the ledger.
func TestARecalledResultIsNotTakenPastItsGate(t *testing.T) {
	t.Parallel()
	judge := func(ctx context.Context, _ plugin.ToolOutcome, next func(context.Context) (plugin.PostDecision, error)) (plugin.PostDecision, error) {
		return next(ctx)
	}
	b := newBench(t, script("tool c1 echo {}"), define(func(d *plugin.Definition) { d.ToolPostExecute = append(d.ToolPostExecute, judge) }))
	b.closed(t)
	b.effect(t, "echo {}", &work.ToolOut{Content: session.TextContent("secret")})
	require.Contains(t, b.resumed(t, LastInputs{}), " AM TC(c1) TR!(c1,TOOL_OUTCOME_UNKNOWN) SE TE(interrupted) ES")
}
