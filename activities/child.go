package activities

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
	"github.com/everturn/everturn/tools"
)

// childID names the child that somebody of a session asks for at a place, so that whoever asks again means the same one.
func childID(parent, place string) string {
	if id := parent + "-" + place; session.ValidID(id) {
		return id
	}
	sum := sha256.Sum256([]byte(parent + "-" + place))
	return "child-" + hex.EncodeToString(sum[:12])
}

// spawn is a child as the driver takes it. A large prompt is set aside. See spec §6.4.
func (a *Activities) spawn(ctx context.Context, parent, definition string, c tools.Child, reports bool) (*work.Spawn, error) {
	create := signals.Create{Definition: c.Definition, Title: c.Title, Provider: c.Provider, Model: c.Model, ReasoningEffort: c.ReasoningEffort,
		MaxTokens: c.MaxTokens, CWD: c.CWD, Parent: parent, Owned: true, Reports: reports}
	if create.Definition == "" {
		create.Definition = definition
	}
	if c.Prompt != "" {
		first, err := a.prompt(ctx, c.Prompt)
		if err != nil {
			return nil, fmt.Errorf("prompt of child %s: %w", c.ID, err)
		}
		create.First = &first
	}
	raw, err := json.Marshal(create)
	if err != nil {
		return nil, fmt.Errorf("child %s: %w", c.ID, err)
	}
	return &work.Spawn{ID: c.ID, Create: raw, Follows: c.CancelWithParent, Keep: c.Keep}, nil
}

// promptID is the id of the message that a child begins with.
const promptID = "prompt"

func (a *Activities) prompt(ctx context.Context, text string) (signals.Send, error) {
	content, err := a.inline(ctx, session.TextContent(text))
	if err != nil {
		return signals.Send{}, err
	}
	if body, stored := storedBody(content); stored {
		return signals.Send{ID: promptID, Body: &body}, nil
	}
	return signals.Send{ID: promptID, Text: text}, nil
}

// delegate hands the call to a child agent, whose answer will be read when it is idle. See architecture A3.7, A3.13.
func (c *call) delegate(ctx context.Context, child tools.Child) (work.ToolOut, error) {
	if child.ID == "" {
		child.ID = childID(c.in.Ident.Session, c.place())
	}
	if child.Prompt == "" {
		return failed(nameChild, work.CodeChild, "Error: the tool delegates the call without a prompt"), nil
	}
	spawn, err := c.spawn(ctx, c.in.Ident.Session, c.in.Ident.Definition, child, true)
	if err != nil {
		return work.ToolOut{}, err
	}
	return work.ToolOut{Delegate: spawn, DeadlineMS: child.Deadline.Milliseconds()}, nil
}

const nameChild = "ChildAgentError"

// collect reads the answer of the child that the call was delegated to: the last text of its last turn.
func (c *call) collect(ctx context.Context) (work.ToolOut, error) {
	if c.in.Child == nil {
		return work.ToolOut{}, errors.New("no child is named whose answer is to be read")
	}
	head, answer := store.Head{Hash: c.in.Child.Head.Hash, Count: c.in.Child.Head.Count}, childAnswer{}
	for r, err := range c.Store.Facts(ctx, c.in.Child.Session, head, 0) {
		if err != nil {
			return work.ToolOut{}, fmt.Errorf("log of child %s: %w", c.in.Child.Session, err)
		}
		answer.fold(r.Event)
	}
	c.ran = true
	return c.shape(ctx, tools.TextResult(answer.message.Text()), answer.failure(c.in.Child.Session))
}

// A childAnswer is what the last turn of a child's log came to.
type childAnswer struct {
	turn    int
	message session.Message
	end     session.TurnReason
}

func (f *childAnswer) fold(e session.Event) {
	switch e := e.(type) {
	case session.TurnStart:
		*f = childAnswer{turn: e.Turn}
	case session.AssistantMessage:
		if e.Turn == f.turn && len(e.Message.Content) > 0 {
			f.message = e.Message
		}
	case session.TurnEnd:
		f.end = e.Reason
	}
}

// failure says why there is no answer; nil if there is one.
func (f *childAnswer) failure(child string) error {
	why := ""
	switch f.end.Kind {
	case session.TurnCompleted, session.TurnMaxTokens:
		return nil
	case session.TurnErrored:
		why = f.end.Error.Code + ": " + f.end.Error.Message
	case session.TurnAborted:
		why = "it was cancelled (" + string(f.end.Aborted.Kind) + ")"
	case "":
		if why = "it took no turn"; f.turn > 0 {
			why = "its turn is not over"
		}
	default:
		why = "its turn ended " + string(f.end.Kind)
	}
	return tools.Coded(nameChild, work.CodeChild, fmt.Sprintf("the child agent %s gave no answer: %s", child, why))
}

// Look says whether the workflow of a child is still there. See architecture A3.13.
func (a *Activities) Look(ctx context.Context, in work.LookIn) (work.LookOut, error) {
	reader, ok := a.History.(RunReader)
	if !ok {
		return work.LookOut{}, nil // nobody can say: it counts as there
	}
	there, err := reader.IsChild(ctx, in.Session, in.Parent)
	if err != nil {
		return work.LookOut{}, fmt.Errorf("look at %s: %w", in.Session, err)
	}
	return work.LookOut{Gone: !there}, nil
}

// A RunReader says whether a workflow is running that another one started; a [HistoryReader] may be one.
type RunReader interface {
	IsChild(ctx context.Context, workflowID, parent string) (bool, error)
}
