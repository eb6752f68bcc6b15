package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strconv"
	"text/tabwriter"
)

// A row is one figure. Limit, if it is set, is the most that is allowed, or the least.
type row struct {
	Of    string   `json:"of"` // the measurement
	What  string   `json:"what"`
	Value float64  `json:"value"`
	Unit  string   `json:"unit,omitempty"`
	Limit *float64 `json:"limit,omitempty"`
	Least bool     `json:"least,omitempty"`
}

// met reports whether the figure keeps its bound.
func (r row) met() bool {
	switch {
	case r.Limit == nil:
		return true
	case r.Least:
		return r.Value >= *r.Limit
	default:
		return r.Value <= *r.Limit // not of NaN
	}
}

// A report collects the rows of a run.
type report struct {
	Go    string `json:"go"`
	Cores int    `json:"cores"`
	Rows  []row  `json:"rows"`

	of string
}

func newReport() *report { return &report{Go: runtime.Version(), Cores: runtime.NumCPU()} }

// begin names the measurement that the next rows belong to.
func (r *report) begin(of string) { r.of = of }

// add notes a figure without a bound.
func (r *report) add(what string, value float64, unit string) {
	r.Rows = append(r.Rows, row{Of: r.of, What: what, Value: value, Unit: unit})
}

// atMost notes a figure with an upper bound.
func (r *report) atMost(what string, value float64, unit string, limit float64) {
	r.Rows = append(r.Rows, row{Of: r.of, What: what, Value: value, Unit: unit, Limit: &limit})
}

// atLeast notes a figure with a lower bound.
func (r *report) atLeast(what string, value float64, unit string, limit float64) {
	r.Rows = append(r.Rows, row{Of: r.of, What: what, Value: value, Unit: unit, Limit: &limit, Least: true})
}

// print writes the table of one measurement.
func (r *report) print(out io.Writer, of, what string) {
	fmt.Fprintf(out, "\n%s: %s\n", of, what)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, row := range r.Rows {
		if row.Of != of {
			continue
		}
		fmt.Fprintf(w, "  %s\t%s", row.What, quantity(row.Value, row.Unit))
		if row.Limit != nil {
			fmt.Fprintf(w, "\t%s\t%s", row.bound(), row.verdict())
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // to the terminal
}

// bound is the limit as the table shows it.
func (r row) bound() string {
	if r.Least {
		return "≥ " + quantity(*r.Limit, r.Unit)
	}
	return "≤ " + quantity(*r.Limit, r.Unit)
}

func (r row) verdict() string {
	if r.met() {
		return "PASS"
	}
	return "FAIL"
}

// quantity shows a value with three digits that count.
func quantity(v float64, unit string) string {
	digits := 0
	if a := math.Abs(v); a > 0 && a < 100 && v != math.Trunc(v) {
		digits = 2 - int(math.Floor(math.Log10(a)))
	}
	text := strconv.FormatFloat(v, 'f', digits, 64)
	if unit == "" {
		return text
	}
	return text + " " + unit
}

// end says how many bounds are missed.
func (r *report) end(out io.Writer) (missed int) {
	bounds := 0
	for _, row := range r.Rows {
		if row.Limit != nil {
			bounds++
		}
		if !row.met() {
			missed++
		}
	}
	fmt.Fprintf(out, "\n%d figures, %d bounds, %d missed; %s on %d cores\n", len(r.Rows), bounds, missed, r.Go, r.Cores)
	return missed
}

func (r *report) write(file string) error {
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(raw, '\n'), 0o644)
}
