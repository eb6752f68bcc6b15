package driver

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// onMaintainAsked starts a maintenance task, from true idle only. See spec §3.6.
func (d *Driver) onMaintainAsked(in MaintainAsked) {
	if d.seen(in.Ref, in.Request, "") || d.closed(in.Ref, "") {
		return
	}
	s := d.state
	if code, why := d.refusesTask(in); code != "" {
		d.reply(in.Ref, Receipt{Disposition: Refused, Code: code, Message: why})
		return
	}
	d.remember(in.Request)
	s.Phase, s.Cancelled, s.IdleHit = Maintaining, nil, false
	s.Log.Broken = "" // as a wake does, a task tries the store again
	s.Maintenance = &Maintenance{Ref: in.Ref, Request: in.Request, Task: in.Task, Args: in.Args}
}

// refusesTask reports why a task cannot be started now; empty means it can.
func (d *Driver) refusesTask(in MaintainAsked) (code, why string) {
	s := d.state
	switch {
	case s.Phase != Idle || s.Disposing:
		return RefusedBusy, "the agent already has active work: wait until it is idle"
	case !s.Manifest.Refreshes && !slices.Contains(s.Manifest.Tasks, in.Task): // else a worker decides
		return RefusedUnknownTask, "no maintenance task of this name is registered: " + clip(in.Task)
	case len(in.Args) > MaxMessage:
		return RefusedTooLarge, fmt.Sprintf("the arguments take %d bytes, more than %d: store them and send the reference", len(in.Args), MaxMessage)
	case len(in.Args) > 0 && !json.Valid(in.Args):
		return RefusedInvalid, "the arguments are not JSON"
	}
	return "", ""
}

// maintain lends the log to the task as soon as it is free and the tail is short. See architecture A3.4.
func (d *Driver) maintain() bool {
	s := d.state
	switch {
	case s.Awaiting != "":
		return false
	case s.Cancelled != nil:
		d.endMaintenance(work.MaintainOut{Failure: &session.Failure{Code: work.CodeAborted, Message: "cancelled before it began"}})
		return true
	case s.Log.Lent != "":
		return false
	case s.Log.Bytes > work.TailLimit && s.Log.Broken != "":
		d.endMaintenance(work.MaintainOut{Failure: &session.Failure{Code: work.CodeStore, Message: s.Log.Broken}})
		return true
	case s.Log.Bytes > work.TailLimit:
		d.persist(false)
		return false
	}
	id := d.effectID("maintain")
	s.Log.lend(id, len(s.Log.Tail), true)
	s.Awaiting = id
	d.effect(StartMaintain{In: work.MaintainIn{ID: id, Ident: s.ident(), Task: s.Maintenance.Task, Args: s.Maintenance.Args,
		Turn: s.Turn, Head: s.Log.Head, Tail: s.Log.lent(), Rerouted: s.Rerouted}})
	return false
}

// onMaintainDone returns the task's result or failure unchanged. See spec §3.6.3.
func (d *Driver) onMaintainDone(in MaintainDone) {
	s := d.state
	if in.ID == "" || in.ID != s.Awaiting || s.Phase != Maintaining || !d.fits(in.ID, in.Out.Echo, in.Out.Head, false, false) {
		return
	}
	d.giveBack(in.Out.Head)
	s.Awaiting = ""
	d.learn(in.Out.Worker, "")
	d.acts(in.Out.Acts)
	d.endMaintenance(in.Out)
}

// onMaintainLost gives the log back as it was lent. See spec §3.6.3.
func (d *Driver) onMaintainLost(in MaintainLost) {
	s := d.state
	if in.ID == "" || in.ID != s.Awaiting || s.Phase != Maintaining {
		return
	}
	d.giveBack(s.Log.Head)
	code := work.CodeWorkerLost
	if in.Why == LostCancelled {
		code = work.CodeAborted
	}
	d.endMaintenance(work.MaintainOut{Failure: &session.Failure{Code: code, Message: "the task was lost: " + clip(in.Message)}})
}

// endMaintenance gives the idle phase back; what was latched meanwhile runs now. See spec §3.6.4.
func (d *Driver) endMaintenance(out work.MaintainOut) {
	s := d.state
	m := s.Maintenance
	s.Phase, s.Cancelled, s.Awaiting = Idle, nil, ""
	s.Generation++
	d.reply(m.Ref, maintained(out))
	m.Ref, m.Args, m.Done, m.Result, m.Failure = "", nil, true, out.Result, out.Failure
}

// maintained is the receipt of a task that is over, or that no worker knows.
func maintained(out work.MaintainOut) Receipt {
	if f := out.Failure; f != nil && f.Code == work.CodeUnknownTask {
		return Receipt{Disposition: Refused, Code: RefusedUnknownTask, Message: f.Message}
	}
	return Receipt{Disposition: Done, Result: out.Result, Failure: out.Failure}
}
