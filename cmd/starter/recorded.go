package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/signals"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Recorded data on the command line: what `create` gives an agent and `configure` changes. See architecture A3.12.
type recorded struct {
	params, sections, metadata []string // NAME=VALUE
	allow, deny                []string
	webhooks                   []string // SECRET[@EVENT,EVENT]=URL
	queue                      string
	clientTools                string // a file
	budget                     int64
}

func (r *recorded) flags(f *pflag.FlagSet) {
	f.StringArrayVar(&r.params, "param", nil, "parameter of the agent, NAME=VALUE; a value that is JSON is taken as that")
	f.StringArrayVar(&r.sections, "section", nil, "section of the system prompt, NAME=TEXT or NAME@ORDER=TEXT; takes the place of the definition's of that name")
	f.StringSliceVar(&r.allow, "allow-tool", nil, "only these tools")
	f.StringSliceVar(&r.deny, "deny-tool", nil, "not these tools")
	f.StringVar(&r.queue, "activity-queue", "", "task queue of the agent's activities (default: its own)")
	f.StringVar(&r.clientTools, "client-tools", "", "JSON file with a list of tools that programs of yours run: [{\"name\": …, \"description\": …, \"parameters\": {…}}]")
	f.StringArrayVar(&r.webhooks, "webhook", nil, "is told what happens to the agent, "+webhookSyntax)
	f.Int64Var(&r.budget, "budget", 0, "tokens; webhooks are told each time that the agent has used as many again")
	f.StringArrayVar(&r.metadata, "meta", nil, "metadata, NAME=VALUE; for people and programs, the model does not see it")
}

// pairs splits NAME=VALUE.
func pairs(flag string, list []string, add func(name, value string) error) error {
	for _, item := range list {
		name, value, ok := strings.Cut(item, "=")
		if !ok || name == "" {
			return fail(exitUsage, fmt.Errorf("--%s %q: use NAME=VALUE", flag, item))
		}
		if err := add(name, value); err != nil {
			return fail(exitUsage, fmt.Errorf("--%s %q: %w", flag, item, err))
		}
	}
	return nil
}

// paramsOf is an object; nil if nothing was said.
func (r *recorded) paramsOf() (object map[string]json.RawMessage, err error) {
	err = pairs("param", r.params, func(name, value string) error {
		if object == nil {
			object = map[string]json.RawMessage{}
		}
		raw := json.RawMessage(value)
		if !json.Valid(raw) {
			raw, err = json.Marshal(value)
		}
		object[name] = raw
		return err
	})
	return object, err
}

func (r *recorded) metadataOf() (m map[string]string, err error) {
	err = pairs("meta", r.metadata, func(name, value string) error {
		if m == nil {
			m = map[string]string{}
		}
		m[name] = value
		return nil
	})
	return m, err
}

func (r *recorded) sectionsOf() (out []signals.Section, err error) {
	err = pairs("section", r.sections, func(name, text string) error {
		s := signals.Section{Name: name, Text: text}
		if at := strings.LastIndex(name, "@"); at > 0 {
			order, err := strconv.ParseFloat(name[at+1:], 64)
			if err != nil {
				return fmt.Errorf("the order is no number: %w", err)
			}
			s.Name, s.Order = name[:at], order
		}
		out = append(out, s)
		return nil
	})
	return out, err
}

// toolsOf is the filter; nil if nothing was said.
func (r *recorded) toolsOf() *signals.ToolFilter {
	if r.allow == nil && r.deny == nil {
		return nil
	}
	return &signals.ToolFilter{Allow: r.allow, Deny: r.deny}
}

// clientToolsOf are the tools of the file; nil if there is none.
func (r *recorded) clientToolsOf() (out []signals.ClientTool, err error) {
	if r.clientTools == "" {
		return nil, nil
	}
	raw, err := os.ReadFile(r.clientTools)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		return nil, fail(exitUsage, fmt.Errorf("--client-tools %s: %w", r.clientTools, err))
	}
	return out, nil
}

// create puts what was said into the options of a new agent.
func (r *recorded) create(o *agents.CreateOptions) error {
	params, err := r.paramsOf()
	if err != nil {
		return err
	}
	if params != nil {
		if o.Params, err = json.Marshal(params); err != nil {
			return err
		}
	}
	if o.Sections, err = r.sectionsOf(); err != nil {
		return err
	}
	if o.ClientTools, err = r.clientToolsOf(); err != nil {
		return err
	}
	if o.Webhooks, err = webhooksOf(r.webhooks); err != nil {
		return err
	}
	o.Tools, o.Queue, o.Budget = r.toolsOf(), r.queue, r.budget
	o.Metadata, err = r.metadataOf()
	return err
}

func (a *app) configureCmd() *cobra.Command {
	var r recorded
	var title, provider, model, effort string
	var tokens int
	var unset []string
	cmd := &cobra.Command{
		Use:   "configure ID",
		Short: "Change an agent's recorded data, from its next turn on",
		Long: "Changes what an agent was created with. What is not named stays; --unset gives a field back to the definition:\n" +
			"title, provider, model, effort, max-tokens, sections, tools, client-tools, webhooks, budget, activity-queue, params, meta, params.NAME, meta.NAME.\nAn open turn goes on with what it began with.",
		Example: "  starter configure my-agent --model gpt-5 --param repo=everturn\n  starter configure my-agent --deny-tool write_file --unset params.repo",
		Args:    cobra.ExactArgs(1),
	}
	f := cmd.Flags()
	f.StringVar(&title, "title", "", "what people see")
	f.StringVar(&provider, "provider", "", "of the model")
	f.StringVar(&model, "model", "", "from the next request on")
	f.StringVar(&effort, "effort", "", "reasoning effort, as the provider names it")
	f.IntVar(&tokens, "max-tokens", 0, "output limit per request")
	f.StringArrayVar(&unset, "unset", nil, "gives a field back to the definition")
	r.flags(f)
	cmd.RunE = a.withAgent(func(ctx context.Context, s *site, agent *agents.Agent, _ []string) error {
		c, err := r.change()
		if err != nil {
			return err
		}
		for flag, set := range map[string]func(){
			"title": func() { c.Title = signals.To(title) }, "provider": func() { c.Provider = signals.To(provider) },
			"model": func() { c.Model = signals.To(model) }, "effort": func() { c.ReasoningEffort = signals.To(effort) },
			"max-tokens": func() { c.MaxTokens = signals.To(tokens) }, "activity-queue": func() { c.Queue = signals.To(r.queue) },
		} {
			if f.Changed(flag) {
				set()
			}
		}
		for _, name := range unset {
			if err := back(&c, name); err != nil {
				return fail(exitUsage, err)
			}
		}
		if err := s.needWorker(ctx, a.queue, "nothing was changed"); err != nil {
			return err
		}
		if err := agent.Configure(ctx, c); err != nil {
			return err
		}
		return a.print(map[string]bool{"configured": true}, "configured")
	})
	return cmd
}

// change is what the flags of recorded data ask for.
func (r *recorded) change() (c signals.Configure, err error) {
	params, err := r.paramsOf()
	if err != nil {
		return c, err
	}
	if params != nil {
		c.Params = signals.To(params)
	}
	sections, err := r.sectionsOf()
	if err != nil {
		return c, err
	}
	if sections != nil {
		c.Sections = signals.To(sections)
	}
	hooks, err := webhooksOf(r.webhooks)
	if err != nil {
		return c, err
	}
	if hooks != nil {
		c.Webhooks = signals.To(hooks)
	}
	if r.budget != 0 {
		c.Budget = signals.To(r.budget)
	}
	if filter := r.toolsOf(); filter != nil {
		c.Tools = signals.To(*filter)
	}
	tools, err := r.clientToolsOf()
	if err != nil {
		return c, err
	}
	if tools != nil {
		c.ClientTools = signals.To(tools)
	}
	metadata, err := r.metadataOf()
	if err != nil {
		return c, err
	}
	if metadata != nil {
		c.Metadata = signals.To(map[string]*string{})
		for name, value := range metadata {
			(*c.Metadata.Value)[name] = &value
		}
	}
	return c, nil
}

// back gives one field, or one key of an object, back to the definition.
func back(c *signals.Configure, name string) error {
	field, key, keyed := strings.Cut(name, ".")
	switch {
	case keyed && key != "" && field == "params":
		if c.Params.Value == nil {
			c.Params = signals.To(map[string]json.RawMessage{})
		}
		(*c.Params.Value)[key] = json.RawMessage("null")
	case keyed && key != "" && field == "meta":
		if c.Metadata.Value == nil {
			c.Metadata = signals.To(map[string]*string{})
		}
		(*c.Metadata.Value)[key] = nil
	case name == "params":
		c.Params = signals.Back[map[string]json.RawMessage]()
	case name == "meta":
		c.Metadata = signals.Back[map[string]*string]()
	case name == "sections":
		c.Sections = signals.Back[[]signals.Section]()
	case name == "webhooks":
		c.Webhooks = signals.Back[[]signals.Webhook]()
	case name == "tools":
		c.Tools = signals.Back[signals.ToolFilter]()
	case name == "client-tools":
		c.ClientTools = signals.Back[[]signals.ClientTool]()
	case name == "budget":
		c.Budget = signals.Back[int64]()
	case name == "max-tokens":
		c.MaxTokens = signals.Back[int]()
	default:
		return backText(c, name)
	}
	return nil
}

func backText(c *signals.Configure, name string) error {
	text := map[string]*signals.Change[string]{"title": &c.Title, "provider": &c.Provider, "model": &c.Model, "effort": &c.ReasoningEffort, "activity-queue": &c.Queue}[name]
	if text == nil {
		return fmt.Errorf("--unset %s: there is no such field", name)
	}
	*text = signals.Back[string]()
	return nil
}
