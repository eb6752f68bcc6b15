package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/everturn/everturn/internal/conformance"
	"github.com/spf13/cobra"
)

// A suite is what `starter conformance` is asked to run.
type suite struct {
	dir, target, run string
	parallel         int
}

func (a *app) conformanceCmd() *cobra.Command {
	var s suite
	cmd := &cobra.Command{
		Use:   "conformance",
		Short: "Run scenarios of agent behaviour from text files",
		Long: "Runs every scenario (*.txt) of a folder on the local engine, or on a Temporal server: the one that is named, or an embedded\n" +
			"one of its own. Prints one line per scenario and at last `N passed, N failed`; exits 1 if any failed.",
		Example: "  starter conformance --target local\n  starter conformance --dir my-scenarios --target server --run 'C-02.'",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.conformance(cmd.Context(), s) },
	}
	f := cmd.Flags()
	f.StringVar(&s.dir, "dir", "conformance/testdata", "folder of the scenario files")
	f.StringVar(&s.target, "target", "local", "local or server")
	f.StringVar(&s.run, "run", "", "only scenarios whose id and title matches this regular expression")
	f.IntVar(&s.parallel, "parallel", 0, "scenarios at a time (default 8)")
	return cmd
}

func (a *app) conformance(ctx context.Context, s suite) error {
	only, err := regexp.Compile(s.run)
	if err != nil {
		return fail(exitUsage, fmt.Errorf("--run: %w", err))
	}
	all, err := conformance.Load(s.dir)
	if err != nil {
		return a.mistakes(err)
	}
	target, err := a.conformanceTarget(ctx, s.target)
	if err != nil {
		return err
	}
	failed, err := conformance.Run(ctx, a.out, all, target, conformance.Options{Only: only, Parallel: s.parallel, JSON: a.json})
	if err == nil && failed > 0 {
		err = fail(exitFailed, fmt.Errorf("%d scenarios failed on %s", failed, target.Name()))
	}
	return err
}

// mistakes shows every mistake in the files on a line of its own.
func (a *app) mistakes(err error) error {
	lines := strings.Split(err.Error(), "\n")
	if len(lines) == 1 {
		return err
	}
	for _, line := range lines {
		a.note("%s", line)
	}
	return fmt.Errorf("the scenario files have %d mistakes; nothing was run", len(lines))
}

func (a *app) conformanceTarget(ctx context.Context, name string) (conformance.Target, error) {
	switch name {
	case "local":
		return conformance.Local(), nil
	case "server":
		s, err := a.anyServer(ctx)
		if err != nil {
			return nil, err
		}
		return conformance.Server(s.temporal, s.namespace), nil
	default:
		return nil, fail(exitUsage, fmt.Errorf("--target is %q: use local or server", name))
	}
}

// anyServer is the server that is named, or an embedded one that lives as long as the program.
func (a *app) anyServer(ctx context.Context) (*site, error) {
	if _, named, err := a.clientOptions(); named || err != nil {
		if err != nil {
			return nil, err
		}
		return a.reach(ctx)
	}
	return a.ownServer(ctx, serverOptions{ephemeral: true})
}
