package scripted

import (
	"time"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
)

// DefaultContextWindow is the capacity, in tokens, of a model that names none.
const DefaultContextWindow = 128000

// A Model is one scripted model: what it answers and what its route can do.
type Model struct {
	Script   Script
	Position Position
	// Respond, if set, answers instead of the script. It should be a pure function of the request, so that the model
	// behaves the same in a new process.
	Respond func(req llm.Request) Answer
	// Pace is the pause before each delta but the first of an answer.
	Pace time.Duration

	ContextWindow      int // tokens; 0 means DefaultContextWindow, negative means the route does not say
	SystemPromptUpdate bool
	Images             bool
	Retry              llm.RetryPolicy
	Idle               time.Duration

	MaxTokens       int    // fills in a configuration that has none; 0 for no default
	ReasoningEffort string // the same; empty for no default

	PrepareFailure *session.Failure // makes Prepare fail
}

// A Position says which line of the script answers a request.
type Position int

const (
	// ByRequest gives the n-th request of a session, counted in this process, the n-th line.
	ByRequest Position = iota
	// ByHistory gives a request with n assistant messages in its history line n+1. A new process goes on where the old
	// one stopped. A retry, and a request after an answer that left no message, repeats its line.
	ByHistory
)

// prepared is the call of a route without its stream.
func (m Model) prepared(config session.CallConfig) *llm.Prepared {
	var filled session.AdapterDefaults
	if config.MaxTokens == 0 && m.MaxTokens != 0 {
		config.MaxTokens, filled.MaxTokens = m.MaxTokens, true
	}
	if config.ReasoningEffort == "" && m.ReasoningEffort != "" {
		config.ReasoningEffort, filled.ReasoningEffort = m.ReasoningEffort, true
	}
	call := &llm.Prepared{
		Config:             config,
		ContextWindow:      m.window(),
		SystemPromptUpdate: m.SystemPromptUpdate,
		Images:             m.Images,
		Retry:              m.Retry,
		Idle:               m.Idle,
	}
	if filled != (session.AdapterDefaults{}) {
		call.Defaults = &filled
	}
	return call
}

func (m Model) window() int {
	if m.ContextWindow == 0 {
		return DefaultContextWindow
	}
	return max(m.ContextWindow, 0)
}
