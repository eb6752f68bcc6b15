package activities

import (
	"context"
	"errors"
	"fmt"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// Spill stores a message body that is too large for the workflow, or looks at one that its sender stored. A body that is
// not there, or that no log would take, is refused: accepted, it would fail every step of the agent from then on. See
// architecture A3.4.
func (a *Activities) Spill(ctx context.Context, in work.SpillIn) (work.SpillOut, error) {
	defer a.beat(ctx, in.Ident.Session, "")()
	if err := a.sameStore(in.Ident); err != nil {
		return work.SpillOut{}, unfit(work.ErrWrongStore, err)
	}
	content := in.Content
	blob, stored := storedBody(content)
	if stored {
		var err error
		if content, err = a.Store.Content(ctx, blob); err != nil {
			return refusedBody(err)
		}
	}
	if err := checkBody(content); err != nil {
		return work.SpillOut{Code: work.SpillInvalid, Message: err.Error()}, nil
	}
	if stored {
		return work.SpillOut{Blob: blob}, nil
	}
	blob, err := a.storeContent(ctx, content)
	if err != nil {
		return work.SpillOut{}, fmt.Errorf("spill: %w", err)
	}
	return work.SpillOut{Blob: blob}, nil
}

// storedBody reports whether content is one block that stands for a stored body.
func storedBody(c session.Content) (session.Artifact, bool) {
	if len(c) != 1 {
		return session.Artifact{}, false
	}
	blob, ok := c[0].(session.Artifact)
	return blob, ok && blob.MediaType == work.ContentMediaType
}

// refusedBody tells a body that will never be readable from a store that does not answer now.
func refusedBody(err error) (work.SpillOut, error) {
	var corrupt *store.CorruptError
	switch {
	case errors.Is(err, store.ErrNotFound), errors.As(err, &corrupt):
		return work.SpillOut{Code: work.SpillMissing, Message: fmt.Sprintf("the message's body is not in this worker's store: %v (does the sender use the same store?)", err)}, nil
	case errors.Is(err, store.ErrNotContent):
		return work.SpillOut{Code: work.SpillInvalid, Message: err.Error()}, nil
	default:
		return work.SpillOut{}, fmt.Errorf("spill: %w", err)
	}
}

// checkBody asks the log's own rules whether a message of this content could be pending.
func checkBody(c session.Content) error {
	m := session.Message{ID: "body", Role: session.RoleUser, Content: c, Source: session.Source{Kind: session.SourceUser}}
	if len(c) == 0 {
		return errors.New("the message has no content")
	}
	_, err := (session.Inbox{}).Insert(session.NextTurn, m)
	return err
}
