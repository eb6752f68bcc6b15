package conformance

import (
	"context"
	"fmt"
)

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
