package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/signals"
	"github.com/spf13/cobra"
)

// decisionCmd makes a command that decides about a call; finish completes what the flags say.
func (a *app) decisionCmd(act, short string, finish func(*agents.DecisionOptions) error) *cobra.Command {
	var o agents.DecisionOptions
	cmd := &cobra.Command{
		Use:     act + " ID APPROVAL",
		Short:   short,
		Long:    short + ". `starter show ID` lists what waits.",
		Example: "  starter " + act + " my-agent 2.1.call-1 --by alice",
		Args:    cobra.ExactArgs(2),
		RunE: a.withAgent(func(ctx context.Context, s *site, agent *agents.Agent, args []string) error {
			o := o
			if err := finish(&o); err != nil {
				return fail(exitUsage, err)
			}
			if err := s.needWorker(ctx, a.queue, "nothing was decided"); err != nil {
				return err
			}
			decide := agent.Approve
			if act == signals.DenyCall {
				decide = agent.Deny
			}
			if err := decide(ctx, args[0], o); err != nil {
				return err
			}
			return a.print(map[string]bool{"decided": true}, "decided")
		}),
	}
	f := cmd.Flags()
	f.StringVar(&o.By, "by", "", "who decides, for the record")
	f.StringVar(&o.Reason, "reason", "", "why; the model is told the reason of a denial")
	f.StringVar(&o.Digest, "digest", "", "digest of the call that was looked at: another one is not decided about")
	return cmd
}

func (a *app) denyCmd() *cobra.Command {
	return a.decisionCmd(signals.DenyCall, "Refuse a tool call that waits for a person", func(*agents.DecisionOptions) error { return nil })
}

func (a *app) approveCmd() *cobra.Command {
	var w wishes
	cmd := a.decisionCmd(signals.Approve, "Let a tool call that waits for a person run", w.finish)
	cmd.Example += "\n  starter approve my-agent 2.1.call-1 --arguments '{\"path\":\"notes.txt\"}' --by alice" +
		"\n  starter approve my-agent 2.1.call-1 --remember --args \"path=docs/*\" --for 24h --by alice"
	f := cmd.Flags()
	f.StringVar(&w.arguments, "arguments", "", "JSON object that is executed in the place of the model's arguments; the model is told so")
	f.BoolVar(&w.remember, "remember", false, "let such calls run from now on: the very same call, unless --args or --any say more")
	f.StringArrayVar(&w.args, "args", nil, "with --remember: calls whose argument fits, NAME=PATTERN, repeatable; * stands for any text")
	f.BoolVar(&w.any, "any", false, "with --remember: any call of the tool")
	f.DurationVar(&w.lasts, "for", 0, "with --remember: how long (default: until it is revoked)")
	return cmd
}

// wishes are what an approval says besides yes.
type wishes struct {
	arguments     string
	remember, any bool
	args          []string
	lasts         time.Duration
}

func (w *wishes) finish(o *agents.DecisionOptions) error {
	if w.arguments != "" {
		if !json.Valid([]byte(w.arguments)) {
			return errors.New("--arguments is not JSON")
		}
		o.Arguments = json.RawMessage(w.arguments)
	}
	if !w.remember {
		if w.any || len(w.args) > 0 || w.lasts != 0 {
			return errors.New("--args, --any and --for go with --remember")
		}
		return nil
	}
	until, err := untilMS(w.lasts)
	if err != nil {
		return err
	}
	o.Remember = &signals.Remember{Any: w.any, UntilMS: until}
	for _, text := range w.args {
		p, err := parsePattern(text)
		if err != nil {
			return fmt.Errorf("--args %w", err)
		}
		o.Remember.Args = append(o.Remember.Args, p)
	}
	return nil
}

func untilMS(lasts time.Duration) (int64, error) {
	switch {
	case lasts < 0:
		return 0, fmt.Errorf("--for %v: use a positive duration, such as 24h", lasts)
	case lasts == 0:
		return 0, nil
	}
	return time.Now().Add(lasts).UnixMilli(), nil
}

func parsePattern(text string) (signals.Pattern, error) {
	name, pattern, ok := strings.Cut(text, "=")
	if !ok || name == "" {
		return signals.Pattern{}, fmt.Errorf("%q: use NAME=PATTERN, such as path=docs/*", text)
	}
	return signals.Pattern{Arg: name, Pattern: pattern}, nil
}

func (a *app) policyCmd() *cobra.Command {
	var p signals.Policy
	var allow []string
	var lasts time.Duration
	cmd := &cobra.Command{
		Use:   "policy ID [ask|allow-list|never|always]",
		Short: "Show or switch what becomes of calls that need an approval",
		Long: "Without a mode and flags it shows the policy and the rules that people had the agent remember.\n" +
			"ask: a person decides, unless a remembered rule lets it run; allow-list: the rules of the definition count too;\n" +
			"never: nobody is asked, it is denied; always: nobody is asked, it runs. Calls that wait are judged anew.",
		Example: "  starter policy my-agent\n  starter policy my-agent never --by alice --reason \"nobody is here at night\"\n" +
			"  starter policy my-agent --allow \"write_file:path=docs/*\" --for 8h --revoke rule-1",
		Args: cobra.RangeArgs(1, 2),
		RunE: a.withAgent(func(ctx context.Context, s *site, agent *agents.Agent, args []string) error {
			p := p
			p.Mode = first(args)
			if err := addRules(&p, allow, lasts); err != nil {
				return fail(exitUsage, err)
			}
			if err := s.needWorker(ctx, a.queue, "nothing was changed"); err != nil {
				return err
			}
			if p.Mode != "" || len(p.Allow) > 0 || len(p.Revoke) > 0 {
				if err := agent.SetPolicy(ctx, p); err != nil {
					return err
				}
			}
			return a.printPolicy(ctx, agent)
		}),
	}
	f := cmd.Flags()
	f.StringArrayVar(&allow, "allow", nil, "rule for calls that run without asking, TOOL or TOOL:ARG=PATTERN,ARG=PATTERN, repeatable")
	f.DurationVar(&lasts, "for", 0, "how long the rules of --allow last (default: until they are revoked)")
	f.StringArrayVar(&p.Revoke, "revoke", nil, "id of a rule to forget, repeatable")
	f.StringVar(&p.By, "by", "", "who switches, for the record")
	f.StringVar(&p.Reason, "reason", "", "why, for the record")
	return cmd
}

// addRules reads the rules of --allow.
func addRules(p *signals.Policy, allow []string, lasts time.Duration) error {
	until, err := untilMS(lasts)
	if err != nil {
		return err
	}
	if lasts != 0 && len(allow) == 0 {
		return errors.New("--for goes with --allow")
	}
	for _, text := range allow {
		tool, patterns, limited := strings.Cut(text, ":")
		rule := signals.Rule{Tool: tool, UntilMS: until}
		if limited {
			for part := range strings.SplitSeq(patterns, ",") {
				one, err := parsePattern(part)
				if err != nil {
					return fmt.Errorf("--allow %w", err)
				}
				rule.Args = append(rule.Args, one)
			}
		}
		p.Allow = append(p.Allow, rule)
	}
	return nil
}

func (a *app) printPolicy(ctx context.Context, agent *agents.Agent) error {
	state, err := agent.State(ctx)
	if err != nil {
		return err
	}
	p := signals.Approvals{Policy: signals.PolicyAsk}
	if state.Approvals != nil {
		p = *state.Approvals
	}
	text := "policy: " + p.Policy
	for _, r := range p.Rules {
		text += "\n" + ruleText(r)
	}
	return a.print(p, text)
}

func ruleText(r signals.Rule) string {
	text := r.ID + ": " + r.Tool
	switch {
	case r.Digest != "":
		text += " with the very same arguments (digest " + r.Digest[:min(12, len(r.Digest))] + "…)"
	case len(r.Args) == 0:
		text += ", any call"
	}
	for _, p := range r.Args {
		text += fmt.Sprintf(" %s=%s", p.Arg, p.Pattern)
	}
	if r.UntilMS > 0 {
		text += ", until " + time.UnixMilli(r.UntilMS).Local().Format(time.DateTime)
	}
	if r.By != "" {
		text += ", by " + r.By
	}
	return text
}

// askedText is what a person must see who decides about a call.
func askedText(d signals.Deferred) string {
	if d.Kind != signals.WaitApproval || d.Digest == "" {
		return ""
	}
	arguments := d.Arguments
	if d.Blob != nil {
		arguments = fmt.Sprintf("(%d bytes: see `starter audit`)", d.Blob.Bytes)
	}
	text := fmt.Sprintf("\nasks:     %s: %s %s", d.ID, d.Tool, arguments)
	if d.Reason != "" {
		text += "\n          because: " + d.Reason
	}
	text += "\n          digest " + d.Digest
	if d.DueMS > 0 {
		text += ", denied at " + time.UnixMilli(d.DueMS).Local().Format(time.DateTime)
	}
	return text
}

func (a *app) auditCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "audit ID",
		Short:   "Print every call of an agent that needed an approval, and what was decided; works with no worker",
		Example: "  starter audit my-agent\n  starter audit my-agent --json > approvals.jsonl",
		Args:    cobra.ExactArgs(1),
		RunE: a.withAgent(func(ctx context.Context, s *site, agent *agents.Agent, _ []string) error {
			all, err := agent.Approvals(ctx)
			if err != nil {
				return err
			}
			table := tabwriter.NewWriter(a.out, 0, 4, 2, ' ', 0)
			if !a.json {
				fmt.Fprintln(table, "ASKED\tAPPROVAL\tTOOL\tARGUMENTS\tDECIDED\tOUTCOME\tBY\tREASON\tRESULT")
			}
			for _, one := range all {
				if a.json {
					if err := a.print(one, ""); err != nil {
						return err
					}
					continue
				}
				fmt.Fprintln(table, auditLine(one))
			}
			if err := table.Flush(); err != nil {
				return err
			}
			a.noteWithoutWorker(ctx, s)
			return nil
		}),
	}
}

// auditLine is a row of the table; --json has everything in full.
func auditLine(p agents.Approval) string {
	decided := "-"
	if !p.Decided.IsZero() {
		decided = p.Decided.Local().Format(time.DateTime)
	}
	arguments := oneLine(p.Arguments)
	if p.Edited != nil {
		arguments += " -> " + oneLine(string(p.Edited))
	}
	by := p.By
	if p.Via != "" {
		by = strings.TrimSpace(by + " (" + p.Via + " " + p.Rule)
		by = strings.TrimSpace(by) + ")"
	}
	columns := []string{p.Asked.Local().Format(time.DateTime), p.ID, p.Tool, shortened(arguments, 60), decided,
		cmp.Or(p.Outcome, "waits"), cmp.Or(by, "-"), cmp.Or(shortened(oneLine(p.Reason), 40), "-"), cmp.Or(p.Result, "-")}
	return strings.Join(columns, "\t")
}

func shortened(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most]) + "…"
}
