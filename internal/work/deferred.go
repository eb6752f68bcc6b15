package work

import (
	"encoding/json"

	"github.com/everturn/everturn/session"
)

// ToolCheck is the mode of a Tool that judges what somebody said to a waiting call, see [Said]. The answer's verdict is
// [Allow], or [Deny] with the reason that whoever said it is told; nothing else happens then.
const ToolCheck = "check"

// What a call waits for outside of the agent. See architecture A3.7.
const (
	WaitApproval = "approval" // a person lets it run or not
	WaitQuestion = "question" // people answer the questions that it asks
	WaitClient   = "client"   // a program of the caller's runs it and gives the result
)

// A Deferral is in the answer of a call whose body hands it to somebody outside: the result comes as an act.
// ToolOut.DeadlineMS bounds the wait.
type Deferral struct {
	Kind      string          `json:"kind"`                // WaitQuestion or WaitClient
	Questions json.RawMessage `json:"questions,omitempty"` // at most [InlineLimit]
}

// Said is what a person or a program says to a call that waits for it. A [ToolCheck] says whether it fits.
type Said struct {
	Kind      string          `json:"kind"`
	Arguments json.RawMessage `json:"arguments,omitempty"` // WaitApproval: in the place of the model's; an object
	Questions json.RawMessage `json:"questions,omitempty"` // WaitQuestion: as they were asked
	Answers   json.RawMessage `json:"answers,omitempty"`   // WaitQuestion: a list
	Content   session.Content `json:"content,omitempty"`   // WaitClient: the result, or
	Value     json.RawMessage `json:"value,omitempty"`     // WaitClient: one that is shown as a tool's own answer would be
	IsError   bool            `json:"isError,omitempty"`   // WaitClient: the program says that the call failed
}

// Approved is what lets a call run that had to be asked about.
type Approved struct {
	Digest    string          `json:"digest"`              // of the tool and the arguments it was given for, see ToolOut.Digest
	Arguments json.RawMessage `json:"arguments,omitempty"` // in the place of the model's, see architecture D20
}

// The policies: what becomes of a call that must be asked about.
const (
	PolicyAsk       = "ask"        // a person decides, unless a remembered rule lets it run
	PolicyAllowList = "allow-list" // the same, and the rules of the definition count too
	PolicyNever     = "never"      // nobody is asked: it is denied
	PolicyAlways    = "always"     // nobody is asked: it runs
)

// Approvals is what a definition says about calls that must be asked about.
type Approvals struct {
	Mode  string `json:"mode,omitempty"`  // a policy; empty means PolicyAsk
	Allow []Rule `json:"allow,omitempty"` // of PolicyAllowList
}

// A Policy is what an agent has made of the definition's [Approvals]: another mode, and rules that people had it remember.
// Each event approval/policy holds it whole.
type Policy struct {
	Mode  string `json:"mode,omitempty"` // empty: the definition's
	Rules []Rule `json:"rules,omitempty"`
	Given int    `json:"given,omitempty"` // rules that were ever remembered
}
