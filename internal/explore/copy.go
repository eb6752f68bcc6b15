package explore

import (
	"slices"

	"github.com/everturn/everturn/internal/driver"
)

// copyState is a copy that the driver may change. Records, outcomes, causes, manifests, sums of tokens and what was
// recorded are never changed in place.
func copyState(s *driver.State) driver.State {
	c := *s
	for _, list := range []*[]string{&c.Disposers, &c.Batch, &c.Claimed, &c.Dropped, &c.Seen.IDs, &c.Fates} {
		*list = slices.Clone(*list)
	}
	c.NextTurn, c.NextStep, c.Ended = slices.Clone(c.NextTurn), slices.Clone(c.NextStep), slices.Clone(c.Ended)
	c.ClaimedAt = slices.Clone(c.ClaimedAt)
	c.Log.Tail, c.Log.Waiting = slices.Clone(c.Log.Tail), slices.Clone(c.Log.Waiting)
	c.Calls, c.Children = slices.Clone(c.Calls), slices.Clone(c.Children)
	c.Abandoned, c.Configures = slices.Clone(c.Abandoned), slices.Clone(c.Configures)
	for i := range c.Calls {
		c.Calls[i].Ask = fresh(c.Calls[i].Ask)
	}
	c.Retry, c.Maintenance = fresh(c.Retry), fresh(c.Maintenance)
	return c
}

func fresh[T any](p *T) *T {
	if p == nil {
		return nil
	}
	c := *p
	return &c
}
