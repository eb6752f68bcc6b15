package conformance

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

// Update runs every scenario on a target and writes into the files what was seen instead of what was wanted. The diff is
// to be reviewed against the spec: it is the judge, not the program. A scenario that cannot go on keeps the rest of its
// text and is named in the error.
func Update(ctx context.Context, all []*Scenario, t Target) error {
	edits := map[string][]edit{}
	var wrong []string
	for _, s := range all {
		found, err := s.observe(ctx, t)
		edits[s.File] = append(edits[s.File], found...)
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("%s: %v", s.ID, err))
		}
	}
	for file, list := range edits {
		if err := rewrite(file, list); err != nil {
			return err
		}
	}
	if wrong != nil {
		return fmt.Errorf("not everything could be seen:\n%s", strings.Join(wrong, "\n"))
	}
	return nil
}

// An edit replaces lines of a file, counted from 1.
type edit struct {
	first, last int
	lines       []string
}

// observe runs a scenario and takes what it sees for right.
func (s *Scenario) observe(ctx context.Context, t Target) (out []edit, err error) {
	r := s.begin(t)
	defer func() { _ = r.leave() }()
	for _, c := range s.commands {
		r.settled, r.last, r.taskResult = false, outcome{}, nil
		r.last = c.act(ctx, r)
		for _, w := range c.watches {
			got, err := w.calm(ctx, r)
			if err != nil {
				return out, fmt.Errorf("%s: %w", w.pos, err)
			}
			if w.judge(got) != holds {
				out = append(out, edit{w.pos.Line, w.last, w.lines(got)})
			}
			switch {
			case w.then != nil:
				w.then(r, got)
			case w.key == "nothing": // it is a trace now
				r.seen += length(got)
			}
		}
	}
	return out, nil
}

// calm looks until nothing changes for a while.
func (w *watch) calm(ctx context.Context, r *run) (string, error) {
	const quiet = 300 * time.Millisecond
	last, since := "", time.Now()
	for {
		got, err := w.look(ctx, r)
		if err != nil {
			return "", err
		}
		if w.judge(got) == holds || !w.waits || r.settled && !w.lags || got == last && time.Since(since) > quiet {
			return got, nil
		}
		if got != last {
			last, since = got, time.Now()
		}
		select {
		case <-time.After(longPause):
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// rewrite applies edits to a file.
func rewrite(file string, edits []edit) error {
	if len(edits) == 0 {
		return nil
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	lines := strings.Split(string(data), "\n")
	slices.SortFunc(edits, func(a, b edit) int { return b.first - a.first }) // from the end, so that numbers stay true
	for _, e := range edits {
		lines = slices.Replace(lines, e.first-1, e.last, e.indented()...)
	}
	return os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o644)
}

func (e edit) indented() []string {
	var out []string
	for _, l := range e.lines {
		if l = strings.TrimSpace(l); l != "" {
			out = append(out, "  "+l)
		}
	}
	return out
}
