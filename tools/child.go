package tools

import "time"

// A Child says which agent to start as a child of the one that a tool or hook runs for: an agent of its own, with its own
// session and lifetime, which its parent owns. Disposing of the parent disposes of it. See spec §6.4.
type Child struct {
	ID         string // session id; made up from the place if empty, so that a hook which runs again means the same child
	Definition string // the parent's if empty

	Title, Provider, Model, ReasoningEffort string
	MaxTokens                               int
	CWD                                     string // the parent's if empty

	Prompt string // its first message; without one it waits

	// CancelWithParent says that a cancel of the parent's work cancels the child's, with cause parent.
	CancelWithParent bool

	// Of a call that is delegated, see [Result]: how long its answer is waited for, 0 means without end; and whether the
	// child stays when it has answered. Otherwise it is disposed of. Such a child is always cancelled with its parent.
	Deadline time.Duration
	Keep     bool
}
