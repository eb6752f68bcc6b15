package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/everturn/everturn/internal/conformance"
	"github.com/spf13/cobra"
	sdkworker "go.temporal.io/sdk/worker"
)

// A suite is what `starter conformance` is asked to run.
type suite struct {
	dir, target, run string
	parallel, cache  int
	tiny             bool
}

func (a *app) conformanceCmd() *cobra.Command {
	var s suite
	cmd := &cobra.Command{
		Use:   "conformance",
		Short: "Run scenarios of agent behaviour from text files",
		Long: "Runs every scenario (*.txt) of a folder on the local engine, or on a Temporal server: the one that is named, or an embedded\n" +
			"one of its own. Prints one line per scenario and at last `N passed, N failed`; exits 1 if any failed.",
		Example: "  starter conformance --target local\n  starter conformance --dir my-scenarios --target server --run 'C-02.'\n" +
			"  starter conformance --target server --tiny-limits\n  starter conformance --target server --cache 0",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.conformance(cmd.Context(), s) },
	}
	f := cmd.Flags()
	f.StringVar(&s.dir, "dir", "conformance/testdata", "folder of the scenario files")
	f.StringVar(&s.target, "target", "local", "local or server")
	f.StringVar(&s.run, "run", "", "only scenarios whose id and title matches this regular expression")
	f.IntVar(&s.parallel, "parallel", 0, "scenarios at a time (default 8)")
	f.IntVar(&s.cache, "cache", -1, "workflows that a worker keeps in memory; 0: every workflow task replays from the start (default the SDK's)")
	f.BoolVar(&s.tiny, "tiny-limits", false, "on an embedded server with limits so low that an agent moves to a new run every few events")
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
	target, err := a.conformanceTarget(ctx, s)
	if err != nil {
		return err
	}
	failed, err := conformance.Run(ctx, a.out, all, target, conformance.Options{Only: only, Parallel: s.parallel, JSON: a.json})
	if err == nil && failed > 0 {
		err = fail(exitFailed, fmt.Errorf("%d scenarios failed on %s", failed, target.Name()))
	}
	return errors.Join(err, a.rollovers(ctx, target, s.tiny))
}

// rollovers says how often agents moved to a new run. With tiny limits some must have: else nothing was shown.
func (a *app) rollovers(ctx context.Context, target conformance.Target, some bool) error {
	t, ok := target.(*conformance.ServerTarget)
	if !ok {
		return nil
	}
	n, err := t.Rollovers(ctx)
	if err != nil {
		return err
	}
	a.note("%d rollovers", n)
	if some && n == 0 {
		return fail(exitFailed, errors.New("no agent moved to a new run, though the limits are tiny"))
	}
	return nil
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

func (a *app) conformanceTarget(ctx context.Context, s suite) (conformance.Target, error) {
	switch {
	case s.target == "local" && (s.tiny || s.cache >= 0):
		return nil, fail(exitUsage, errors.New("--tiny-limits and --cache are about a server: use them with --target server"))
	case s.target == "local":
		return conformance.Local(), nil
	case s.target == "server":
		if s.cache >= 0 {
			sdkworker.SetStickyWorkflowCacheSize(s.cache)
		}
		server, err := a.anyServer(ctx, s.tiny)
		if err != nil {
			return nil, err
		}
		return conformance.Server(server.temporal, server.namespace), nil
	default:
		return nil, fail(exitUsage, fmt.Errorf("--target is %q: use local or server", s.target))
	}
}

// anyServer is the server that is named, or an embedded one that lives as long as the program.
func (a *app) anyServer(ctx context.Context, tiny bool) (*site, error) {
	_, named, err := a.clientOptions()
	switch {
	case err != nil:
		return nil, err
	case named && tiny:
		return nil, fail(exitUsage, errors.New("--tiny-limits starts a server of its own: do not name one (TEMPORAL_ADDRESS)"))
	case named:
		return a.reach(ctx)
	case tiny:
		return a.ownServer(ctx, serverOptions{ephemeral: true, dynamic: conformance.TinyLimits})
	default:
		return a.ownServer(ctx, serverOptions{ephemeral: true})
	}
}
