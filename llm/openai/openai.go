// Package openai serves models over the Chat Completions API: OpenAI itself, DeepSeek, OpenRouter, and local servers
// such as vLLM and Ollama.
//
// [New] makes a provider for one endpoint. Its name is the provider part of the route, so one worker may have several:
//
//	openai.New(openai.Config{APIKey: llm.NewSecret(os.Getenv("OPENAI_API_KEY"))})
//	openai.New(openai.Config{Name: "deepseek", APIKey: llm.NewSecret(os.Getenv("DEEPSEEK_API_KEY"))})
//	openai.New(openai.Config{Name: "ollama"})
//	openai.New(openai.Config{Name: "lab", BaseURL: "http://vllm.internal:8000/v1"})
//
// The provider never reads the environment, never retries, follows no redirect, and puts its key nowhere but into the
// authorization header.
package openai

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"time"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/internal/vendor"
	"github.com/everturn/everturn/session"
)

// Config configures a [Provider].
type Config struct {
	Name    string     // provider part of the route; "" means "openai"
	APIKey  llm.Secret // may be empty for an endpoint that wants none
	KeyEnv  string     // environment variable that messages name for the key; "" means one made from Name
	BaseURL string     // up to and including the version, such as "http://localhost:8000/v1"; "" for a known Name
	Dialect Dialect    // "" means by BaseURL and Name; set it for a proxy in front of OpenAI

	// Models adds to and replaces what is known about models. An unknown model is served with no facts.
	Models map[string]Model

	// Images loads the bytes of a stored picture. Without it pictures are shown as a fixed text.
	Images func(ctx context.Context, image session.Image) ([]byte, error)

	HTTPClient *http.Client    // nil means http.DefaultClient
	Retry      llm.RetryPolicy // of all routes of this provider
	Idle       time.Duration   // watchdog per read; 0 means llm.DefaultIdle
}

// A Provider serves one endpoint. It is safe for concurrent use.
type Provider struct {
	name       string
	dialect    Dialect
	models     map[string]Model
	images     vendor.Loader
	retry      llm.RetryPolicy
	idle       time.Duration
	key        llm.Secret
	keyMissing string // what to say when a key is needed and there is none
	chat       sdk.ChatCompletionService
}

var _ llm.Provider = (*Provider)(nil)

// New makes a provider. It does not contact the endpoint.
func New(config Config) (*Provider, error) {
	if config.Name == "" {
		config.Name = "openai"
	}
	base, err := baseURL(config)
	if err != nil {
		return nil, fmt.Errorf("provider %q: %w", config.Name, err)
	}
	p := &Provider{
		name: config.Name, dialect: dialectOf(config, base), models: config.Models, images: config.Images,
		retry: config.Retry, idle: config.Idle, key: config.APIKey,
	}
	if config.APIKey.IsZero() && wantsKey(base) {
		p.keyMissing = fmt.Sprintf("provider %q has no API key: set %s where the worker runs", p.name, keyEnv(config))
	}
	p.chat = sdk.NewChatCompletionService(
		option.WithBaseURL(base.String()),
		option.WithHTTPClient(vendor.Client(config.HTTPClient)),
		option.WithAPIKey(config.APIKey.Reveal()),
		option.WithMaxRetries(0),
	)
	return p, nil
}

func baseURL(config Config) (*url.URL, error) {
	text := config.BaseURL
	if text == "" {
		text = presets[config.Name].baseURL
	}
	if text == "" {
		return nil, fmt.Errorf("BaseURL is empty (set the address of the endpoint, such as http://localhost:8000/v1)")
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, fmt.Errorf("BaseURL is not a URL")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, fmt.Errorf("BaseURL is not an http or https address")
	case u.User != nil || u.RawQuery != "":
		return nil, fmt.Errorf("BaseURL carries a user, a password or a query (put the credential into APIKey)")
	}
	return u, nil
}

// Name is the provider part of the route.
func (p *Provider) Name() string { return p.name }

// Prepare binds a call. It fails with MISSING_CREDENTIAL without the key the endpoint wants, and with INVALID_REQUEST if
// the model is known and cannot do what the configuration asks.
func (p *Provider) Prepare(_ context.Context, config session.CallConfig) (*llm.Prepared, error) {
	if p.keyMissing != "" {
		return nil, llm.Errorf(llm.MissingCredential, p.keyMissing, nil)
	}
	model := p.model(config.Model)
	prepared := &llm.Prepared{
		ContextWindow: model.ContextWindow, SystemPromptUpdate: p.dialect.systemUpdates(),
		Images: model.Images && p.images != nil, Retry: p.retry, Idle: p.idle,
	}
	if config.ReasoningEffort == "" && model.Effort != "" {
		config.ReasoningEffort = model.Effort
		prepared.Defaults = &session.AdapterDefaults{ReasoningEffort: true}
	}
	if err := model.check(config); err != nil {
		return nil, err
	}
	prepared.Config = config
	prepared.Stream = func(ctx context.Context, req llm.Request) iter.Seq2[session.Chunk, error] {
		return p.stream(ctx, config, model, req)
	}
	return prepared, nil
}
