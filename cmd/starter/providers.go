package main

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/anthropic"
	"github.com/everturn/everturn/llm/openai"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/tools/builtin"
)

// A route is what the environment says about models.
type route struct {
	providers []llm.Provider
	provider  string
	model     string
	demo      bool // no key is set: the scripted demo model answers
}

// assistant is the definition that the program itself brings.
const assistant = "assistant"

// helper is what the assistant can hand a task to; it cannot delegate itself.
const helper = "helper"

// The default models of the providers; EVERTURN_MODEL overrides them.
const (
	defaultOpenAI    = "gpt-5-mini"
	defaultAnthropic = "claude-sonnet-4-5"
	defaultDeepSeek  = "deepseek-v4-flash"
)

// routeFromEnv chooses the provider by the keys that are set. EVERTURN_BASE_URL alone means a server that speaks
// OpenAI's protocol, such as Ollama or vLLM. Providers without a key are there too: using one says which key is missing.
func routeFromEnv() (route, error) {
	r := route{provider: "scripted", model: "demo", demo: true}
	r.providers = append(r.providers, scripted.New(scripted.Config{Default: scripted.Demo(), Models: scriptedModels()}))
	base, key := os.Getenv("EVERTURN_BASE_URL"), llm.NewSecret(os.Getenv("OPENAI_API_KEY"))
	if err := r.add(openaiProvider(openai.Config{Name: "openai", APIKey: key, BaseURL: base})); err != nil {
		return r, err
	}
	r.choose(!key.IsZero() || base != "", "openai", defaultOpenAI)
	key = llm.NewSecret(os.Getenv("ANTHROPIC_API_KEY"))
	if err := r.add(anthropicProvider(anthropic.Config{APIKey: key})); err != nil {
		return r, err
	}
	r.choose(!key.IsZero(), "anthropic", defaultAnthropic)
	key = llm.NewSecret(os.Getenv("DEEPSEEK_API_KEY"))
	if err := r.add(openaiProvider(openai.Config{Name: "deepseek", APIKey: key})); err != nil {
		return r, err
	}
	r.choose(!key.IsZero(), "deepseek", defaultDeepSeek)
	if m := os.Getenv("EVERTURN_MODEL"); m != "" && !r.demo {
		r.model = m
	}
	return r, nil
}

func openaiProvider(c openai.Config) (llm.Provider, error) { return openai.New(c) }

func anthropicProvider(c anthropic.Config) (llm.Provider, error) { return anthropic.New(c) }

func (r *route) add(p llm.Provider, err error) error {
	if err == nil {
		r.providers = append(r.providers, p)
	}
	return err
}

// choose makes a provider the default if it can be used and none was chosen before.
func (r *route) choose(usable bool, name, model string) {
	if usable && r.demo {
		r.provider, r.model, r.demo = name, model, false
	}
}

// scriptedModels are the demo's fixed answers, and the script of EVERTURN_SCRIPT if one is named.
func scriptedModels() map[string]scripted.Model {
	models := map[string]scripted.Model{"golden": {Script: scripted.Golden(), Position: scripted.ByHistory}}
	if path := os.Getenv("EVERTURN_SCRIPT"); path != "" {
		raw, err := os.ReadFile(path)
		if err == nil {
			var script scripted.Script
			if script, err = scripted.Parse(string(raw)); err == nil {
				models["script"] = scripted.Model{Script: script, Position: scripted.ByHistory}
			}
		}
		if err != nil {
			models["script"] = scripted.Model{Script: scripted.Script{scripted.Text("EVERTURN_SCRIPT: " + err.Error())}}
		}
	}
	return models
}

// definitions are the kinds of agents that the program's worker runs.
func (a *app) definitions(r route, blobs builtin.Blobs) ([]*plugin.Definition, error) {
	workspace, err := a.workspace()
	if err != nil {
		return nil, err
	}
	all, err := builtin.All(workspace)
	if err != nil {
		return nil, err
	}
	golden, err := goldenDefinition()
	if err != nil {
		return nil, err
	}
	asks, err := builtin.AskUser(builtin.AskUserOptions{})
	if err != nil {
		return nil, err
	}
	all = append(all, builtin.ReadArtifact(blobs), asks)
	delegate, err := builtin.Delegate([]builtin.Kind{{Definition: helper, Description: "works on one task of its own with the same tools"}},
		builtin.DelegateOptions{})
	if err != nil {
		return nil, err
	}
	main := &plugin.Definition{
		Name: assistant, Provider: r.provider, Model: r.model, Tools: append(slices.Clone(all), delegate),
		Compaction: &plugin.Compaction{}, Approval: &plugin.Approval{},
		Sections: []plugin.Section{
			{Name: "identity", Order: -100, Text: "You are a helpful assistant that works for as long as it takes. Your process may be restarted at any moment without you noticing; people may send you messages while you work."},
			{Name: "workspace", Order: 100, Text: "Your file tools read and write one workspace folder; paths are relative to it."},
		},
	}
	if a.parallel != nil {
		if err := main.LimitParallelTools(*a.parallel); err != nil {
			return nil, fail(exitUsage, err)
		}
	}
	second := *main
	second.Name, second.Tools = helper, all
	second.Sections = append(slices.Clone(main.Sections), plugin.Section{Name: "task", Order: 50,
		Text: "Another agent gave you a task. Your last answer is all that it will read: let it be complete."})
	main.PlanFirst() // a helper's plan is its parent's
	return []*plugin.Definition{main, &second, golden}, nil
}

// workspace is the folder that the file tools are confined to.
func (a *app) workspace() (string, error) {
	if dir := os.Getenv("EVERTURN_WORKSPACE"); dir != "" {
		return filepath.Abs(dir)
	}
	home, err := a.homeDir()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(home, "workspace")
	return dir, os.MkdirAll(dir, 0o700)
}

// announce says which model answers.
func (r route) announce(a *app) {
	if r.demo {
		a.note("no provider key is set, so the scripted demo model answers (set OPENAI_API_KEY, ANTHROPIC_API_KEY, DEEPSEEK_API_KEY or EVERTURN_BASE_URL for a real one)")
		return
	}
	a.note("model: %s/%s", r.provider, r.model)
}
