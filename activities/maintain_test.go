package activities

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/store/storetest"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
)

func idleTask(context.Context, plugin.Maintenance) (any, error) { return nil, nil }

func task(f plugin.MaintenanceTask) setting {
	return define(func(d *plugin.Definition) { d.Maintenance = map[string]plugin.MaintenanceTask{"tidy": f} })
}

func (b *bench) maintenance() work.MaintainIn {
	return work.MaintainIn{ID: "maintain-1", Ident: b.ident(), Task: "tidy", Turn: b.turn, Head: b.head, Tail: b.tail}
}

// maintain runs a task and takes over its answer, as the driver does.
func (b *bench) maintain(in work.MaintainIn) work.MaintainOut {
	b.t.Helper()
	out, err := b.a.Maintain(b.ctx, in)
	require.NoError(b.t, err)
	require.Equal(b.t, work.EchoOf(in.Head.Count, in.Tail), out.Echo)
	require.Equal(b.t, b.a.kinds[agent].manifest.Digest, out.Worker.Manifest)
	if out.Head != b.head {
		b.head, b.tail = out.Head, nil
	}
	b.fold()
	return out
}

func title(text string) session.Feature {
	return session.Feature{Kind: "session/title", Data: json.RawMessage(`{"title":"` + text + `"}`)}
}

// shortens replaces the whole surface by one message.
func shortens(_ context.Context, in plugin.Maintenance) (any, error) {
	surface := in.Log.State().Surface()
	err := in.Log.Replace(surface[0].Seq, surface[len(surface)-1].Seq, session.UserMessage{Message: msg("short", "in short")})
	return map[string]int{"replaced": len(surface)}, err
}

func TestATaskWorksOnTheLog(t *testing.T) { // §3.6, C-098, C-250
	t.Parallel()
	b := newBench(t, script("text \"1\"\ntext \"2\""), task(func(ctx context.Context, in plugin.Maintenance) (any, error) {
		require.Equal(t, "scripted", in.View.Provider)
		require.JSONEq(t, `{"k":1}`, string(in.Args))
		plugin.AgentFrom(ctx).Followup(session.Message{Content: session.TextContent("done")})
		if err := in.Log.Append(title("t")); err != nil {
			return nil, err
		}
		return shortens(ctx, in)
	}))
	b.turnOf("a")
	in := b.maintenance()
	in.Args = json.RawMessage(`{"k":1}`)
	out := b.maintain(in)
	require.JSONEq(t, `{"replaced":2}`, string(out.Result))
	require.Nil(t, out.Failure)
	require.Equal(t, []string{"act-maintain-1-maintain-1"}, ids(out.Acts))
	require.Len(t, b.fold().Surface(), 1)
	b.turnOf("b")
	require.Contains(t, b.own(), "SS2.1 UM(b) RH(series)")
	require.Equal(t, "in short", b.requests()[1].Messages[0].Text())
	b.reconstructed()
}

func TestATaskThatLogsNothingLeavesTheLogAsItWasLent(t *testing.T) {
	t.Parallel()
	b := newBench(t, task(idleTask))
	b.turnOf("a")
	in := b.maintenance()
	require.NotEmpty(t, in.Tail)
	out := b.maintain(in)
	require.Equal(t, in.Head, out.Head)
	require.Nil(t, out.Result)
}

func TestTheFailureOfATaskReachesTheCaller(t *testing.T) { // §3.6.3, C-256
	t.Parallel()
	for name, c := range map[string]struct {
		task    plugin.MaintenanceTask
		name    string
		failure session.Failure
		titles  int
	}{
		"its own, after it logged": {func(_ context.Context, in plugin.Maintenance) (any, error) {
			return nil, errors.Join(in.Log.Append(title("t")), errors.New("broken"))
		}, "tidy", session.Failure{Code: work.CodeUnknown, Message: "broken"}, 1},
		"a panic":      {func(context.Context, plugin.Maintenance) (any, error) { panic(42) }, "tidy", session.Failure{Code: work.CodeUnknown, Message: "panic: 42"}, 0},
		"an unknown":   {idleTask, "other", session.Failure{Code: work.CodeUnknownTask, Message: `no maintenance task is named "other" on this worker`}, 0},
		"no result":    {func(context.Context, plugin.Maintenance) (any, error) { return func() {}, nil }, "tidy", session.Failure{Code: work.CodeUnknown, Message: "result of the task: json: unsupported type: func()"}, 0},
		"a big result": {func(context.Context, plugin.Maintenance) (any, error) { return strings.Repeat("x", MaxTaskResult), nil }, "tidy", session.Failure{Code: work.CodeUnknown, Message: "result of the task: it has 16386 bytes, the limit is 16384 (store it and return where it is)"}, 0},
		"refused events": {func(_ context.Context, in plugin.Maintenance) (any, error) {
			return nil, in.Log.Append(title("t"), session.StepStart{Turn: 9, Step: 1})
		}, "tidy", session.Failure{Code: work.CodeUnknown, Message: "event 15: step 9.1 starts outside its turn (rule §2.4.3.2)"}, 0},
		"an unknown span": {func(_ context.Context, in plugin.Maintenance) (any, error) {
			return nil, in.Log.Replace(0, 0, session.UserMessage{Message: msg("m", "x")})
		}, "tidy", session.Failure{}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, task(c.task))
			b.turnOf("a")
			in := b.maintenance()
			in.Task = c.name
			out := b.maintain(in)
			require.NotNil(t, out.Failure)
			if c.failure.Code != "" {
				require.Equal(t, c.failure, *out.Failure)
			}
			require.Len(t, events[session.Feature](b), c.titles)
		})
	}
}

func TestACancelledTaskIsAborted(t *testing.T) { // §3.6.5
	t.Parallel()
	var b *bench
	b = newBench(t, task(func(ctx context.Context, _ plugin.Maintenance) (any, error) {
		b.cancel()
		<-ctx.Done()
		return nil, ctx.Err()
	}))
	out := b.maintain(b.maintenance())
	require.Equal(t, work.CodeAborted, out.Failure.Code)
	b.stopped = errors.New("worker draining")
	_, err := b.a.Maintain(b.ctx, b.maintenance())
	require.ErrorIs(t, err, b.stopped)
	b.stopped = nil
	require.Equal(t, work.CodeAborted, b.maintain(b.maintenance()).Failure.Code)
}

func TestATaskDoesNotAppendTwice(t *testing.T) { // §3.6
	t.Parallel()
	for point, runs := range map[string]int{"task/written": 2, "task/done": 1} {
		ran := 0
		b := newBench(t, task(func(_ context.Context, in plugin.Maintenance) (any, error) {
			ran++
			return ran, in.Log.Append(title("t"))
		}))
		b.turnOf("a")
		in := b.maintenance()
		b.die = point
		_, err := b.a.Maintain(b.ctx, in)
		require.ErrorIs(t, err, errDied)
		b.die = ""
		b.exec++
		b.faults.Clear()
		out := b.maintain(in)
		require.Equal(t, runs, ran)
		require.JSONEq(t, map[int]string{1: "1", 2: "2"}[runs], string(out.Result))
		require.Len(t, events[session.Feature](b), 1)
	}
}

func TestAStoreThatFailsATaskIsAnError(t *testing.T) {
	t.Parallel()
	b := newBench(t, task(func(_ context.Context, in plugin.Maintenance) (any, error) { return nil, in.Log.Append(title("t")) }))
	b.turnOf("a")
	b.faults.Fail(storetest.Match{Op: storetest.Create, Prefix: "segments/"}, errors.New("disk full"), storetest.Always)
	_, err := b.a.Maintain(b.ctx, b.maintenance())
	require.ErrorContains(t, err, "disk full")
	b.faults.Clear()
	b.faults.Fail(storetest.Match{Op: storetest.Create, Prefix: "effects/"}, errors.New("disk full"), storetest.Always)
	require.Nil(t, b.maintain(b.maintenance()).Failure) // only the record of the answer is missing
}
