package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
)

// options are the flags.
type options struct {
	seed   int64
	n      int
	only   string
	from   int
	to     int
	list   bool
	again  bool
	trust  bool
	own    bool
	memory int64
}

func main() {
	var o options
	flag.Int64Var(&o.seed, "seed", 1, "draws the generated faults")
	flag.IntVar(&o.n, "n", 100, "how many faults are generated")
	flag.StringVar(&o.only, "only", "", "run only faults whose name contains this")
	flag.IntVar(&o.from, "from", 1, "begin with the fault of this number")
	flag.IntVar(&o.to, "to", 1<<30, "end with the fault of this number")
	flag.BoolVar(&o.list, "list", false, "print names and run nothing")
	flag.BoolVar(&o.again, "again", false, "run the faults that are listed as equivalent too")
	flag.BoolVar(&o.trust, "trust", false, "do not run the tests without a fault first")
	flag.BoolVar(&o.own, "own", false, "run only the test of the fault's own package: what it does not find others may")
	flag.Int64Var(&o.memory, "memory", 2048, "MiB that a test may use")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	survived, err := run(ctx, o, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutation:", err)
		os.Exit(2)
	}
	if survived > 0 {
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, out io.Writer) (survived int, err error) {
	root, err := findRoot(ctx)
	if err != nil {
		return 0, err
	}
	faults, err := choose(ctx, root, o, out)
	if err != nil {
		return 0, err
	}
	reasons, err := equivalents(listed)
	if err != nil {
		return 0, err
	}
	dir, err := os.MkdirTemp("", "mutation-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	h := &hunter{bench: &bench{root: root, dir: dir, memory: o.memory << 20}, suite: suite(), trust: o.trust, own: o.own}
	if err := h.lay(faults); err != nil {
		return 0, err
	}
	r := &report{options: o, out: out, hunter: h, reasons: reasons}
	if err := r.all(ctx, faults); err != nil {
		return 0, err
	}
	r.end()
	return r.survived, nil
}

// choose makes the list of faults: the deliberate ones, then those that are drawn.
func choose(ctx context.Context, root string, o options, out io.Writer) ([]fault, error) {
	faults, err := deliberate(root, table)
	if err != nil {
		return nil, err
	}
	compiler, err := newChecker(ctx, root)
	if err != nil {
		return nil, err
	}
	if err := compiler.all(faults); err != nil {
		return nil, err
	}
	lots, err := draws(root, o.seed)
	if err != nil {
		return nil, err
	}
	drawn, refused, err := draw(lots, o.n, compiler.compiles)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(out, "%d deliberate faults; seed %d: %d generated ones, %d more that do not compile\n", len(faults), o.seed, len(drawn), refused)
	return append(faults, drawn...), nil
}

// findRoot is the folder of the module's go.mod.
func findRoot(ctx context.Context) (string, error) {
	raw, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("go env GOMOD: %w", err)
	}
	mod := strings.TrimSpace(string(raw))
	if filepath.Base(mod) != "go.mod" {
		return "", errors.New("not inside the repository: run it from there")
	}
	return filepath.Dir(mod), nil
}
