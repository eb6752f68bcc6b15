// Package anthropic serves models over Anthropic's Messages API.
//
// [New] makes a provider. Thinking is replayed: the signatures of an answer travel in [session.ReplayState] and go back
// with the next request, as long as the route is the same. The prompt is marked for caching after the tools, after the
// system prompt and after the last message, always in the same places.
//
// The provider never reads the environment, never retries, follows no redirect, and puts its key nowhere but into the
// header of a request.
package anthropic

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"time"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/internal/vendor"
	"github.com/everturn/everturn/session"
)

// Config configures a [Provider].
type Config struct {
	Name    string     // provider part of the route; "" means "anthropic"
	APIKey  llm.Secret // may be empty only together with BaseURL
	KeyEnv  string     // environment variable that messages name for the key; "" means ANTHROPIC_API_KEY
	BaseURL string     // without the version, such as "http://localhost:8080"; "" means Anthropic's

	// Models adds to and replaces what is known about models.
	Models map[string]Model

	// Images loads the bytes of a stored picture. Without it pictures are shown as a fixed text.
	Images func(ctx context.Context, image session.Image) ([]byte, error)

	HTTPClient *http.Client    // nil means http.DefaultClient
	Retry      llm.RetryPolicy // of all routes of this provider
	Idle       time.Duration   // watchdog per read; 0 means llm.DefaultIdle
}

const publicURL = "https://api.anthropic.com"

// A Provider serves one endpoint. It is safe for concurrent use.
type Provider struct {
	name       string
	models     map[string]Model
	images     vendor.Loader
	retry      llm.RetryPolicy
	idle       time.Duration
	key        llm.Secret
	keyMissing string // what to say when a key is needed and there is none
	messages   sdk.MessageService
}

var _ llm.Provider = (*Provider)(nil)

// New makes a provider. It does not contact the endpoint.
func New(config Config) (*Provider, error) {
	if config.Name == "" {
		config.Name = "anthropic"
	}
	if config.KeyEnv == "" {
		config.KeyEnv = "ANTHROPIC_API_KEY"
	}
	base, err := baseURL(config.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("provider %q: %w", config.Name, err)
	}
	p := &Provider{
		name: config.Name, models: config.Models, images: config.Images,
		retry: config.Retry, idle: config.Idle, key: config.APIKey,
	}
	if config.APIKey.IsZero() && base == publicURL {
		p.keyMissing = fmt.Sprintf("provider %q has no API key: set %s where the worker runs", p.name, config.KeyEnv)
	}
	p.messages = sdk.NewMessageService(options(config, base)...)
	return p, nil
}

func options(config Config, base string) []option.RequestOption {
	out := []option.RequestOption{
		option.WithBaseURL(base),
		option.WithHTTPClient(vendor.Client(config.HTTPClient)),
		option.WithMaxRetries(0),
		option.WithoutOpenTelemetry(), // whoever calls a model traces it
	}
	if !config.APIKey.IsZero() {
		out = append(out, option.WithAPIKey(config.APIKey.Reveal()))
	}
	return out
}

func baseURL(text string) (string, error) {
	if text == "" {
		return publicURL, nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return "", fmt.Errorf("BaseURL is not a URL")
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return "", fmt.Errorf("BaseURL is not an http or https address")
	case u.User != nil || u.RawQuery != "":
		return "", fmt.Errorf("BaseURL carries a user, a password or a query (put the credential into APIKey)")
	}
	return u.String(), nil
}

// Name is the provider part of the route.
func (p *Provider) Name() string { return p.name }

// Prepare binds a call. It fails with MISSING_CREDENTIAL without the key the endpoint wants, and with INVALID_REQUEST if
// the model cannot do what the configuration asks. The route's own limit fills in a missing maxTokens, which the API
// demands.
func (p *Provider) Prepare(_ context.Context, config session.CallConfig) (*llm.Prepared, error) {
	if p.keyMissing != "" {
		return nil, llm.Errorf(llm.MissingCredential, p.keyMissing, nil)
	}
	model := p.model(config.Model)
	prepared := &llm.Prepared{
		ContextWindow: model.ContextWindow, Images: model.Images && p.images != nil, Retry: p.retry, Idle: p.idle,
	}
	if config.MaxTokens == 0 {
		config.MaxTokens = model.maxTokens()
		prepared.Defaults = &session.AdapterDefaults{MaxTokens: true}
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
