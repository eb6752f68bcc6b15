package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/tools"
)

// The limits of tools that programs of the caller's run.
const (
	maxClientTools       = 64
	maxClientDescription = 4 << 10
)

// withClientTools are the tools of an agent that brings some of its own. One whose name the definition has got since, or
// whose schema this worker cannot read, is left out: it was checked at birth. See spec §8.2.
func (k *kind) withClientTools(declared []work.ClientTool) ([]*tools.Tool, *tools.Set) {
	all := slices.Clone(k.Tools)
	for _, c := range declared {
		_, taken := k.set.Get(c.Name)
		if t, err := clientTool(c); err == nil && !taken {
			all = append(all, t)
		}
	}
	set, err := tools.NewSet(all...)
	if err != nil { // a name is there twice
		return k.Tools, k.set
	}
	return all, set
}

func clientTool(c work.ClientTool) (*tools.Tool, error) {
	var opts []tools.Option
	if c.Parallel {
		opts = append(opts, tools.ParallelSafe())
	}
	return tools.RunOutside(c.Name, c.Description, c.Parameters, time.Duration(c.TimeoutMS)*time.Millisecond, opts...)
}

// checkClientTools names the tool that cannot be offered. See spec §6.1.1.
func checkClientTools(k *kind, s work.Spec) error {
	if n := len(s.ClientTools); n > maxClientTools {
		return fmt.Errorf("clientTools: %d are too many; at most %d are kept", n, maxClientTools)
	}
	for i, c := range s.ClientTools {
		twice := slices.ContainsFunc(s.ClientTools[:i], func(o work.ClientTool) bool { return o.Name == c.Name })
		if err := checkClientTool(k, c, twice); err != nil {
			return fmt.Errorf("clientTools[%d] %.64q: %w", i, c.Name, err)
		}
	}
	return nil
}

// maxClientTimeout is ten years: a longer one would not fit a timer.
const maxClientTimeout = 10 * 366 * 24 * time.Hour

func checkClientTool(k *kind, c work.ClientTool, twice bool) error {
	_, taken := k.set.Get(c.Name)
	switch {
	case twice:
		return errors.New("it is there twice")
	case taken:
		return fmt.Errorf("definition %q has a tool of that name: choose another one", k.Name)
	case len(c.Description) > maxClientDescription || !utf8.ValidString(c.Description):
		return fmt.Errorf("description: use at most %d bytes of UTF-8", maxClientDescription)
	case c.TimeoutMS < 0 || c.TimeoutMS > maxClientTimeout.Milliseconds():
		return fmt.Errorf("timeoutMs is %d: use 1–%d, or leave it out for %s", c.TimeoutMS, maxClientTimeout.Milliseconds(), tools.DefaultOutside)
	}
	if err := checkObjectSchema(c.Parameters); err != nil {
		return fmt.Errorf("parameters: %w", err)
	}
	_, err := clientTool(c)
	return err
}

func checkObjectSchema(raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	if _, err := tools.ReadSchema(raw); err != nil {
		return err
	}
	var schema struct {
		Type any `json:"type"`
	}
	if err := json.Unmarshal(raw, &schema); err != nil || schema.Type != "object" {
		return errors.New(`the schema must have "type": "object"`)
	}
	if problem := lossy(raw); problem != "" {
		return errors.New(problem)
	}
	return nil
}

// checkResult takes what a program of the caller's gives as the result of the call.
func (c *call) checkResult(ctx context.Context) (work.ToolOut, error) {
	content, err := c.given(ctx)
	if problem := unreadable(err); problem != nil {
		return refusal(problem), nil
	}
	if err != nil {
		return work.ToolOut{}, err
	}
	content, refused := c.readable(content)
	if refused != nil {
		return refusal(errors.New(strings.TrimPrefix(refused.Content.Text(), "Error: "))), nil
	}
	out := work.ToolOut{IsError: c.in.Said.IsError}
	if out.Content, err = c.setAside(ctx, content); err != nil {
		return out, err
	}
	return c.endWith(ctx, out)
}

// given is what the program gave, in full.
func (c *call) given(ctx context.Context) (session.Content, error) {
	said := c.in.Said
	if len(said.Value) > 0 {
		r, err := tools.ResultOf(c.in.Call.Name, said.Value)
		return r.Content, err
	}
	if body, stored := storedBody(said.Content); stored {
		return c.Store.Content(ctx, body)
	}
	return said.Content, nil
}

// unreadable tells a result that will never be readable from a store that does not answer now.
func unreadable(err error) error {
	var corrupt *store.CorruptError
	var own *tools.Error
	switch {
	case errors.Is(err, store.ErrNotFound), errors.As(err, &corrupt):
		return fmt.Errorf("the result's body is not in this worker's store: %w (does the program use the same store?)", err)
	case errors.Is(err, store.ErrNotContent), errors.As(err, &own):
		return err
	}
	return nil
}
