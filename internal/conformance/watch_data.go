package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/everturn/everturn/session"
)

// A selector names an event of the log: the beginning of its entry in a trace, the last one that fits or, with #n, the
// n-th.
type selector struct {
	entry string
	n     int
}

func parseSelector(args []string) (selector, error) {
	if len(args) == 0 {
		return selector{}, fmt.Errorf("an entry such as AM or UM(a) is missing")
	}
	s := selector{entry: strings.Join(args, " ")}
	if entry, n, ok := strings.Cut(s.entry, "#"); ok {
		var err error
		if s.n, err = strconv.Atoi(n); err != nil || s.n < 1 {
			return s, fmt.Errorf("%q: a number is expected after #", s.entry)
		}
		s.entry = entry
	}
	return s, nil
}

func (s selector) String() string {
	if s.n == 0 {
		return s.entry
	}
	return fmt.Sprintf("%s#%d", s.entry, s.n)
}

// find is the position of the event.
func (s selector) find(all []string) (int, error) {
	var found []int
	for i, e := range all {
		if strings.HasPrefix(e, s.entry) {
			found = append(found, i)
		}
	}
	switch {
	case len(found) == 0 || s.n > len(found):
		return 0, fmt.Errorf("the log has no such event: %s", join(all))
	case s.n == 0:
		return found[len(found)-1], nil
	default:
		return found[s.n-1], nil
	}
}

// ofEvent is a watch of something about one event.
func ofEvent(key string, args []string, value string, look func(records []session.Record, at int) (string, error)) (*watch, error) {
	s, err := parseSelector(args)
	if err != nil {
		return nil, err
	}
	return named(key+" "+s.String()+":", value, func(ctx context.Context, r *run) (string, error) {
		records, err := r.log(ctx)
		if err != nil {
			return "", err
		}
		at, err := s.find(entries(records))
		if err != nil {
			return "", err
		}
		return look(records, at)
	})
}

// parseData reads `data ENTRY: JSON`: the event's data has these fields with these values; null means absent.
func parseData(args []string, value string) (*watch, error) {
	var want any
	if err := json.Unmarshal([]byte(value), &want); err != nil {
		return nil, fmt.Errorf("%q is not JSON: %w", value, err)
	}
	return ofEvent("data", args, compact(want), func(records []session.Record, at int) (string, error) {
		raw, err := json.Marshal(records[at].Event)
		if err != nil {
			return "", err
		}
		var got any
		if err := json.Unmarshal(raw, &got); err != nil {
			return "", err
		}
		return compact(project(want, got)), nil
	})
}

// compact writes a value, keys sorted.
func compact(v any) string {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err.Error()
	}
	return strings.TrimSpace(out.String())
}

// project keeps of got what want asks for.
func project(want, got any) any {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return got
		}
		out := map[string]any{}
		for k, v := range w {
			out[k] = project(v, g[k])
		}
		return out
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return got
		}
		out := make([]any, len(g))
		for i := range g {
			out[i] = project(w[i], g[i])
		}
		return out
	default:
		return got
	}
}

// parseCites reads `cites ENTRY: own CH×4`, `TC(c1)`, `[]` for a known empty list, or `none`.
func parseCites(args []string, value string) (*watch, error) {
	return ofEvent("cites", args, value, func(records []session.Record, at int) (string, error) {
		sources := records[at].Sources
		if a, ok := records[at].Event.(session.AssistantAttempt); ok {
			sources = a.ChunkSeqs
		}
		switch {
		case sources == nil:
			return "none", nil
		case len(sources) == 0:
			return "[]", nil
		}
		var cited []string
		all := entries(records)
		for _, seq := range sources {
			if seq < 0 || seq >= int64(len(all)) {
				return fmt.Sprintf("an event %d that is not there", seq), nil
			}
			cited = append(cited, all[seq])
		}
		if slices.Equal(sources, ownChunks(records, at)) {
			return "own " + join(cited), nil
		}
		return join(cited), nil
	})
}

// ownChunks are the seqs of the chunks of the attempt that an event settles.
func ownChunks(records []session.Record, at int) []int64 {
	var out []int64
	for i := at - 1; i >= 0; i-- {
		if _, ok := records[i].Event.(session.AssistantChunk); !ok {
			break
		}
		out = append(out, records[i].Seq)
	}
	slices.Reverse(out)
	return out
}

// parseDeltas reads `deltas ENTRY: "…"`: the text deltas of the chunks that a message cites, which are its text too.
func parseDeltas(args []string, value string) (*watch, error) {
	return ofEvent("deltas", args, value, func(records []session.Record, at int) (string, error) {
		m, ok := records[at].Event.(session.AssistantMessage)
		if !ok {
			return "", fmt.Errorf("it is no message of the assistant")
		}
		text := ""
		for _, seq := range records[at].Sources {
			if c, ok := records[seq].Event.(session.AssistantChunk); ok {
				if d, ok := c.Chunk.(session.TextDelta); ok {
					text += d.Text
				}
			}
		}
		if text != m.Message.Text() {
			return fmt.Sprintf("%q, but the message is %q", text, m.Message.Text()), nil
		}
		return fmt.Sprintf("%q", text), nil
	})
}
