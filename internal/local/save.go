package local

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// saved is the durable part of an engine.
type saved struct {
	Now    time.Time `json:"now"`
	Agents []*agent  `json:"agents"`
}

// Save returns what is durable, at any time: what runs at this moment will be executed again.
func (e *Engine) Save() ([]byte, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	out := saved{Now: e.now}
	for _, a := range e.runs {
		out.Agents = append(out.Agents, a.kept())
	}
	data, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("local: save: %w", err)
	}
	return data, nil
}

// kept is the durable part of a run. The caller holds the lock.
func (a *agent) kept() *agent {
	kept := *a
	kept.Queue = slices.DeleteFunc(slices.Clone(a.Queue), func(i item) bool { return i.query != nil })
	return &kept
}

// Load makes an engine that goes on where another one was saved, on the same objects. It has no worker yet.
func Load(c Config, data []byte) (*Engine, error) {
	var in saved
	if err := json.Unmarshal(data, &in); err != nil {
		return nil, fmt.Errorf("local: load: %w", err)
	}
	e, err := New(c)
	if err != nil {
		return nil, err
	}
	e.now = in.Now
	for _, a := range in.Agents {
		e.runs = append(e.runs, a)
		if a.Tells == nil {
			e.agents[a.ID] = a
		}
	}
	return e, nil
}
