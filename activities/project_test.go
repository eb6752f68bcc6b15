package activities

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/store/storetest"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/tools"
	"github.com/everturn/everturn/tools/builtin"
)

// large makes tool t answer with content.
func large(content session.Content, opts ...tools.Option) setting {
	return tool(func(context.Context, anyArgs) (tools.Result, error) { return tools.Result{Content: content}, nil }, opts...)
}

func most(bytes int) setting {
	return define(func(d *plugin.Definition) { d.MaxResultBytes = bytes })
}

func TestALargeResultIsProjected(t *testing.T) { // §9.4, C-179, C-180, C-182
	t.Parallel()
	text := func(n int) session.Content { return session.TextContent(strings.Repeat("0123456789", n/10)) }
	for name, c := range map[string]struct {
		settings []setting
		projects bool
	}{
		"at the threshold":         {[]setting{large(text(1000)), most(1000)}, false},
		"above":                    {[]setting{large(text(1010)), most(1000)}, true},
		"far above":                {[]setting{large(text(500_000)), most(1000)}, true},
		"by default, below":        {[]setting{large(text(50_000))}, false},
		"by default, above":        {[]setting{large(text(50_010))}, true},
		"several blocks":           {[]setting{large(append(text(600), text(600)...)), most(1000)}, true},
		"switched off":             {[]setting{large(text(100_000)), most(-1)}, false},
		"with an image, C-180":     {[]setting{large(append(text(2000), session.Image{Attachment: "x"})), most(1000)}, false},
		"of a tool that reads":     {[]setting{large(text(2000), tools.KeepWhole()), most(1000)}, false},
		"no room for the note":     {[]setting{large(text(2000)), most(50)}, false},
		"replaced by a post gate":  {[]setting{large(text(10)), most(1000), post(decides(plugin.PostDecision{Content: text(2000)}))}, true},
		"blocked by a post gate":   {[]setting{large(text(10)), most(1000), post(decides(plugin.PostDecision{Block: true, Feedback: text(2000).Text()}))}, false},
		"shortened by a post gate": {[]setting{large(text(2000)), most(1000), post(decides(plugin.PostDecision{Value: "short"}))}, false},
		"by its last transform":    {[]setting{large(text(10), tools.WithFinal(func(session.Content) session.Content { return text(2000) })), most(1000)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := called(t, c.settings...)
			out := b.whole()
			if !c.projects {
				require.Nil(t, out.Projection)
				return
			}
			full, shown := b.text(out.Content), b.text(out.Projection)
			limit := b.a.kinds[agent].maxResultBytes()
			require.LessOrEqual(t, len(shown), limit)
			require.Greater(t, len(shown), limit-100)
			head, note, tail := parts(t, shown)
			require.True(t, strings.HasPrefix(full, head))
			require.True(t, strings.HasSuffix(full, tail))
			require.InDelta(t, 4, float64(len(head))/float64(len(tail)), 0.1)
			require.Contains(t, note, fmt.Sprintf("%d of %d bytes are left out", len(full)-len(head)-len(tail), len(full)))
			stored, err := b.store.Blob(t.Context(), note[strings.LastIndex(note, " ")+1:len(note)-1])
			require.NoError(t, err)
			require.Equal(t, full, string(stored))
		})
	}
}

// text is content in full, wherever it is.
func (b *bench) text(c session.Content) string {
	b.t.Helper()
	ref, stored := storedBody(c)
	if !stored {
		return c.Text()
	}
	full, err := b.store.Content(b.t.Context(), ref)
	require.NoError(b.t, err)
	return full.Text()
}

// parts takes a projection apart.
func parts(t *testing.T, shown string) (head, note, tail string) {
	t.Helper()
	head, rest, ok := strings.Cut(shown, "\n\n[")
	require.True(t, ok)
	note, tail, ok = strings.Cut(rest, "]\n\n")
	require.True(t, ok)
	return head, note, tail
}

func TestAProjectionIsCutBetweenCharacters(t *testing.T) {
	t.Parallel()
	for n := range 4 {
		shown := excerpt(strings.Repeat("x", n)+strings.Repeat("€", 100), 150, func(omitted, offset int) string { return fmt.Sprintf("[%d,%d]", omitted, offset) })
		require.NotContains(t, shown, "\uFFFD")
		require.LessOrEqual(t, len(shown), 150)
	}
}

func TestAProjectionSaysHowToReadOn(t *testing.T) { // §9.4.2
	t.Parallel()
	full := strings.Repeat("0123456789", 1000)
	b := called(t, large(session.TextContent(full)), most(1000))
	d := *b.a.kinds[agent].Definition
	reader := builtin.ReadArtifact(b.store)
	d.Tools = append(d.Tools, reader)
	b.use(&d, scripted.Model{})
	head, note, tail := parts(t, b.whole().Projection.Text())
	_, args, _ := strings.Cut(note, "Read on with read_artifact ")
	rest, err := reader.Invoke(t.Context(), strings.TrimSuffix(args, "."))
	require.NoError(t, err)
	require.Equal(t, full[len(head):], rest.Content.Text())
	require.True(t, strings.HasSuffix(rest.Content.Text(), tail))
}

func TestAStoreThatFailsCostsOnlyTheProjection(t *testing.T) { // C-181
	t.Parallel()
	for _, n := range []int{2000, 60_000} {
		b := called(t, most(1000), large(session.TextContent(strings.Repeat("x", n))))
		b.faults.Fail(storetest.Match{Op: storetest.Create, Prefix: "blobs/"}, errors.New("disk full"), storetest.Always)
		out := b.whole()
		require.False(t, out.IsError)
		require.Nil(t, out.Projection)
		require.Len(t, out.Content.Text(), n)
	}
	b := called(t, large(session.TextContent(strings.Repeat("x", inlineAtWorst))))
	b.faults.Fail(storetest.Match{Op: storetest.Create, Prefix: "blobs/"}, errors.New("disk full"), storetest.Always)
	_, err := b.a.Tool(b.ctx, b.staged("", nil))
	require.ErrorContains(t, err, "disk full") // it cannot travel
}

func TestTheModelIsShownTheProjection(t *testing.T) { // §9.4.3, C-179, C-182
	t.Parallel()
	full := strings.Repeat("0123456789", 10_000)
	b := newBench(t, script("tool c1 t {}\n"+answers), large(session.TextContent(full)))
	b.say("a")
	out := b.next()
	b.answer(out.Calls[0])
	require.Equal(t, "TS1 IS-(next-turn:1) SS1.1 UM(a) RH(initial) RC CH×4 AM TC(c1) TR(c1) TR(c1)~ SE", b.own())
	in := b.in()
	in.Owed = true
	b.run(in)
	require.Equal(t, "TS1 IS-(next-turn:1) SS1.1 UM(a) RH(initial) RC CH×4 AM TC(c1) TR(c1) TR(c1)~ SE SS1.2 CH×4 AM", b.own()) // no series
	results := events[session.ToolResult](b)
	require.Equal(t, full, results[0].Message.Content[0].(session.ToolResultBlock).Content.Text())
	shown := b.requests()[1].Messages[2].Content[0].(session.ToolResultBlock).Content.Text()
	require.LessOrEqual(t, len(shown), plugin.DefaultMaxResultBytes)
	require.Equal(t, shown, results[1].Message.Content[0].(session.ToolResultBlock).Content.Text())
	b.reconstructed()
}
