package inworkflow

import (
	"errors"
	"fmt"

	"github.com/everturn/everturn/signals"
	"go.temporal.io/sdk/temporal"
)

// An Error says why a call changed nothing, or why there will be no answer. Code is one of
//
//	INVALID                 an id or a message that cannot be one; Message says what to do
//	SESSION_ALREADY_EXISTS  the id belongs to an agent that lives or has ended, or to another workflow
//	UNKNOWN_DEFINITION      no worker knows the definition; the id is free again
//	INVALID_SPEC            the definition does not take what the agent is created with
//	GONE                    no live agent has the id: it ended, or never was
//	DISCARDED               the message was removed from the inbox before a turn took it
//	TOO_LARGE               the answer does not fit into a workflow's history; it is in the agent's log
//
// or what else a birth was refused with.
type Error struct {
	Agent   string // id; empty if it was not made up yet
	Code    string
	Message string
}

func (e *Error) Error() string { return fmt.Sprintf("agent %s: %s: %s", e.Agent, e.Code, e.Message) }

// refusal is what an activity or a signal failed with, as an [*Error] if a caller can decide by it.
func refusal(agent string, err error) error {
	var (
		app     *temporal.ApplicationError
		unknown *temporal.UnknownExternalWorkflowExecutionError
	)
	switch {
	case err == nil:
		return nil
	case temporal.IsCanceledError(err):
		return err
	case errors.As(err, &app):
		return &Error{Agent: agent, Code: app.Type(), Message: app.Message()}
	case errors.As(err, &unknown):
		return &Error{Agent: agent, Code: signals.ErrGone, Message: "no live agent has the id"}
	default:
		return fmt.Errorf("agent %s: %w", agent, err)
	}
}
