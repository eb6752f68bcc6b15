package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// A report runs faults and tells what became of each.
type report struct {
	options
	out     io.Writer
	hunter  *hunter
	reasons map[string]string

	n, found, survived, equivalent int
}

func (r *report) all(ctx context.Context, faults []fault) error {
	for _, f := range faults {
		if err := r.one(ctx, f); err != nil {
			return fmt.Errorf("fault %q: %w", f.name, err)
		}
	}
	return nil
}

// one runs the tests against one fault.
func (r *report) one(ctx context.Context, f fault) error {
	r.n++
	if r.n < r.from || r.n > r.to || !strings.Contains(f.name, r.only) {
		return nil
	}
	if r.list {
		fmt.Fprintf(r.out, "%3d  %s\n", r.n, f.name)
		return nil
	}
	if r.reasons[f.name] != "" && !r.again {
		r.equivalent++
		fmt.Fprintf(r.out, "%3d  equivalent  %s\n", r.n, f.name)
		return nil
	}
	began := time.Now()
	by, how, err := r.hunter.hunt(ctx, r.n, f)
	if err != nil {
		return err
	}
	r.tell(f, by, how, time.Since(began))
	return nil
}

func (r *report) tell(f fault, by, how string, took time.Duration) {
	switch {
	case by != "":
		r.found++
		fmt.Fprintf(r.out, "%3d  found  %s  by %s (%s)  in %.1f s\n", r.n, f.name, by, how, took.Seconds())
	case r.reasons[f.name] != "":
		r.equivalent++
		fmt.Fprintf(r.out, "%3d  equivalent  %s  in %.1f s\n", r.n, f.name, took.Seconds())
	default:
		r.survived++
		fmt.Fprintf(r.out, "%3d  SURVIVED  %s  in %.1f s\n", r.n, f.name, took.Seconds())
		if f.rule != "" {
			fmt.Fprintf(r.out, "     it breaks %s\n", f.rule)
		}
	}
}

func (r *report) end() {
	if r.list {
		return
	}
	fmt.Fprintf(r.out, "%d faults: %d found, %d survived, %d equivalent\n", r.found+r.survived+r.equivalent, r.found, r.survived, r.equivalent)
}
