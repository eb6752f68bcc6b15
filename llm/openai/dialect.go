package openai

import (
	"net/url"
	"strings"
)

// A Dialect is a way of speaking the protocol where endpoints differ.
type Dialect string

// The dialects.
const (
	OpenAI     Dialect = "openai"
	DeepSeek   Dialect = "deepseek"   // reasoning goes back to the model once tools were called
	OpenRouter Dialect = "openrouter" // a router to many models
	Compatible Dialect = "compatible" // anything else, such as vLLM or Ollama
)

// presets are the endpoints that a name alone stands for.
var presets = map[string]struct {
	baseURL string
	dialect Dialect
}{
	"openai":     {"https://api.openai.com/v1", OpenAI},
	"deepseek":   {"https://api.deepseek.com", DeepSeek},
	"openrouter": {"https://openrouter.ai/api/v1", OpenRouter},
	"ollama":     {"http://localhost:11434/v1", Compatible},
}

// hosts are the domains of the vendors that a base URL may name, under whatever name the provider has.
var hosts = map[string]Dialect{"openai.com": OpenAI, "deepseek.com": DeepSeek, "openrouter.ai": OpenRouter}

func dialectOf(config Config, base *url.URL) Dialect {
	if config.Dialect != "" {
		return config.Dialect
	}
	if d, known := hostDialect(base); known {
		return d
	}
	if p, known := presets[config.Name]; known && p.dialect != OpenAI {
		return p.dialect // a proxy in front of the vendor; what calls itself "openai" elsewhere seldom is
	}
	return Compatible
}

func hostDialect(base *url.URL) (Dialect, bool) {
	for domain, d := range hosts {
		if host := base.Hostname(); host == domain || strings.HasSuffix(host, "."+domain) {
			return d, true
		}
	}
	return "", false
}

// wantsKey tells a vendor's endpoint, which always wants a key, from one's own.
func wantsKey(base *url.URL) bool {
	_, vendors := hostDialect(base)
	return vendors
}

func keyEnv(config Config) string {
	if config.KeyEnv != "" {
		return config.KeyEnv
	}
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToUpper(config.Name)) + "_API_KEY"
}

// systemUpdates reports whether a later system message in history is read as one.
func (d Dialect) systemUpdates() bool { return d == OpenAI || d == DeepSeek }
