package conformance

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/session"
)

// resume gives the session another incarnation.
func (r *run) resume(ctx context.Context) error {
	if err := r.name(ctx); err != nil {
		return err
	}
	short, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	a, err := r.site.client.Resume(short, r.id)
	if err == nil {
		r.agent, r.closed = a, false
	}
	return err
}

// parseFork reads `fork [as NAME] [at SEQ|at ENTRY] [from NAME]`; as NAME of an agent that is there means its id.
func parseFork(_ *setup, w *words) (act, error) {
	as, from, at := "child", "", ""
	var err error
	for !w.done() && err == nil {
		switch {
		case w.take("as"):
			as, err = w.bare("the name of the child")
		case w.take("from"):
			from, err = w.bare("the id of the parent")
		case w.take("at"):
			at, err = w.text("an event")
		default:
			err = fmt.Errorf("want as, at or from in front of %q", w.rest)
		}
	}
	return quiet(func(r *run, ctx context.Context) error { return r.fork(ctx, as, from, at) }), err
}

func (r *run) fork(ctx context.Context, as, from, at string) error {
	var o agents.ForkOptions
	var err error
	if at != "" {
		if o.At, err = r.boundary(ctx, at); err != nil {
			return err
		}
	}
	if from == "" {
		from = r.id
	}
	parent := r.now
	if parent == "" {
		parent = firstName
	}
	if as == parent {
		o.ID = r.id
		_, err := r.site.client.Fork(ctx, from, o)
		return err
	}
	taken := r.away[as].id
	r.turnTo(as)
	if r.id = taken; taken == "" {
		if err := r.name(ctx); err != nil {
			return err
		}
	}
	o.ID = r.id
	short, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	child, err := r.site.client.Fork(short, from, o)
	if err != nil {
		r.turnTo(parent)
		if taken == "" {
			r.away[as].frames.stop()
			delete(r.away, as)
		}
		return err
	}
	r.agent = child
	header, err := r.site.client.Store.Header(ctx, r.id)
	r.from.seed = header.SeedLength
	return err
}

// boundary is the number of an event: a number, or the entry of a trace.
func (r *run) boundary(ctx context.Context, at string) (*int64, error) {
	if n, err := strconv.ParseInt(at, 10, 64); err == nil {
		return &n, nil
	}
	s, err := parseSelector([]string{at})
	if err != nil {
		return nil, err
	}
	records, err := r.log(ctx)
	if err != nil {
		return nil, err
	}
	i, err := s.find(entries(records))
	seq := int64(i)
	return &seq, err
}

// export keeps the session as a file.
func (r *run) export(ctx context.Context) error {
	var out bytes.Buffer
	_, err := r.agent.Export(ctx, &out)
	r.file = out.Bytes()
	return err
}

// parseImport reads `import [given|broken LINE] [as NAME] [HEADER]`: the file that was exported, else what the scenario wrote, comes into the
// store, with other fields of the header if they are given. After it, `resume` brings it to life.
func parseImport(s *setup, w *words) (act, error) {
	as := ""
	var err error
	var given []string
	switch {
	case w.take("given"):
		given = s.given
	case w.take("broken"): // one more line, as it stands
		given, w.rest = []string{strings.TrimSpace(w.rest)}, ""
	}
	if w.take("as") {
		if as, err = w.bare("the name of the agent"); err != nil {
			return nil, err
		}
	}
	var fields json.RawMessage
	if !w.done() {
		if fields, err = w.value("fields of the header"); err != nil {
			return nil, err
		}
	}
	return quiet(func(r *run, ctx context.Context) error { return r.bringIn(ctx, as, fields, given) }), nil
}

func (r *run) bringIn(ctx context.Context, as string, fields json.RawMessage, given []string) error {
	file := r.file
	if file == nil {
		var err error
		if file, err = r.text().file(fields, given); err != nil {
			return err
		}
	}
	if as != "" {
		r.turnTo(as)
	}
	if err := r.name(ctx); err != nil {
		return err
	}
	header, err := r.site.client.Import(ctx, bytes.NewReader(file), r.id)
	if err != nil {
		return err
	}
	r.from = inheritance{seed: header.SeedLength, imported: bytes.Count(file, []byte("\n")) - 2}
	r.book = nil
	r.agent, err = r.site.client.Get(ctx, r.id)
	r.closed = true
	return err
}

// file is the written log as an export.
func (b *book) file(fields json.RawMessage, given []string) ([]byte, error) {
	header := map[string]any{"version": session.FormatVersion, "id": "text", "createdAt": bookTime, "agentPreset": definitionName}
	if fields != nil {
		if err := json.Unmarshal(fields, &header); err != nil {
			return nil, err
		}
	}
	var out bytes.Buffer
	n := len(given)
	if err := json.NewEncoder(&out).Encode(map[string]any{"format": "everturn.session.v1", "session": header}); err != nil {
		return nil, err
	}
	for _, rec := range b.log.Records() {
		n++
		if err := session.NewWriter(&out).Write(rec); err != nil {
			return nil, err
		}
	}
	for _, line := range given {
		out.WriteString(line + "\n")
	}
	sum := sha256.Sum256(out.Bytes())
	fmt.Fprintf(&out, `{"events":%d,"sha256":%q}`+"\n", n, hex.EncodeToString(sum[:]))
	return out.Bytes(), nil
}

// parseHeader reads `header: JSON`: the session's header has these fields; the ids of agents are their names.
func parseHeader(_ []string, value string) (*watch, error) {
	var want any
	if err := json.Unmarshal([]byte(value), &want); err != nil {
		return nil, fmt.Errorf("%q is not JSON: %w", value, err)
	}
	return named("header:", compact(want), func(ctx context.Context, r *run) (string, error) {
		header, err := r.site.client.Store.Header(ctx, r.id)
		if err != nil {
			return "", err
		}
		text := asJSON(header)
		r.names.Range(func(id, name any) bool {
			text = strings.ReplaceAll(text, asJSON(id), asJSON(name))
			return true
		})
		var got any
		err = json.Unmarshal([]byte(text), &got)
		return compact(project(want, got)), err
	})
}

// parseBorn reads `born N of 2`, after `create twice`.
func parseBorn(args []string, rest string) (*watch, error) {
	return named("born", value(args, rest), func(_ context.Context, r *run) (string, error) { return fmt.Sprintf("%d of 2", r.born), nil })
}

// parseUnborn reads `unborn`: the caller who creates the agent has not come back.
func parseUnborn(_ []string, _ string) (*watch, error) {
	return named("unborn", "yes", func(_ context.Context, r *run) (string, error) {
		if done := r.births[r.id]; done == nil || len(done) > 0 {
			return "no", nil
		}
		return "yes", nil
	})
}

// parseListed reads `listed: NAMES`, the agents that are live, and `roots: NAMES`.
func parseListed(roots bool) func([]string, string) (*watch, error) {
	key := "listed:"
	if roots {
		key = "roots:"
	}
	return func(_ []string, rest string) (*watch, error) {
		return arriving(named(key, rest, func(ctx context.Context, r *run) (string, error) {
			all := r.site.client.List(ctx)
			if roots {
				all = r.site.client.Roots(ctx)
			}
			var out []string
			for l, err := range all {
				if err != nil {
					return "", err
				}
				if name := r.named(l.ID); name != "" && (l.Status == "idle" || l.Status == "running") {
					out = append(out, name)
				}
			}
			return listed(out), nil
		}))
	}
}
