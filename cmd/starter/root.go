package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/everturn/everturn/internal/log"
	"github.com/everturn/everturn/signals"
	"github.com/spf13/cobra"
	sdkworker "go.temporal.io/sdk/worker"
	"go.uber.org/zap"
)

// An app is one run of the program.
type app struct {
	out, err io.Writer
	in       *os.File

	// Global flags.
	address   string
	namespace string
	store     string
	home      string
	queue     string
	json      bool
	level     string

	oneByOne bool                              // a chat without a terminal reads a line when it is needed
	quiet    bool                              // say nothing about models
	version  sdkworker.WorkerDeploymentVersion // of its own worker, or empty
	webhooks webhookFlags
	parallel *int // tool calls in flight, if somebody said so
	closers  []func()
}

// defers runs f when the program ends, last first.
func (a *app) defers(f func()) { a.closers = append(a.closers, f) }

func (a *app) close() {
	for i := len(a.closers) - 1; i >= 0; i-- {
		a.closers[i]()
	}
	a.closers = nil
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "starter",
		Short: "Run and talk to AI agents that cannot be lost",
		Long: strings.TrimSpace(`
Everturn runs AI agents as durable Temporal workflows: kill any process at any
moment and the agent goes on.

  starter dev      a server, its UI, a worker and a chat, from nothing
  starter demo     the reference scenario, event by event

Every other command works from any machine that reaches Temporal and the store.`),
		Example:       "  starter dev\n  starter ask \"please echo hello\"\n  echo \"please echo hello\" | starter chat",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	f := root.PersistentFlags()
	f.StringVar(&a.address, "address", "", "Temporal address (default: TEMPORAL_ADDRESS or a profile, then a running starter dev)")
	f.StringVar(&a.namespace, "namespace", "", "Temporal namespace (default: TEMPORAL_NAMESPACE, then \"default\")")
	f.StringVar(&a.store, "store", "", "where the sessions' bytes are: a folder or URL (default: EVERTURN_STORE, then HOME/store)")
	f.StringVar(&a.home, "home", "", "folder of the development server and the default store (default: EVERTURN_HOME, then ~/.everturn)")
	f.StringVar(&a.queue, "task-queue", signals.DefaultTaskQueue, "task queue of the agents")
	f.BoolVar(&a.json, "json", false, "print JSON")
	f.StringVar(&a.level, "log-level", "error", "debug, info, warn or error; logs go to stderr")
	root.AddCommand(
		a.devCmd(), a.demoCmd(), a.askCmd(), a.chatCmd(), a.workerCmd(),
		a.createCmd(), a.listCmd(), a.showCmd(),
		a.sendCmd(signals.Followup, "Queue a message for a turn of its own", "starter followup my-agent \"and now the tests\""),
		a.sendCmd(signals.Steer, "Let a message join the running turn at its next step", "starter steer my-agent \"only the Go files\""),
		a.sendCmd(signals.Inject, "Add context without waking the agent", "starter inject my-agent \"the build is green again\""),
		a.inboxCmd(), a.cancelCmd(), a.approveCmd(), a.denyCmd(), a.policyCmd(), a.auditCmd(), a.answerCmd(), a.resultCmd(), a.planCmd(), a.approvalsCmd(), a.waitCmd(), a.disposeCmd(),
		a.maintainCmd(), a.configureCmd(), a.resumeCmd(), a.forkCmd(), a.exportCmd(), a.importCmd(),
		a.rollCmd(), a.gcCmd(), a.eraseCmd(),
		a.logCmd(), a.tailCmd(), a.requestCmd(), a.conformanceCmd(),
	)
	return root
}

// homeDir is where the development server and the default store live.
func (a *app) homeDir() (string, error) {
	if a.home != "" {
		return filepath.Abs(a.home)
	}
	if dir := os.Getenv("EVERTURN_HOME"); dir != "" {
		return filepath.Abs(dir)
	}
	user, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("no home folder: %w (set EVERTURN_HOME or --home)", err)
	}
	return filepath.Join(user, ".everturn"), nil
}

func (a *app) logger() (*zap.Logger, error) {
	z, err := log.New(a.level)
	if err != nil {
		return nil, fail(exitUsage, fmt.Errorf("--log-level: %w", err))
	}
	return z, nil
}

// print writes v as one line of JSON, or the text.
func (a *app) print(v any, text string) error {
	if !a.json {
		_, err := fmt.Fprintln(a.out, text)
		return err
	}
	return json.NewEncoder(a.out).Encode(v)
}

func (a *app) note(format string, args ...any) { fmt.Fprintf(a.err, format+"\n", args...) }
