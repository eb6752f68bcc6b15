package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/everturn/everturn/internal/servertest"
)

// options are the flags.
type options struct {
	only   string
	json   string
	server string
	sync   string // of the store
	list   bool

	idle     int
	saturate time.Duration
	scale    scale
}

func main() {
	if raw, ok := os.LookupEnv(beHand); ok {
		exit(serve(raw))
	}
	o := options{scale: full}
	flag.StringVar(&o.only, "only", "", "measure only these, separated by commas")
	flag.StringVar(&o.json, "json", "", "write the results to this file too, as JSON")
	flag.StringVar(&o.server, "server", servertest.Program(), "program of the development server")
	flag.StringVar(&o.sync, "sync", "", "full (default) or none: whether the store flushes what it writes to the disk")
	less := flag.Bool("small", false, "a quick look: fewer of everything")
	flag.IntVar(&o.idle, "idle", 0, "how many agents idle leaves alone (default 20000, 500 if small)")
	flag.DurationVar(&o.saturate, "saturate", 0, "how long recovery keeps every core busy (default 30m, 20s if small)")
	flag.BoolVar(&o.list, "list", false, "print the names of the measurements and run nothing")
	flag.Parse()
	if *less {
		o.scale = small
	}
	o.idle, o.saturate = cmp.Or(o.idle, o.scale.idle), cmp.Or(o.saturate, o.scale.saturate)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	missed, err := run(ctx, o, os.Stdout)
	if err == nil && missed > 0 {
		os.Exit(1)
	}
	exit(err)
}

// exit ends the program, with code 2 if it could not work.
func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	os.Exit(0)
}

// A measurement adds its figures to a report.
type measurement struct {
	name string
	what string
	run  func(ctx context.Context, b *bench) error
}

var measurements = []measurement{
	{"history", "bytes of workflow history, of long turns and in long conversations", measureHistory},
	{"turn", "a turn of model, tool, model against the floor: a workflow by hand with three trivial activities", measureTurn},
	{"stream", "answers while they are made, from a model behind HTTP: 300 ms to the first token, then 50 a second", measureStream},
	{"cancel", "from the call of Cancel until the model's HTTP request is closed", measureCancel},
	{"steer", "steers sent at about the moment at which a turn ends: in its next request, or in a turn of their own", measureSteer},
	{"recovery", "kill -9 of a worker while a model answers; no worker taken for dead that is only slow", measureRecovery},
	{"idle", "agents that have made ten turns and wait: what they take, and how long they take to wake", measureIdle},
	{"fold", "from a long log to the request that a model is sent", measureFold},
}

// A bench is what a measurement works with.
type bench struct {
	*report
	options
}

func run(ctx context.Context, o options, out io.Writer) (missed int, err error) {
	chosen, err := choose(o.only)
	if err != nil {
		return 0, err
	}
	if o.list {
		for _, m := range chosen {
			fmt.Fprintf(out, "%-10s %s\n", m.name, m.what)
		}
		return 0, nil
	}
	if o.server == "" {
		return 0, errors.New("no development server: set EVERTURN_DEVSERVER, or use `make bench`")
	}
	b := &bench{report: newReport(), options: o}
	for _, m := range chosen {
		b.begin(m.name)
		err := m.run(ctx, b)
		b.print(out, m.name, m.what) // also what was measured before it failed
		if err != nil {
			return 0, fmt.Errorf("%s: %w", m.name, err)
		}
	}
	if o.json != "" {
		err = b.write(o.json)
	}
	return b.end(out), err
}

// choose finds the measurements that are named; all of them if none is.
func choose(only string) ([]measurement, error) {
	if only == "" {
		return measurements, nil
	}
	var out []measurement
	for name := range strings.SplitSeq(only, ",") {
		i := slices.IndexFunc(measurements, func(m measurement) bool { return m.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no measurement %q: -list names them", name)
		}
		out = append(out, measurements[i])
	}
	return out, nil
}
