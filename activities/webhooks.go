package activities

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/plugin"
)

// Webhooks say whom a worker may tell what happens to agents, and with which secrets. The zero value calls public
// addresses over https and finds secrets in the environment.
type Webhooks struct {
	// Secret finds the secret of a name: whsec_ and at least 24 bytes in base64. Nil: see [SecretVariable].
	Secret func(name string) (secret string, ok bool)
	// Allow lists networks, addresses and host names that may be called beside public ones, also without https.
	Allow []string
}

// SecretVariable is the environment variable that holds the secret of a name, unless a worker says otherwise.
func SecretVariable(name string) string {
	return "EVERTURN_WEBHOOK_SECRET_" + strings.NewReplacer("-", "_", ".", "_").Replace(strings.ToUpper(name))
}

func (w Webhooks) secret(name string) (string, error) {
	if w.Secret != nil {
		secret, ok := w.Secret(name)
		if !ok {
			return "", fmt.Errorf("this worker knows no webhook secret %q", name)
		}
		return secret, nil
	}
	secret, ok := os.LookupEnv(SecretVariable(name))
	if !ok {
		return "", fmt.Errorf("this worker knows no webhook secret %q: set %s", name, SecretVariable(name))
	}
	return secret, nil
}

func webhooksOf(d *plugin.Definition) (out []work.Webhook) {
	for _, w := range d.Webhooks {
		out = append(out, work.Webhook(w))
	}
	return out
}

// checkWebhooks checks what an agent is created with.
func (a *Activities) checkWebhooks(_ *kind, s work.Spec) error {
	hooks := make([]plugin.Webhook, 0, len(s.Webhooks))
	for _, w := range s.Webhooks {
		hooks = append(hooks, plugin.Webhook(w))
	}
	if err := plugin.CheckWebhooks(hooks); err != nil {
		return fmt.Errorf("webhooks: %w", err)
	}
	return a.checkHooks(s.Webhooks)
}

// checkHooks checks where webhooks lead, as far as that can be seen.
func (a *Activities) checkHooks(hooks []work.Webhook) error {
	for i, w := range hooks {
		if err := a.hooks.Check(w.URL); err != nil {
			return fmt.Errorf("webhook %d: %w", i+1, err)
		}
	}
	return nil
}

// A target is a webhook that is to be called.
type target struct {
	work.Target
	hook work.Webhook
}

// targets are the webhooks of an agent for a kind, each of them once.
func targets(d *plugin.Definition, s work.Spec, kind string) (out []target) {
	seen := map[string]bool{}
	for _, w := range append(webhooksOf(d), s.Webhooks...) {
		t := targetOf(w)
		if w.Wants(kind) && !seen[t.Key] {
			seen[t.Key] = true
			out = append(out, t)
		}
	}
	return out
}

// targetOf names a webhook by what it is, so that any worker that knows it finds it.
func targetOf(w work.Webhook) target {
	raw, err := json.Marshal([]string{w.URL, w.Secret})
	if err != nil {
		raw = nil // strings have a JSON form
	}
	sum := sha256.Sum256(raw)
	t := target{work.Target{Key: hex.EncodeToString(sum[:8])}, w}
	if u, err := url.Parse(w.URL); err == nil {
		t.Host = u.Host
	}
	return t
}
