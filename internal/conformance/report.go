package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"time"
)

// Options say what [Run] runs.
type Options struct {
	Only     *regexp.Regexp // of `C-021  title`; nil means all
	Parallel int            // scenarios at a time, 0 means 8
	JSON     bool
}

// A Result is what a scenario came to.
type Result struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	File   string `json:"file"`
	Line   int    `json:"line"`
	Target string `json:"target"`
	OK     bool   `json:"ok"`
	Error  string `json:"error,omitempty"`
	MS     int64  `json:"ms"`
}

// Run runs scenarios and writes one line for each, in their order, and at last `N passed, N failed`. It is an error if none
// is chosen: nothing was shown then.
func Run(ctx context.Context, out io.Writer, all []*Scenario, t Target, o Options) (failed int, err error) {
	chosen := choose(all, o.Only)
	if len(chosen) == 0 {
		return 0, fmt.Errorf("no scenario matches %q", fmt.Sprint(o.Only))
	}
	passed := 0
	for r := range Each(ctx, chosen, t, o.Parallel) {
		if r.OK {
			passed++
		} else {
			failed++
		}
		if err := r.write(out, o.JSON); err != nil {
			return failed, err
		}
	}
	if o.JSON {
		return failed, json.NewEncoder(out).Encode(map[string]int{"passed": passed, "failed": failed})
	}
	_, err = fmt.Fprintf(out, "%d passed, %d failed\n", passed, failed)
	return failed, err
}

func choose(all []*Scenario, only *regexp.Regexp) []*Scenario {
	var out []*Scenario
	for _, s := range all {
		if only == nil || only.MatchString(s.ID+"  "+s.Title) {
			out = append(out, s)
		}
	}
	return out
}

func (r Result) write(out io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(out).Encode(r)
	}
	line := fmt.Sprintf("ok    %s  %s", r.ID, r.Title)
	if !r.OK {
		line = fmt.Sprintf("FAIL  %s  %s — %s", r.ID, r.Title, oneLine(r.Error))
	}
	_, err := fmt.Fprintln(out, line)
	return err
}

// Each runs scenarios, several at a time, and yields their results in order.
func Each(ctx context.Context, all []*Scenario, t Target, parallel int) func(yield func(Result) bool) {
	if parallel <= 0 {
		parallel = 8
	}
	return func(yield func(Result) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		results := make([]chan Result, len(all))
		places := make(chan struct{}, parallel)
		for i := range all {
			results[i] = make(chan Result, 1)
		}
		go func() {
			for i, s := range all {
				places <- struct{}{}
				go func() {
					defer func() { <-places }()
					results[i] <- s.Run(ctx, t)
				}()
			}
		}()
		for _, r := range results {
			if !yield(<-r) {
				return
			}
		}
	}
}

// Run runs one scenario.
func (s *Scenario) Run(ctx context.Context, t Target) Result {
	begin := time.Now()
	err := s.execute(ctx, t)
	r := Result{ID: s.ID, Title: s.Title, File: s.File, Line: s.Line, Target: t.Name(), OK: err == nil, MS: time.Since(begin).Milliseconds()}
	if err != nil {
		r.Error = err.Error()
	}
	return r
}
