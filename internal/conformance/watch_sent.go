package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/session"
)

// parseRequestData reads `request-data N: JSON`: the N-th request has these fields with these values; null means absent.
func parseRequestData(args []string, rest string) (*watch, error) {
	if len(args) != 1 {
		return nil, fmt.Errorf("want `request-data N: JSON`")
	}
	n, err := strconv.Atoi(args[0])
	if err != nil || n < 1 {
		return nil, fmt.Errorf("%q is not the number of a request", args[0])
	}
	var want any
	if err := json.Unmarshal([]byte(rest), &want); err != nil {
		return nil, fmt.Errorf("%q is not JSON: %w", rest, err)
	}
	return arriving(named("request-data "+args[0]+":", compact(want), func(_ context.Context, r *run) (string, error) {
		all := r.requests()
		if n > len(all) {
			return "no such request", nil
		}
		var got any
		if err := json.Unmarshal([]byte(asJSON(all[n-1])), &got); err != nil {
			return "", err
		}
		return compact(project(want, got)), nil
	}))
}

// parseRebuilt reads `rebuilt N`: so many requests were rebuilt from the log, and each equals byte for byte what the
// model was sent.
func parseRebuilt(args []string, rest string) (*watch, error) {
	return named("rebuilt", value(args, rest), func(ctx context.Context, r *run) (string, error) {
		records, err := r.log(ctx)
		if err != nil {
			return "", err
		}
		if err := r.checkRequests(records); err != nil {
			return err.Error(), nil
		}
		return fmt.Sprint(len(r.asked())), nil
	})
}

// parseMentions reads `mentions ENTRY: "…"`: the event's data has a text in it.
func parseMentions(args []string, value string) (*watch, error) {
	text, err := strconv.Unquote(value)
	if err != nil {
		return nil, fmt.Errorf("want a part of the event in double quotes")
	}
	w, err := ofEvent("mentions", args, value, func(records []session.Record, at int) (string, error) {
		return compact(records[at].Event), nil
	})
	if w != nil {
		w.compare = func(got string) verdict {
			if strings.Contains(got, text) {
				return holds
			}
			return differs
		}
	}
	return w, err
}

// parsePublished reads `published nothing` or `published session`: what there is of the agent that an attempt of
// [parseAttempt] wanted to create.
func parsePublished(args []string, rest string) (*watch, error) {
	return named("published", value(args, rest), func(ctx context.Context, r *run) (string, error) {
		_, err := r.site.client.Store.Header(ctx, r.attempted)
		switch {
		case err == nil:
			return "session", nil
		case !errors.Is(err, store.ErrNotFound):
			return "", err
		}
		state, err := r.site.client.Backend.Describe(ctx, r.attempted)
		switch {
		case errors.Is(err, agents.ErrUnknownAgent), err == nil && !state.Open:
			return "nothing", nil
		case err != nil:
			return "", err
		}
		return "agent", nil
	})
}
