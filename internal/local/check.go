package local

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/everturn/everturn/internal/driver"
)

// broken holds a decision against what must be true after every input.
func (e *Engine) broken(d decision, state json.RawMessage) error {
	if !e.cfg.CheckEveryInput || d.driver == nil {
		return nil
	}
	var restored driver.State
	if err := json.Unmarshal(state, &restored); err != nil {
		return fmt.Errorf("the state cannot be restored: %w", err)
	}
	if again := raw(restored); !bytes.Equal(state, again) {
		return fmt.Errorf("the state changes when it is restored:\n%s\n%s", state, again)
	}
	if err := driver.Check(&restored); err != nil {
		return fmt.Errorf("the state breaks a law: %w", err)
	}
	return nil
}
