package session

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// seqs lists the surface by seq.
func seqs(s *State) []int64 {
	var out []int64
	for _, r := range s.Surface() {
		out = append(out, r.Seq)
	}
	return out
}

// C-334
func TestReplacementsKeepTheOrderOfTheSurface(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, script string
		want         []int64
	}{
		{"a single node", "UM(a) UM(b) UM(c) UM~1-1(s)", []int64{0, 3, 2}},
		{"a middle span", "UM(a) UM(b) UM(c) UM(d) UM~1-2(s)", []int64{0, 4, 3}},
		{"the whole surface", "UM(a) UM(b) UM~0-1(s)", []int64{2}},
		{"an earlier summary inside a span", "UM(a) UM(b) UM(c) UM~1-1(s) UM~0-3(s2)", []int64{4, 2}},
		{"a span whose start is numerically larger than its end", "UM(a) UM(b) UM(c) UM~0-0(s) UM~3-1(s2)", []int64{4, 2}},
		{"an append after a replacement", "UM(a) UM~0-0(s) UM(b)", []int64{1, 2}},
		{"a projected tool result", opened + " TC(c1) TR(c1) TR~3-3(c1) SE", []int64{4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newScribe(t, c.script)
			require.Equal(t, c.want, seqs(s.log.State()))
			require.Len(t, s.log.State().Messages(), len(c.want))
		})
	}
}

// C-332
func TestAReplacementCitesEveryShadowedNodeAndMayCiteMore(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sources []int64
		ok      bool
	}{{nil, false}, {[]int64{0}, false}, {[]int64{1}, false}, {[]int64{1, 0}, true}, {[]int64{0, 1, 2}, true}} {
		log := newScribe(t, "UM(a) UM(b) UM(c)").log
		r := NewRecord(1, UserMessage{user("s")})
		r.Surface, r.Sources = ReplaceOp(0, 1), c.sources
		_, err := log.Append(r)
		if c.ok {
			require.NoError(t, err)
			continue
		}
		requireRule(t, err, RuleReplaceUncited)
		require.Equal(t, []int64{0, 1, 2}, seqs(log.State()), "the surface is unchanged")
	}
}

// C-333; spec §9.4.5.
func TestAReplacedResultMayChangeItsContentOnly(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*ToolResult, *ToolResultBlock){
		"content":    func(_ *ToolResult, b *ToolResultBlock) { b.Content = TextContent("preview") },
		"turn":       func(r *ToolResult, _ *ToolResultBlock) { r.Turn = 2 },
		"step":       func(r *ToolResult, _ *ToolResultBlock) { r.Step = 2 },
		"message id": func(r *ToolResult, _ *ToolResultBlock) { r.Message.ID = "other" },
		"source":     func(r *ToolResult, _ *ToolResultBlock) { r.Message.Source.CallID = "other" },
		"call":       func(_ *ToolResult, b *ToolResultBlock) { b.ToolCallID = "other" },
		"error mark": func(_ *ToolResult, b *ToolResultBlock) { b.IsError = false },
		"code":       func(r *ToolResult, _ *ToolResultBlock) { r.Error = &CodedError{Code: "other"} },
		"meta":       func(r *ToolResult, _ *ToolResultBlock) { r.Meta = json.RawMessage("2") },
	} {
		log := newScribe(t, opened, "TC(c1)").log
		block := ToolResultBlock{ToolCallID: "c1", Content: TextContent("long"), IsError: true}
		result := ToolResult{Turn: 1, Step: 1, Error: &CodedError{Code: "X"}, Meta: json.RawMessage("1"),
			Message: Message{ID: "r", Role: RoleUser, Content: Content{block}, Source: Source{Kind: SourceTool, CallID: "c1"}}}
		_, err := log.Append(NewRecord(1, result))
		require.NoError(t, err)
		change(&result, &block)
		result.Message.Content = Content{block}
		r := NewRecord(1, result, 3)
		r.Surface = ReplaceOp(3, 3)
		if _, err = log.Append(r); name == "content" {
			require.NoError(t, err)
			continue
		}
		requireRule(t, err, RuleReplaceResult)
	}
}

// plainSurface is the surface as a list, the obvious way.
type plainSurface []int64

func (p plainSurface) replace(seq, start, end int64) plainSurface {
	i, j := slices.Index(p, start), slices.Index(p, end)
	return slices.Replace(slices.Clone(p), i, j+1, seq)
}

// The model is a plain list; clones taken on the way must stay as they were.
func TestTheSurfaceBehavesLikeAPlainListUnderRandomReplacements(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		rnd := rand.New(rand.NewPCG(seed, 1))
		s, model := newScribe(t), plainSurface{}
		type copied struct {
			state *State
			want  plainSurface
		}
		var copies []copied
		for range 400 {
			seq := s.log.State().Count()
			if n := len(model); n > 0 && rnd.IntN(3) > 0 {
				i := rnd.IntN(n)
				j := min(n-1, i+rnd.IntN(3))
				r := NewRecord(1, UserMessage{user("s")})
				s.over(&r, spanOf(model[i], model[j]))
				_, err := s.log.Append(r)
				require.NoError(t, err, "seed %d", seed)
				model = model.replace(seq, model[i], model[j])
			} else {
				s.write("UM(a)")
				model = append(slices.Clone(model), seq)
			}
			if rnd.IntN(20) == 0 {
				copies = append(copies, copied{s.log.State().Clone(), model})
			}
			require.Equal(t, []int64(model), seqs(s.log.State()), "seed %d", seed)
		}
		for _, c := range copies {
			require.Equal(t, []int64(c.want), seqs(c.state), "seed %d", seed)
			require.NoError(t, c.state.Apply(um(c.state)), "seed %d", seed)
			require.Equal(t, append([]int64(c.want), c.state.Count()-1), seqs(c.state), "seed %d", seed)
		}
		require.Equal(t, []int64(model), seqs(s.log.State()), "seed %d", seed)
	}
}

func um(s *State) Record {
	r := NewRecord(1, UserMessage{user("u")})
	r.Seq = s.Count()
	return r
}

func TestDeadNodesAreSwept(t *testing.T) {
	t.Parallel()
	s := newScribe(t, "UM(a)")
	for i := range int64(1000) {
		s.write("UM" + spanOf(i, i) + "(b)")
	}
	require.Less(t, len(s.log.State().surface.nodes), 200)
	require.Equal(t, []int64{1000}, seqs(s.log.State()))
}
