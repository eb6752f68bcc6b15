package tools

import (
	"context"
	"fmt"
	"runtime/debug"
)

// Invoke runs a model's call: it applies the arguments rule to the raw text, checks the arguments, runs the tool and
// turns a panic into an error. Arguments that do not fit are refused with code [InvalidArgs] before anything runs.
func (t *Tool) Invoke(ctx context.Context, arguments string) (Result, error) {
	args, valid := ParseArguments(arguments)
	if !valid {
		return Result{}, invalidArgs(t.Name, "", "not valid JSON: "+clip(arguments), nil)
	}
	return contain(t.Name, func() (Result, error) {
		if t.Validate != nil {
			if err := t.Validate(args); err != nil {
				return Result{}, err
			}
		}
		return t.Run(ctx, args)
	})
}

// ParallelWith reports whether a call with this raw argument text may run beside others. Anything but an exact yes is
// no: no declaration, invalid arguments, a panic. See spec §4.8.
func (t *Tool) ParallelWith(arguments string) (yes bool) {
	args, valid := ParseArguments(arguments)
	if t.Parallel == nil || !valid {
		return false
	}
	defer func() {
		if recover() != nil {
			yes = false
		}
	}()
	if t.Validate != nil && t.Validate(args) != nil {
		return false
	}
	return t.Parallel(args)
}

// contain runs the body of a tool and turns a panic into a failure of the call.
func contain(name string, body func() (Result, error)) (result Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			result, err = Result{}, panicked(name, v)
		}
	}()
	return body()
}

func panicked(name string, value any) error {
	return &Error{
		Name:    "ToolPanicError",
		Code:    Panicked,
		Message: fmt.Sprintf("tool %q panicked: %s", name, clip(fmt.Sprint(value))),
		Cause:   &Panic{Value: value, Stack: debug.Stack()},
	}
}

func invalidArgs(tool, field, problem string, cause error) error {
	where := ""
	if field != "" {
		where = fmt.Sprintf(" field %q:", field)
	}
	message := fmt.Sprintf("invalid arguments for tool %q:%s %s", tool, where, problem)
	return &Error{Name: "InvalidArgsError", Code: InvalidArgs, Message: message, Cause: cause}
}

// clip keeps an echoed value readable.
func clip(s string) string {
	const most = 200
	runes := []rune(s)
	if len(runes) <= most {
		return s
	}
	return string(runes[:most]) + "…"
}
