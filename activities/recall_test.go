package activities

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/converter"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// silent is the history of a closed run that cannot say where its log ended.
type silent struct {
	HistoryReader
	last LastInputs
}

func (s silent) Inputs(context.Context, string, string) (LastInputs, error) { return s.last, nil }

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
		"the ledger has it": {func(t *testing.T, b *bench) LastInputs {
			_, err := b.store.Started(t.Context(), work.EffectKey(sess, 1, 1, 1, "c1"))
			require.NoError(t, err)
			return LastInputs{}
		}, unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, script("tool c1 echo {}"))
			_, err := b.a.Setup(b.ctx, b.birth())
			require.NoError(t, err)
			b.say("a")
			b.next()
			_, err = b.a.Persist(b.ctx, work.PersistIn{Ident: b.ident(), Head: b.head, Tail: b.tail, Publish: true})
			require.NoError(t, err)
			b.a.History = silent{last: tt.last(t, b)}
			again := b.birth()
			again.CreatedAt, again.Resume = 9, &work.ResumeFrom{RunID: "closed"}
			out, err := b.a.Setup(b.ctx, again)
			require.NoError(t, err)
			b.head, b.tail = out.Log.Head, nil
			require.Contains(t, b.trace(), " AM "+tt.want+" SE TE(interrupted) ES", strings.ToLower(name))
		})
	}
}
