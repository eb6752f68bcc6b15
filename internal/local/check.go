package local

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/everturn/everturn/internal/driver"
	"github.com/everturn/everturn/internal/work"
)

// sound holds a decision against what must be true after every input. A defect stops the agent: on Temporal the task
// would fail for ever.
func (k *task) sound(d decision) bool {
	e, a := k.engine, k.agent
	err := k.broken()
	for _, fx := range d.effects {
		if defect, ok := fx.(driver.Defect); ok {
			e.mu.Lock()
			defer e.mu.Unlock()
			a.wedged = true
			e.blame(a, "at %s %s: defect: %s", d.Name, d.ID, defect.Message)
			e.announce()
			return false
		}
	}
	if err != nil {
		e.mu.Lock()
		defer e.mu.Unlock()
		e.blame(a, "after %s %s: %w", d.Name, d.ID, err)
	}
	return true
}

// broken checks the state.
func (k *task) broken() error {
	if !k.engine.cfg.CheckEveryInput || k.driver == nil {
		return nil
	}
	if n := k.engine.cfg.RestoreOneIn; n < 2 || k.engine.checked.Add(1)%int64(n) == 0 {
		if err := k.restored(); err != nil {
			return err
		}
	}
	if err := driver.Check(k.driver.State()); err != nil {
		return fmt.Errorf("the state breaks a law: %w", err)
	}
	return nil
}

// restored goes on with a driver that knows only what the state says in JSON.
func (k *task) restored() error {
	var restored driver.State
	if err := json.Unmarshal(k.state(), &restored); err != nil {
		return fmt.Errorf("the state cannot be restored: %w", err)
	}
	if again := raw(restored); !bytes.Equal(k.written, again) {
		return fmt.Errorf("the state changes when it is restored:\n%s\n%s", k.written, again)
	}
	k.driver = driver.Restore(restored)
	return nil
}

// state is the driver's state as it is stored.
func (k *task) state() json.RawMessage {
	if k.written == nil {
		k.written = raw(k.driver.State())
	}
	return k.written
}

// fits checks that a payload could travel. See architecture A3.4. The caller holds the lock.
func (e *Engine) fits(a *agent, fx *effect, what string, data []byte) {
	if e.cfg.CheckEveryInput && len(data) > work.PayloadLimit {
		e.blame(a, "the %s of %s has %d bytes, more than %d", what, fx.ID, len(data), work.PayloadLimit)
	}
}
