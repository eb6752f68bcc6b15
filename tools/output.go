package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/everturn/everturn/session"
)

// resultOf shapes what a tool's function returned. See [New].
func resultOf(tool string, out any) (Result, error) {
	switch out := out.(type) {
	case string:
		return TextResult(strings.ToValidUTF8(out, "\uFFFD")), nil
	case Result:
		return checked(tool, out)
	case *Result:
		if out == nil {
			return Result{}, invalidOutput(tool, fmt.Errorf("nil result"))
		}
		return checked(tool, *out)
	case session.Content:
		return checked(tool, Result{Content: out})
	}
	text, err := encode(out)
	if err != nil {
		return Result{}, invalidOutput(tool, err)
	}
	return TextResult(string(text)), nil
}

// checked refuses a result the log could not hold.
func checked(tool string, r Result) (Result, error) {
	for i, b := range r.Content {
		switch b.(type) {
		case session.Text, session.Image, session.Artifact:
		default:
			return Result{}, invalidOutput(tool, fmt.Errorf("content block %d: %T cannot be part of a result", i, b))
		}
	}
	if r.Meta != nil && !json.Valid(r.Meta) {
		return Result{}, invalidOutput(tool, fmt.Errorf("meta is not valid JSON"))
	}
	return r, nil
}

func invalidOutput(tool string, cause error) error {
	return &Error{
		Name:    "InvalidToolOutputError",
		Code:    InvalidOutput,
		Message: fmt.Sprintf("tool %q answered with something that cannot be shown: %s", tool, clip(cause.Error())),
		Cause:   cause,
	}
}

// encode writes JSON for a reader who is not a browser: < and > stay as they are.
func encode(v any) ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}
