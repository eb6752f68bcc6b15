package e2e

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/agents"
)

// age makes everything in the store two days old.
func (p *place) age() {
	p.t.Helper()
	then := time.Now().Add(-48 * time.Hour)
	require.NoError(p.t, filepath.WalkDir(p.path("store"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		return os.Chtimes(path, then, then)
	}))
}

// gc runs a collection and returns what it found, by kind.
func (p *place) gc(args ...string) (g agents.Garbage, kinds map[string]int) {
	p.t.Helper()
	require.NoError(p.t, json.Unmarshal([]byte(p.ok(append([]string{"gc", "--json"}, args...)...)), &g))
	kinds = map[string]int{}
	for _, c := range g.Garbage {
		kinds[c.Kind] = c.Objects
	}
	return g, kinds
}

func TestGarbageGoesAndAgentsGoOn(t *testing.T) {
	p := here(t)
	p.worker()
	a, b := p.create("a"), p.create("b")
	for range 3 {
		p.ok("ask", "please echo hello", "--agent", a.ID())
	}
	large := "please echo " + strings.Repeat("many words ", 1000)
	p.ok("inject", b.ID(), large)
	orphan, err := p.store().PutBlob(t.Context(), []byte("nobody names this"), "")
	require.NoError(t, err)
	until(t, "a is idle", func() bool { s, err := a.State(t.Context()); return err == nil && s.Status == "idle" })

	g, _ := p.gc()
	require.Empty(t, g.Garbage, "everything is young")
	p.age()
	before := p.ok("log", a.ID(), "--json")
	g, kinds := p.gc()
	require.False(t, g.Deleted)
	require.Equal(t, 2, g.Live)
	require.Positive(t, kinds["blobs"])
	require.NotContains(t, kinds, "segments")
	require.NotContains(t, kinds, "heads")
	require.Contains(t, p.ok("gc"), "would delete")
	again, _ := p.gc("--delete")
	require.True(t, again.Deleted)
	require.Equal(t, g.Garbage, again.Garbage)
	_, err = p.store().Blob(t.Context(), orphan.SHA256)
	require.Error(t, err)

	require.Equal(t, before, p.ok("log", a.ID(), "--json"))
	p.ok("ask", "please echo hello", "--agent", a.ID())
	p.ok("ask", "please echo hello", "--agent", b.ID())
	require.Contains(t, p.ok("log", b.ID(), "--json"), "many words many words", "what waited was not lost")
	p.records(a.ID())
	p.records(b.ID())
}

func TestAnAgentIsErased(t *testing.T) {
	p := here(t)
	p.worker()
	a := p.create("a")
	p.ok("ask", "please echo "+strings.Repeat("many words ", 1000), "--agent", a.ID())
	fork := strings.TrimSpace(p.ok("fork", a.ID(), "--as", p.id("fork")))
	inherited := p.ok("log", fork, "--json")
	require.Contains(t, p.fails(6, "erase", a.ID(), "--yes"), "is live")
	p.ok("dispose", a.ID())

	p.age()
	require.Contains(t, p.ok("erase", a.ID()), "nothing was changed")
	require.NotEmpty(t, p.ok("log", a.ID()))
	var e agents.Erased
	require.NoError(t, json.Unmarshal([]byte(p.ok("erase", a.ID(), "--yes", "--json")), &e))
	require.True(t, e.Deleted)
	require.Equal(t, []string{fork}, e.NeededBy)
	require.Contains(t, p.fails(3, "resume", a.ID()), "no such agent")
	require.Equal(t, inherited, p.ok("log", fork, "--json"))
	p.ok("ask", "please echo hello", "--agent", fork)

	p.ok("create", a.ID()) // at once, though the server takes its time to drop the runs of the first life
	p.ok("ask", "please echo a new life", "--agent", a.ID())
	log := p.ok("log", a.ID(), "--json")
	require.Contains(t, log, "a new life")
	require.NotContains(t, log, "many words")
	p.records(a.ID())

	for _, id := range []string{a.ID(), fork} {
		p.ok("dispose", id)
		p.ok("erase", id, "--yes")
	}
	for id, err := range p.store().Sessions(t.Context()) {
		require.NoError(t, err)
		require.Empty(t, id, "nothing is stored")
	}
}

func TestCollectionsWithBadInput(t *testing.T) {
	p := here(t)
	a := p.worked("a")
	for want, args := range map[string][]string{
		"is negative":      {"2", "gc", "--delete", "--grace", "-1h"},
		"invalid argument": {"2", "gc", "--grace", "soon"},
		"too short":        {"6", "gc", "--delete", "--grace", "0s"},
		"no such agent":    {"3", "erase", p.id("nobody"), "--yes"},
		"is live":          {"6", "erase", a.ID(), "--yes"},
		"accepts 1 arg":    {"2", "erase"},
		"not a folder":     {"7", "gc", "--delete", "--store", p.write("file", "")},
	} {
		code := int(args[0][0] - '0')
		require.Contains(t, p.fails(code, args[1:]...), want)
	}
	require.NoError(t, os.RemoveAll(p.path("elsewhere")))
	require.Contains(t, p.ok("gc", "--delete", "--store", p.path("elsewhere")), "nothing")
	require.NotEmpty(t, p.ok("log", a.ID()))
}

// worked is an agent that has worked, of a worker that is there no more.
func (p *place) worked(name string) *agents.Agent {
	p.t.Helper()
	w := p.worker()
	a := p.create(name)
	p.ok("ask", "please echo hello", "--agent", a.ID())
	w.kill()
	return a
}
