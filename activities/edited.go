package activities

import (
	"bytes"
	"context"
	"slices"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// Arguments that a person put in the place of the model's are executed, and seen by every gate; the message and tool/call
// keep the model's. The result begins with a note that says so. See architecture D20.

// edited are the arguments of a person, nil if there are none.
func (c *call) edited() []byte {
	switch {
	case c.in.Mode == work.ToolCheck && c.in.Said != nil && c.in.Said.Kind == work.WaitApproval:
		return c.in.Said.Arguments
	case c.in.Approved != nil && len(c.in.Approved.Arguments) > 0:
		return c.in.Approved.Arguments
	}
	return nil
}

// editNote is the first block of the result of a call whose arguments a person changed.
const editNote = "[A person changed the arguments of this call before it ran. It was called with: "

// note is the note of this call.
func (c *call) editNote() session.Text {
	return session.Text{Text: editNote + string(c.edited()) + "]\n"}
}

// noted is a result that tells of the change, once.
func (c *call) noted(content session.Content) session.Content {
	if c.edited() == nil || c.isNoted(content) {
		return content
	}
	return slices.Concat(session.Content{c.editNote()}, content)
}

func (c *call) isNoted(content session.Content) bool {
	if len(content) == 0 {
		return false
	}
	first, ok := content[0].(session.Text)
	return ok && first == c.editNote()
}

// tellsEdit reports whether an outcome tells of the change: gates and the tool's own last say may have it no other way.
func (c *call) tellsEdit(ctx context.Context, out work.ToolOut) (bool, error) {
	if c.edited() == nil {
		return false, nil
	}
	content, err := c.full(ctx, out.Content)
	return err == nil && c.isNoted(content), err
}

// keepNote puts the note back in front of what has become of an outcome that had it, or has to have it.
func (c *call) keepNote(ctx context.Context, out work.ToolOut) (work.ToolOut, error) {
	if c.edited() == nil {
		return out, nil
	}
	content, err := c.full(ctx, out.Content)
	if err != nil || c.isNoted(content) {
		return out, err
	}
	out.Content, err = c.setAside(ctx, c.noted(content))
	return out, err
}

// changedTo separates the model's call from a person's arguments, in what the ledger says of a call.
const changedTo = "\nchanged to "

// isTitle reports whether a note of the ledger is about a call, whatever a person made of its arguments.
func isTitle(note, title []byte) bool {
	return bytes.Equal(note, title) || bytes.HasPrefix(note, append(slices.Clone(title), changedTo...))
}
