package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
)

// Maintain runs a maintenance task on the log of an idle agent. What the task appended is one segment, together with the
// tail it was lent; it counts when the caller records the head. So an execution that takes over begins with the same log
// and nothing is appended twice; one whose answer was lost is not repeated at all. See spec §3.6.
func (a *Activities) Maintain(ctx context.Context, in work.MaintainIn) (work.MaintainOut, error) {
	defer a.beat(ctx, in.Ident.Session, in.ID)()
	out, err := a.maintain(ctx, in)
	if err != nil {
		return work.MaintainOut{}, a.leave(err, fmt.Sprintf("maintenance task %s of %s", in.Task, in.Ident.Session))
	}
	return out, nil
}

// MaxTaskResult bounds the encoded result of a maintenance task, in bytes.
const MaxTaskResult = 16 << 10

func (a *Activities) maintain(ctx context.Context, in work.MaintainIn) (out work.MaintainOut, err error) {
	k, err := a.enter(ctx, in.Ident)
	if err != nil {
		return out, err
	}
	echo := work.EchoOf(in.Head.Count, in.Tail)
	key := fmt.Sprintf("maintain/%s/%d/%s/%d-%s", in.Ident.Session, in.Ident.Epoch, in.ID, in.Head.Count, echo.Hash)
	if a.Execution(ctx) > 1 {
		if out, done, err := a.maintained(ctx, key); done || err != nil {
			return out, err
		}
	}
	if out, err = a.runTask(ctx, k, in); err != nil {
		return out, err
	}
	out.Echo, out.Worker = echo, a.worker(k, in.Ident)
	if err := a.probe(ctx, "task/written", in.Ident.Session, in.Turn, 0, 1); err != nil {
		return out, err
	}
	a.noteTask(ctx, key, in, out)
	return out, a.probe(ctx, "task/done", in.Ident.Session, in.Turn, 0, 1)
}

// maintained is the answer of an earlier execution that nobody heard.
func (a *Activities) maintained(ctx context.Context, key string) (out work.MaintainOut, done bool, err error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	entry, err := a.Store.Effect(ctx, key)
	if err != nil || entry.State != store.EffectDone {
		return out, false, err
	}
	if err := json.Unmarshal(entry.Result, &out); err != nil {
		return out, false, fmt.Errorf("answer of an earlier execution: %w", err)
	}
	return out, true, nil
}

// noteTask records the answer. If that fails the answer is given nonetheless: only a worker that dies now loses it.
func (a *Activities) noteTask(ctx context.Context, key string, in work.MaintainIn, out work.MaintainOut) {
	data, err := json.Marshal(out)
	if err == nil {
		err = a.try(ctx, quickTries, func(ctx context.Context) error { return a.Store.Done(ctx, key, data) })
	}
	if err != nil {
		a.Log(ctx, "result of a maintenance task not recorded", "session_id", in.Ident.Session, "task", in.Task, "error", err)
	}
}

// runTask runs the task and writes what it appended, whether it failed or not.
func (a *Activities) runTask(ctx context.Context, k *kind, in work.MaintainIn) (out work.MaintainOut, err error) {
	l, err := a.openLog(ctx, in)
	if err != nil {
		return out, err
	}
	acts := &collector{session: in.Ident.Session, definition: k.Name, place: in.ID}
	result, failure := a.perform(acts.at(ctx, "maintain"), k, in, l)
	if failure != nil {
		if stopped := a.halted(ctx); stopped != nil {
			return out, stopped
		}
	}
	if out.Result, failure = encoded(result, failure); failure != nil {
		out.Failure = taskFailure(ctx, failure)
	}
	if out.Acts, err = a.take(ctx, acts); err != nil {
		return out, err
	}
	out.Head = in.Head
	if len(l.records) > l.lent {
		out.Head, err = a.append(ctx, patientTries, in.Ident, in.Head, l.records)
	}
	if err == nil {
		a.tell(ctx, in.Ident.Session, l.records[l.lent:])
	}
	return out, err
}

// perform calls the task under its name.
func (a *Activities) perform(ctx context.Context, k *kind, in work.MaintainIn, l *taskLog) (any, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	task := k.Maintenance[in.Task]
	if k.Compaction != nil && in.Task == plugin.CompactTask {
		return a.compact(ctx, k, in, l)
	}
	if task == nil {
		return nil, failureError{session.Failure{Code: work.CodeUnknownTask, Message: fmt.Sprintf("no maintenance task is named %.80q on this worker", in.Task)}}
	}
	view, err := a.declaredView(ctx, k, in.Ident, in.Turn, 0)
	if err != nil {
		return nil, err
	}
	return task.Run(ctx, plugin.Maintenance{View: view, Args: in.Args, Log: l})
}

// failureError is a failure with a code of its own.
type failureError struct{ session.Failure }

func (f failureError) Error() string { return f.Message }

// taskFailure is what the caller learns of an error.
func taskFailure(ctx context.Context, err error) *session.Failure {
	var coded failureError
	switch {
	case errors.As(err, &coded):
		return &coded.Failure
	case ctx.Err() != nil && (errors.Is(err, ctx.Err()) || errors.Is(err, context.Cause(ctx))):
		return &session.Failure{Code: work.CodeAborted, Message: clip(err.Error())}
	}
	return failureOf(err)
}

// encoded is a result as it travels.
func encoded(result any, failure error) (json.RawMessage, error) {
	if failure != nil || result == nil {
		return nil, failure
	}
	raw, err := json.Marshal(result)
	switch {
	case err != nil:
		return nil, fmt.Errorf("result of the task: %w", err)
	case len(raw) > MaxTaskResult:
		return nil, fmt.Errorf("result of the task: it has %d bytes, the limit is %d (store it and return where it is)", len(raw), MaxTaskResult)
	}
	return raw, nil
}

// A taskLog is the log in the hands of a task.
type taskLog struct {
	a       *Activities
	state   *session.State
	records []session.Record
	lent    int // of records
}

var _ plugin.MaintenanceLog = (*taskLog)(nil)

// openLog folds the log up to the lent tail.
func (a *Activities) openLog(ctx context.Context, in work.MaintainIn) (*taskLog, error) {
	ctx, cancel := bounded(ctx)
	defer cancel()
	state, err := a.Store.State(ctx, in.Ident.Session, store.Head(in.Head))
	if err != nil {
		return nil, err
	}
	tail, err := a.Store.Hydrate(ctx, in.Tail)
	if err != nil {
		return nil, err
	}
	l := &taskLog{a: a, state: state}
	for _, r := range tail {
		if err := l.add(r); err != nil {
			return nil, fmt.Errorf("the events lent to the task do not continue the log: %w", err)
		}
	}
	l.lent = len(l.records)
	return l, nil
}

// State implements [plugin.MaintenanceLog].
func (l *taskLog) State() *session.State { return l.state }

// Append implements [plugin.MaintenanceLog]: all events, or none.
func (l *taskLog) Append(events ...session.Event) error {
	state, records := l.state.Clone(), l.records
	for _, e := range events {
		if err := l.add(session.NewRecord(l.a.now(), e)); err != nil {
			l.state, l.records = state, records
			return err
		}
	}
	return nil
}

// Replace implements [plugin.MaintenanceLog].
func (l *taskLog) Replace(start, end int64, e session.Event) error {
	r := session.NewRecord(l.a.now(), e, spanSeqs(l.state, start, end)...)
	r.Surface = session.ReplaceOp(start, end)
	return l.add(r)
}

func (l *taskLog) add(r session.Record) error {
	r.Seq = l.state.Count()
	if err := l.state.Apply(r); err != nil {
		return err
	}
	l.records = append(l.records, r)
	return nil
}

// spanSeqs are the nodes that a replacement from start to end shadows.
func spanSeqs(st *session.State, start, end int64) (seqs []int64) {
	inside := false
	for _, r := range st.Surface() {
		if inside = inside || r.Seq == start; inside {
			seqs = append(seqs, r.Seq)
		}
		if r.Seq == end {
			break
		}
	}
	return seqs
}
