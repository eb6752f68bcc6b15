package plugin

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/everturn/everturn/session"
)

// A Webhook is where somebody is told what happens to an agent, by a signed request. It names a secret that the workers
// know, and holds none.
type Webhook struct {
	URL    string
	Events []string // of [session.Told]; none: all of them
	Secret string   // name: letters, digits, '_', '-' and '.'
}

// The bounds of webhooks.
const (
	MaxWebhooks   = 8
	maxWebhookURL = 2 << 10
)

// CheckWebhooks names what is wrong with a list of webhooks, and how to mend it. Where they lead is for the worker to say.
func CheckWebhooks(hooks []Webhook) error {
	if len(hooks) > MaxWebhooks {
		return fmt.Errorf("%d webhooks are too many: use at most %d", len(hooks), MaxWebhooks)
	}
	for i, w := range hooks {
		if err := w.validate(); err != nil {
			return fmt.Errorf("webhook %d: %w", i+1, err)
		}
	}
	return nil
}

func (w Webhook) validate() error {
	switch {
	case w.URL == "" || len(w.URL) > maxWebhookURL:
		return fmt.Errorf("the URL takes %d bytes: use 1–%d", len(w.URL), maxWebhookURL)
	case w.Secret == "":
		return errors.New("it names no secret: nobody could know that it is really the agent who calls")
	case !validName(w.Secret):
		return fmt.Errorf("secret %.60q is no name of a secret: use letters, digits, '_', '-' and '.'", w.Secret)
	}
	for _, e := range w.Events {
		if !slices.Contains(session.Told(), e) {
			return fmt.Errorf("event %.60q is unknown: use %s", e, strings.Join(session.Told(), ", "))
		}
	}
	return nil
}
