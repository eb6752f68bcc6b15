package anthropic

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
)

// Model is what is known about a model.
type Model struct {
	ContextWindow int      // tokens; 0 if unknown
	MaxOutput     int      // tokens, thinking included; 0 if unknown
	Images        bool     // the model sees pictures
	Thinking      Thinking // how the model is told to think
}

// Thinking is the way in which a model is told to think.
type Thinking string

// The ways. A model with a budget gets a number of tokens for each effort; the others take the effort itself.
const (
	Budget       Thinking = "budget"        // thinks within a number of tokens, and only when asked
	Adaptive     Thinking = "adaptive"      // decides itself, but only when asked
	AdaptiveOn   Thinking = "adaptive-on"   // decides itself unless it is told not to
	AdaptiveOnly Thinking = "adaptive-only" // decides itself and cannot be told not to
	NoThinking   Thinking = "no-thinking"   // has no thinking at all
)

// Off asks for as little reasoning as the model can do. Every model accepts it.
const Off = "off"

// efforts are the reasoning efforts, weakest first, with the budget that each stands for.
var efforts = []struct {
	name   string
	budget int
}{{"low", 4_096}, {"medium", 10_240}, {"high", 20_480}, {"xhigh", 26_624}, {"max", 31_744}}

// known holds the models whose limits the vendor publishes.
var known = map[string]Model{
	"claude-sonnet-4":   {200_000, 64_000, true, Budget},
	"claude-opus-4":     {200_000, 32_000, true, Budget},
	"claude-opus-4-1":   {200_000, 32_000, true, Budget},
	"claude-sonnet-4-5": {200_000, 64_000, true, Budget},
	"claude-haiku-4-5":  {200_000, 64_000, true, Budget},
	"claude-opus-4-5":   {200_000, 64_000, true, Budget},
	"claude-opus-4-6":   {1_000_000, 128_000, true, Adaptive},
	"claude-sonnet-4-6": {1_000_000, 128_000, true, Adaptive},
	"claude-opus-4-7":   {1_000_000, 128_000, true, Adaptive},
	"claude-opus-4-8":   {1_000_000, 128_000, true, Adaptive},
	"claude-opus-5":     {1_000_000, 128_000, true, AdaptiveOn},
	"claude-sonnet-5":   {1_000_000, 128_000, true, AdaptiveOn},
	"claude-sonnet-5-5": {1_000_000, 128_000, true, AdaptiveOn},
	"claude-haiku-5-5":  {1_000_000, 128_000, true, AdaptiveOn},
	"claude-fable-5":    {1_000_000, 128_000, true, AdaptiveOnly},
	"claude-fable-5-1":  {1_000_000, 128_000, true, AdaptiveOnly},
	"claude-opus-5-5":   {1_000_000, 128_000, true, AdaptiveOnly},
}

// snapshot is the date at the end of the name of a frozen version of a model.
var snapshot = regexp.MustCompile(`(-\d{8}|-0)$`)

// model finds what is known. The vendor's future models are taken to be like its present ones; whatever else speaks
// the protocol is taken to know its older form.
func (p *Provider) model(name string) Model {
	if m, ok := p.models[name]; ok {
		return m
	}
	if m, ok := known[snapshot.ReplaceAllString(name, "")]; ok {
		return m
	}
	if strings.HasPrefix(name, "claude-") {
		return Model{Images: true, Thinking: AdaptiveOnly}
	}
	return Model{Thinking: Budget}
}

// The output a request asks for when nobody said how much. It leaves room in the window: the vendor refuses a request
// whose input and maximum output together do not fit.
const (
	defaultMaxTokens = 32_000
	unknownMaxTokens = 8_192
)

func (m Model) maxTokens() int {
	switch {
	case m.MaxOutput > 0:
		return min(m.MaxOutput, defaultMaxTokens)
	case m.Thinking == Budget || m.Thinking == NoThinking:
		return unknownMaxTokens
	default:
		return defaultMaxTokens
	}
}

func (m Model) check(config session.CallConfig) error {
	if !knownEffort(config.ReasoningEffort) {
		return llm.Errorf(llm.InvalidRequest, fmt.Sprintf("model %s does not know the reasoning effort %q (use one of: %s)",
			config.Model, config.ReasoningEffort, strings.Join(effortNames(), ", ")), nil)
	}
	if m.MaxOutput > 0 && config.MaxTokens > m.MaxOutput {
		return llm.Errorf(llm.InvalidRequest, fmt.Sprintf("model %s writes at most %d tokens, maxTokens asks for %d",
			config.Model, m.MaxOutput, config.MaxTokens), nil)
	}
	return nil
}

func effortNames() []string {
	names := []string{Off}
	for _, e := range efforts {
		names = append(names, e.name)
	}
	return names
}

func knownEffort(effort string) bool {
	return effort == "" || slices.Contains(effortNames(), effort)
}

// minBudget is the smallest budget that the vendor accepts.
const minBudget = 1024

// budget is how much of the output may go into thinking; 0 for none. At least a quarter of it is kept for the answer.
func budget(effort string, maxTokens int) int64 {
	for _, e := range efforts {
		if e.name != effort {
			continue
		}
		if b := min(e.budget, maxTokens/4*3); b >= minBudget {
			return int64(b)
		}
	}
	return 0
}
