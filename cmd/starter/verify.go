package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/everturn/everturn/session"
	"github.com/spf13/cobra"
)

func (a *app) verifyCmd() *cobra.Command {
	var seed int64
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "Check an exported log against the rules of every valid log",
		Long: "Reads JSON Lines from FILE, or from stdin if FILE is -, and prints the first violation with its seq and rule.\n" +
			"The log of a fork begins with another session's events, whose pending input is not its own: say how many with --seed.",
		Example: "  starter log my-agent --json > my-agent.jsonl\n  starter log verify my-agent.jsonl",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			in := io.Reader(a.in)
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return err
				}
				defer f.Close()
				in = f
			}
			return a.verify(in, seed)
		},
	}
	cmd.Flags().Int64Var(&seed, "seed", 0, "leading events that were inherited from another session")
	return cmd
}

// verdictJSON is what `log verify --json` prints.
type verdictJSON struct {
	Valid  bool   `json:"valid"`
	Events int64  `json:"events"`
	Seq    *int64 `json:"seq,omitempty"` // of the first violation
	Rule   string `json:"rule,omitempty"`
	Error  string `json:"error,omitempty"`
}

func (a *app) verify(in io.Reader, seed int64) error {
	state := session.NewSeededState(seed)
	for r, err := range session.NewReader(in).All() {
		if err == nil {
			err = state.Apply(r)
		}
		if err != nil {
			return a.violated(state.Count(), err)
		}
	}
	return a.print(verdictJSON{Valid: true, Events: state.Count()}, fmt.Sprintf("valid: %d events", state.Count()))
}

// violated reports the first violation; the exit code says that there is one.
func (a *app) violated(events int64, err error) error {
	v := verdictJSON{Events: events, Error: oneLine(err.Error())}
	var rule *session.RuleError
	if errors.As(err, &rule) {
		v.Seq, v.Rule = &rule.Seq, rule.Rule
	}
	if a.json {
		if err := a.print(v, ""); err != nil {
			return err
		}
	}
	return fail(exitFailed, fmt.Errorf("after %d valid events: %w", events, err))
}
