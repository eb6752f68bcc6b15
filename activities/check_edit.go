package activities

import (
	"context"
	"errors"
	"fmt"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/tools"
)

// checkEdit judges the arguments that a person wants in the place of the model's: they must fit the tool, and no guard may
// object. See architecture D20.
func (c *call) checkEdit(ctx context.Context) (work.ToolOut, error) {
	if c.tool == nil {
		return refusal(c.unknown()), nil
	}
	if err := takes(c.tool, string(c.in.Said.Arguments)); err != nil {
		return refusal(err), nil
	}
	call, invalid, err := c.materialise(ctx)
	switch {
	case err != nil:
		return work.ToolOut{}, err
	case invalid != nil:
		return refusal(errors.New(invalid.Content.Text())), nil
	}
	reason, err := c.kind.Objection(call)
	switch {
	case err != nil:
		return refusal(err), nil
	case reason != "":
		return refusal(errors.New(reason)), nil
	}
	return work.ToolOut{Verdict: work.Allow, Digest: c.digest(), Content: session.Content{}}, nil
}

// takes says why a tool would not take arguments; it contains a panic of the tool's own check.
func takes(t *tools.Tool, arguments string) (err error) {
	args, isJSON := tools.ParseArguments(arguments)
	if !isJSON {
		return tools.Coded("InvalidArgsError", tools.InvalidArgs, fmt.Sprintf("invalid arguments for tool %q: they are no JSON", t.Name))
	}
	if t.Validate == nil {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the check of the arguments of tool %q panicked: %v", t.Name, v)
		}
	}()
	return t.Validate(args)
}
