package local

import (
	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/internal/work"
)

// mayRoll reports whether the agent may move to a new run: the driver agrees and nothing is open. Timers do not count.
func (a *agent) mayRoll() bool {
	return a.End == nil && len(a.Queue) == 0 && len(a.Effects) == 0 && len(a.State) > 0 && a.look().rolling
}

// roll moves the agent to a new run: all that goes along is the driver's state. See architecture A3.11. The caller holds
// the lock.
func (e *Engine) roll(a *agent) {
	a.Run++
	a.Timers, a.Cancel = nil, nil
	a.driver = nil
	e.push(a, item{Name: itemResume})
}

// askForRollover asks the driver for a safe point when the run has grown, or was natively cancelled. The caller holds
// the lock.
func (e *Engine) askForRollover(a *agent, i item) {
	if i.Name == itemRoll || i.Name == itemResume {
		return
	}
	a.Handled++
	n := e.cfg.RolloverEvery
	if i.Name == work.CancelReason || n > 0 && a.Handled%n == 0 {
		e.ask(a)
	}
}

// ask asks the driver once.
func (e *Engine) ask(a *agent) {
	if s := a.state(); a.End != nil || s.Roll || s.Phase == driver.Birth {
		return
	}
	for _, i := range a.Queue {
		if i.Name == itemRoll {
			return
		}
	}
	e.push(a, item{Name: itemRoll})
}

// AskRollover asks an agent to move to a new run at its next safe point.
func (e *Engine) AskRollover(id string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	a, err := e.live(id)
	if err != nil {
		return err
	}
	e.ask(a)
	return nil
}

// Runs is how many runs the agent has had: one more than its rollovers; 0 if it is unknown.
func (e *Engine) Runs(id string) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	if a := e.agents[id]; a != nil {
		return a.Run
	}
	return 0
}
