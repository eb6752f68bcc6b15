package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/everturn/everturn/tools"
	"github.com/google/uuid"
)

// newKids gives the agents that tools and hooks of a scenario will start their ids, by name.
func newKids(names map[string]bool) map[string]string {
	out := map[string]string{}
	for name := range names {
		out[name] = "scenario-" + uuid.NewString()[:13]
	}
	return out
}

// expectKids lets what children do be seen from their beginning.
func (r *run) expectKids() {
	for name, id := range r.kidIDs {
		if _, known := r.names.LoadOrStore(id, name); known {
			continue
		}
		if r.away == nil {
			r.away = map[string]person{}
		}
		r.away[name] = person{id: id, frames: watchFrames(r.broker, id)}
	}
}

// acquaint gets hold of the child that is looked at from now on, and sees whether it has ended.
func (r *run) acquaint(ctx context.Context) error {
	if r.kidIDs[r.now] == "" {
		return nil
	}
	a, err := r.site.client.Get(ctx, r.id)
	if err != nil {
		return err
	}
	run, err := r.site.client.Backend.Describe(ctx, r.id)
	if err != nil {
		return err
	}
	r.agent, r.closed = a, r.closed || !run.Open
	return nil
}

// child is the agent that a deed starts.
func (w *world) child(d deed) tools.Child {
	c := tools.Child{ID: w.kidIDs[d.args[0]], CancelWithParent: slices.Contains(d.args, "follows")}
	if d.verb == "delegate" {
		c.Prompt, c.Keep = d.args[1], slices.Contains(d.args[2:], "keep")
	}
	return c
}

// idOf is the id of an agent of the scenario by name.
func (r *run) idOf(name string) (string, error) {
	if p, ok := r.away[name]; ok {
		return p.id, nil
	}
	if name == r.now || r.now == "" && name == firstName {
		return r.id, nil
	}
	return "", fmt.Errorf("there is no agent %s", name)
}

// parseOwned reads `owns: NAMES`: the agents that the one that is looked at owns.
func parseOwned(_ []string, rest string) (*watch, error) {
	return arriving(named("owns:", rest, func(ctx context.Context, r *run) (string, error) {
		var out []string
		for _, p := range r.away {
			owned, err := r.site.client.IsOwnedBy(ctx, p.id, r.id)
			if err != nil {
				return "", err
			}
			if owned {
				out = append(out, r.named(p.id))
			}
		}
		slices.Sort(out)
		return listed(out), nil
	}))
}

// parseEnds reads `ended: NAMES`: the agents of the scenario that have ended, in the order in which that was told.
func parseEnds(_ []string, rest string) (*watch, error) {
	return arriving(named("ended:", rest, func(_ context.Context, r *run) (string, error) {
		return listed(r.announced.ends(r.named)), nil
	}))
}

// ofParent reads `of NAME [follows]`.
func ofParent(w *words) (parent string, follows bool, err error) {
	if parent, err = w.bare("the name of the parent"); err == nil {
		follows = w.take("follows")
	}
	return strings.TrimSpace(parent), follows, err
}
