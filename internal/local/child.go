package local

import (
	"context"
	"errors"
	"fmt"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/signals"
	"github.com/everturn/everturn/workflows"
)

// A bond is what the server knows of who started a run: that run, and only it, is told of the end.
type bond struct {
	Parent string `json:"parent"` // run id
	ID     string `json:"id"`     // agent
	Effect string `json:"effect"`
}

// The names of items about children.
const (
	itemChildStarted = "child/started"
	itemChildFailed  = "child/failed"
	itemChildClosed  = "child/closed"
)

// family carries out what agents do to each other. It reports whether the effect was one of these. The caller holds the
// lock.
func (e *Engine) family(a *agent, fx driver.Effect) bool {
	switch fx := fx.(type) {
	case driver.StartChild:
		e.startChild(a, fx)
	case driver.TellChild:
		name, payload := workflows.TellingOf(fx)
		if e.deliver(fx.Child, item{Name: name, Raw: raw(payload)}) != nil {
			e.push(a, item{Name: itemChildClosed, ID: fx.ID, Text: "it is not there"})
		}
	case driver.LookAtChild:
		e.open(a, &effect{ID: fx.ID, Activity: work.Look, In: raw(work.LookIn{Session: fx.Child, Parent: a.ID})})
	case driver.TellParent:
		_ = e.deliver(fx.Parent, item{Name: signals.ChildSays, Raw: raw(workflows.NewsOf(a.ID, fx))}) // who is gone needs to know nothing
	default:
		return false
	}
	return true
}

func (e *Engine) startChild(a *agent, fx driver.StartChild) {
	c, err := workflows.CreateOf(fx)
	if err != nil {
		e.push(a, item{Name: itemChildFailed, ID: fx.ID, Code: work.CodeUnknown, Text: err.Error()})
		return
	}
	child, err := e.begin(fx.Child, c)
	if err != nil {
		e.push(a, item{Name: itemChildFailed, ID: fx.ID, Code: codeOf(err), Text: err.Error()})
		return
	}
	child.By = &bond{Parent: a.runID(), ID: a.ID, Effect: fx.ID}
	e.push(a, item{Name: itemChildStarted, ID: fx.ID})
	e.push(child, item{Name: itemBegin, Raw: raw(c)})
	e.pushFirst(child)
}

// pushFirst lets the message that comes with a birth wait for it.
func (e *Engine) pushFirst(a *agent) {
	if first := workflows.FirstOf(a.Create); first != nil {
		e.push(a, item{Name: signals.Followup, Raw: first})
	}
}

func codeOf(err error) string {
	if errors.Is(err, agents.ErrExists) {
		return work.ErrSessionExists
	}
	return work.CodeUnknown
}

// deliver hands an act from one agent to another.
func (e *Engine) deliver(id string, i item) error {
	to, err := e.live(id)
	if err != nil {
		return err
	}
	to.accepted(i)
	e.push(to, i)
	return nil
}

// ended tells the run that started an agent of its end, if that run still goes on. The caller holds the lock.
func (e *Engine) ended(a *agent) {
	if a.By == nil {
		return
	}
	if parent, err := e.live(a.By.ID); err == nil && parent.runID() == a.By.Parent {
		e.push(parent, item{Name: itemChildClosed, ID: a.By.Effect, Text: a.End.Status})
	}
}

// childInput is what an agent learns of a child; nil if the item is about something else.
func childInput(i item) driver.Input {
	switch i.Name {
	case itemChildStarted:
		return driver.ChildStarted{ID: i.ID}
	case itemChildFailed:
		return driver.ChildFailed{ID: i.ID, Code: i.Code, Message: i.Text}
	case itemChildClosed:
		return driver.ChildClosed{ID: i.ID, Message: i.Text}
	case work.Look:
		return driver.ChildSeen{ID: i.ID, Gone: answerOf[work.LookOut](i).Gone}
	default:
		return nil
	}
}

// IsChild implements activities.RunReader.
func (w *Worker) IsChild(_ context.Context, workflowID, parent string) (bool, error) {
	e := w.engine
	e.mu.Lock()
	defer e.mu.Unlock()
	a, err := e.live(workflowID)
	if err != nil && !errors.Is(err, agents.ErrUnknownAgent) && !errors.Is(err, agents.ErrClosed) {
		return false, fmt.Errorf("look at %s: %w", workflowID, err)
	}
	return err == nil && a.By != nil && a.By.ID == parent, nil
}
