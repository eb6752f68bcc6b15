package main

import (
	"os"
	"strings"

	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/signals"
	"github.com/everturn/everturn/worker"
	"github.com/spf13/pflag"
)

// allowVariable lists what webhooks may call beside public addresses, unless flags do.
const allowVariable = "EVERTURN_WEBHOOK_ALLOW"

// webhookFlags say whom a worker tells what happens to its agents.
type webhookFlags struct {
	hooks []string // SECRET[@EVENT,EVENT]=URL
	allow []string
}

const webhookSyntax = "SECRET=URL or SECRET@EVENT,EVENT=URL; SECRET is the name of one that the workers know"

func (w *webhookFlags) flags(f *pflag.FlagSet) {
	f.StringArrayVar(&w.hooks, "webhook", nil, "is told what happens to all agents of this worker, "+webhookSyntax)
	f.StringSliceVar(&w.allow, "webhook-allow", nil, "networks, addresses and hosts that webhooks may call although they are not public, also without https (default: "+allowVariable+")")
}

// webhooksOf reads webhooks from the command line.
func webhooksOf(list []string) (out []signals.Webhook, err error) {
	err = pairs("webhook", list, func(name, url string) error {
		secret, events, some := strings.Cut(name, "@")
		w := signals.Webhook{URL: url, Secret: secret}
		if some {
			w.Events = strings.Split(events, ",")
		}
		out = append(out, w)
		return plugin.CheckWebhooks([]plugin.Webhook{plugin.Webhook(w)})
	})
	return out, err
}

// rules are what the worker goes by.
func (w *webhookFlags) rules() worker.Webhooks {
	allow := w.allow
	if text := os.Getenv(allowVariable); len(allow) == 0 && text != "" {
		allow = strings.Split(text, ",")
	}
	return worker.Webhooks{Allow: allow}
}

// hook adds the webhooks of the command line to the definitions.
func (w *webhookFlags) hook(defs []*plugin.Definition) error {
	hooks, err := webhooksOf(w.hooks)
	if err != nil {
		return err
	}
	for _, d := range defs {
		for _, h := range hooks {
			d.Webhooks = append(d.Webhooks, plugin.Webhook(h))
		}
	}
	return nil
}
