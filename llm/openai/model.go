package openai

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
)

// Model is what is known about a model. The zero value knows nothing and allows everything.
type Model struct {
	ContextWindow int  // tokens; 0 if unknown
	MaxOutput     int  // tokens; 0 if unknown
	Images        bool // the model sees pictures

	// Efforts are the reasoning efforts the model knows, weakest first. Nil allows any, an empty list none.
	Efforts []string
	Effort  string // the effort to ask for when the configuration names none
}

// Off asks for as little reasoning as the model can do. Every model accepts it.
const Off = "off"

var (
	noEfforts    = []string{}
	threeEfforts = []string{"low", "medium", "high"}
)

// known holds the models whose limits their vendors publish.
var known = map[Dialect]map[string]Model{
	OpenAI: {
		"gpt-4o":        {ContextWindow: 128_000, MaxOutput: 16_384, Images: true, Efforts: noEfforts},
		"gpt-4o-mini":   {ContextWindow: 128_000, MaxOutput: 16_384, Images: true, Efforts: noEfforts},
		"gpt-4.1":       {ContextWindow: 1_047_576, MaxOutput: 32_768, Images: true, Efforts: noEfforts},
		"gpt-4.1-mini":  {ContextWindow: 1_047_576, MaxOutput: 32_768, Images: true, Efforts: noEfforts},
		"gpt-4.1-nano":  {ContextWindow: 1_047_576, MaxOutput: 32_768, Images: true, Efforts: noEfforts},
		"o3":            {ContextWindow: 200_000, MaxOutput: 100_000, Images: true, Efforts: threeEfforts},
		"o4-mini":       {ContextWindow: 200_000, MaxOutput: 100_000, Images: true, Efforts: threeEfforts},
		"gpt-5":         {ContextWindow: 400_000, MaxOutput: 128_000, Images: true, Efforts: []string{"minimal", "low", "medium", "high"}},
		"gpt-5-mini":    {ContextWindow: 400_000, MaxOutput: 128_000, Images: true, Efforts: []string{"minimal", "low", "medium", "high"}},
		"gpt-5-nano":    {ContextWindow: 400_000, MaxOutput: 128_000, Images: true, Efforts: []string{"minimal", "low", "medium", "high"}},
		"gpt-5.1":       {ContextWindow: 400_000, MaxOutput: 128_000, Images: true, Efforts: []string{"none", "low", "medium", "high"}},
		"gpt-5.4":       {ContextWindow: 1_050_000, MaxOutput: 128_000, Images: true, Efforts: []string{"none", "low", "medium", "high", "xhigh"}},
		"gpt-5.5":       {ContextWindow: 1_050_000, MaxOutput: 128_000, Images: true, Efforts: []string{"none", "low", "medium", "high", "xhigh"}},
		"gpt-5.6-sol":   {ContextWindow: 1_050_000, MaxOutput: 128_000, Images: true},
		"gpt-5.6-terra": {ContextWindow: 1_050_000, MaxOutput: 128_000, Images: true},
		"gpt-5.6-luna":  {ContextWindow: 1_050_000, MaxOutput: 128_000, Images: true},
	},
	DeepSeek: {
		"deepseek-flash":    {ContextWindow: 1_000_000, MaxOutput: 384_000, Images: true, Efforts: []string{"low", "high", "max"}, Effort: "high"},
		"deepseek-v4-flash": {ContextWindow: 1_000_000, MaxOutput: 384_000, Images: true, Efforts: []string{"low", "high", "max"}, Effort: "high"},
		"deepseek-v4-pro":   {ContextWindow: 1_000_000, MaxOutput: 384_000, Efforts: []string{"low", "high", "max"}, Effort: "high"},
	},
}

// snapshot is the date at the end of the name of a frozen version of a model.
var snapshot = regexp.MustCompile(`-\d{4}-\d{2}-\d{2}$`)

func (p *Provider) model(name string) Model {
	if m, ok := p.models[name]; ok {
		return m
	}
	return known[p.dialect][snapshot.ReplaceAllString(name, "")]
}

func (m Model) check(config session.CallConfig) error {
	if effort := config.ReasoningEffort; !m.accepts(effort) {
		return llm.Errorf(llm.InvalidRequest, fmt.Sprintf("model %s does not know the reasoning effort %q (use one of: %s)",
			config.Model, effort, strings.Join(append([]string{Off}, m.Efforts...), ", ")), nil)
	}
	if m.MaxOutput > 0 && config.MaxTokens > m.MaxOutput {
		return llm.Errorf(llm.InvalidRequest, fmt.Sprintf("model %s writes at most %d tokens, maxTokens asks for %d",
			config.Model, m.MaxOutput, config.MaxTokens), nil)
	}
	return nil
}

func (m Model) accepts(effort string) bool {
	return effort == "" || effort == Off || m.Efforts == nil || slices.Contains(m.Efforts, effort)
}

// effort is what the request says; "" says nothing.
func (m Model) effort(asked string) string {
	switch {
	case asked != Off:
		return asked
	case m.Efforts == nil:
		return "none"
	case len(m.Efforts) == 0:
		return ""
	default:
		return m.Efforts[0]
	}
}
