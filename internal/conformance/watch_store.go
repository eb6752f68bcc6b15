package conformance

import (
	"context"
	"fmt"
	"strings"

	"github.com/everturn/everturn/agents"
)

// parseIndex reads `index 1.1.c1 approval, …` or `index none`: what the store lists that waits.
func parseIndex(args []string, rest string) (*watch, error) {
	return arriving(named("index", value(args, rest), func(ctx context.Context, r *run) (string, error) {
		list, _, err := r.site.client.Waiting(ctx, agents.WaitingOptions{})
		if err != nil || len(list) == 0 {
			return "none", err
		}
		var out []string
		for _, w := range list {
			out = append(out, w.ID+" "+w.Kind)
		}
		return strings.Join(out, ", "), nil
	}))
}

// parseStored reads `stored all`: the store alone has the whole log. Else it says how much of it there is.
func parseStored(args []string, rest string) (*watch, error) {
	return arriving(named("stored", value(args, rest), func(ctx context.Context, r *run) (string, error) {
		records, err := r.log(ctx)
		if err != nil {
			return "", err
		}
		_, head, err := r.site.client.Store.LatestHead(ctx, r.agent.ID())
		if err != nil {
			return "", err
		}
		n := 0
		for _, err := range r.site.client.Store.Records(ctx, r.agent.ID(), head, 0) {
			if err != nil {
				return "", err
			}
			n++
		}
		if n == len(records) {
			return "all", nil
		}
		return fmt.Sprintf("%d of %d", n, len(records)), nil
	}))
}
