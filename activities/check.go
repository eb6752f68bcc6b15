package activities

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/everturn/everturn/internal/work"
)

// check judges what somebody said to a call that waits: nothing has happened yet. See architecture A3.7.
func (c *call) check(ctx context.Context) (work.ToolOut, error) {
	if c.in.Said == nil {
		return work.ToolOut{}, errors.New("nothing was said that could be checked")
	}
	switch c.in.Said.Kind {
	case work.WaitApproval:
		return c.checkEdit(ctx)
	case work.WaitQuestion:
		return c.checkAnswers(ctx)
	case work.WaitClient:
		return c.checkResult(ctx)
	}
	return refusal(fmt.Errorf("this worker knows nothing of %q", c.in.Said.Kind)), nil
}

// refusal is the answer to what does not fit: the call waits on.
func refusal(why error) work.ToolOut {
	return work.ToolOut{Verdict: work.Deny, Reason: clip(strings.Join(strings.Fields(why.Error()), " "))}
}
