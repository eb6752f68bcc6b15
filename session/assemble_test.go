package session

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func assemble(chunks ...Chunk) *Assembler {
	a := &Assembler{}
	for _, c := range chunks {
		a.Add(c)
	}
	return a
}

func text(i int, s string) Chunk    { return TextDelta{Index: i, Text: s} }
func thought(i int, s string) Chunk { return ReasoningDelta{Index: i, Text: s} }
func finish(k FinishKind) Chunk     { return Finish{Reason: FinishReason{Kind: k}} }
func toolCall(i int, id, name, args string) Chunk {
	return ToolCallDelta{Index: i, ID: id, Name: name, ArgumentsDelta: args}
}

// See spec §2.3; C-120 to C-124.
func TestAssemblyOfANormalStream(t *testing.T) {
	t.Parallel()
	overlong := strings.Repeat("x", 199)
	for _, c := range []struct {
		name   string
		chunks []Chunk
		want   Content
	}{
		{"only a finish (C-120)", []Chunk{finish(FinishStop)}, Content{}},
		{"no chunk at all (C-121)", nil, Content{}},
		{"deltas accumulate", []Chunk{text(0, "a"), text(0, "b"), finish(FinishStop)}, Content{Text{Text: "ab"}}},
		{"a missing finish counts as stop", []Chunk{toolCall(0, "c1", "echo", "{}")}, Content{ToolCallBlock{ID: "c1", Name: "echo", Arguments: "{}"}}},
		{"blocks appear in order of first sight", []Chunk{text(5, "a"), thought(2, "b"), text(5, "c")}, Content{Text{Text: "ac"}, Reasoning{Text: "b"}}},
		{"an announced block keeps its place", []Chunk{BlockStart{Index: 1, BlockType: "reasoning"}, text(0, "a"), thought(1, "b")}, Content{Reasoning{Text: "b"}, Text{Text: "a"}}},
		{"a block end is authoritative", []Chunk{text(0, "draft"), BlockEnd{Index: 0, Block: Text{Text: "final"}}, text(0, " more"), BlockEnd{Index: 0, Block: Text{Text: "again"}}}, Content{Text{Text: "final"}}},
		{"a block end without a start", []Chunk{BlockEnd{Index: 3, Block: Image{Attachment: "abc"}}}, Content{Image{Attachment: "abc"}}},
		{"a tool call in pieces", []Chunk{toolCall(0, "c1", "echo", `{"a":`), toolCall(0, "c1", "", "1}")}, Content{ToolCallBlock{ID: "c1", Name: "echo", Arguments: `{"a":1}`}}},
		{"a tool call without id and name", []Chunk{toolCall(4, "", "", "{}")}, Content{ToolCallBlock{ID: "call-4", Arguments: "{}"}}},
		{"a call id used twice", []Chunk{toolCall(0, "c", "x", ""), toolCall(1, "c", "y", "")}, Content{ToolCallBlock{ID: "c", Name: "x"}, ToolCallBlock{ID: "c-1", Name: "y"}}},
		{"a call id used twice, closed", []Chunk{BlockEnd{Index: 0, Block: ToolCallBlock{ID: "c"}}, BlockEnd{Index: 7, Block: ToolCallBlock{ID: "c"}}}, Content{ToolCallBlock{ID: "c"}, ToolCallBlock{ID: "c-7"}}},
		{"a call id whose longer form is used too", []Chunk{toolCall(0, "c-2", "", ""), toolCall(1, "c", "", ""), toolCall(2, "c", "", "")}, Content{ToolCallBlock{ID: "c-2"}, ToolCallBlock{ID: "c"}, ToolCallBlock{ID: "c-2-2"}}},
		{"a call id that cannot grow", []Chunk{toolCall(0, overlong, "", ""), toolCall(1, overlong, "", "")}, Content{ToolCallBlock{ID: overlong}, ToolCallBlock{ID: "call-1-1"}}},
		{"a call id the log would refuse", []Chunk{toolCall(3, "a\nb", "x", "")}, Content{ToolCallBlock{ID: "call-3", Name: "x"}}},
		{"an open block of an unknown type", []Chunk{BlockStart{Index: 0, BlockType: "smell"}, text(0, "x"), text(1, "a")}, Content{Text{Text: "a"}}},
		{"deltas after the finish", []Chunk{text(0, "a"), finish(FinishStop), text(0, "b"), finish(FinishMaxTokens)}, Content{Text{Text: "a"}}},
		{"text, then the ceiling (C-122)", []Chunk{text(0, "a"), finish(FinishMaxTokens)}, Content{Text{Text: "a"}}},
		{"a tool call, then the ceiling (C-123)", []Chunk{toolCall(0, "c1", "echo", "{}"), finish(FinishMaxTokens)}, Content{}},
		{"text and half a tool call, then the ceiling (C-124)", []Chunk{text(0, "a"), toolCall(1, "c1", "echo", `{"a`), finish(FinishMaxTokens)}, Content{Text{Text: "a"}}},
		{"a closed tool call, then the ceiling", []Chunk{BlockEnd{Index: 0, Block: ToolCallBlock{ID: "c1"}}, finish(FinishMaxTokens)}, Content{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			a := assemble(c.chunks...)
			got, replay := a.Message()
			require.Equal(t, c.want, got)
			require.Nil(t, replay)
			require.Equal(t, len(c.chunks), a.Chunks())
			again, _ := a.Message()
			require.Equal(t, got, again)
		})
	}
}

func TestReplayMetadataFollowsTheBlocksThatStay(t *testing.T) {
	t.Parallel()
	entry := func(s string) json.RawMessage { return json.RawMessage(s) }
	mixed := []Chunk{thought(0, "t"), toolCall(1, "c1", "x", ""), text(2, "a")}
	for _, c := range []struct {
		name    string
		kind    FinishKind
		entries []json.RawMessage
		want    *ReplayState
	}{
		{"a normal finish keeps all", FinishToolCalls, []json.RawMessage{entry("1"), entry("2"), entry("3")}, &ReplayState{Blocks: []json.RawMessage{entry("1"), entry("2"), entry("3")}}},
		{"the ceiling prunes those of tool calls", FinishMaxTokens, []json.RawMessage{entry("1"), entry("2"), entry("3")}, &ReplayState{Blocks: []json.RawMessage{entry("1"), entry("3")}}},
		{"too few entries are discarded", FinishMaxTokens, []json.RawMessage{entry("1")}, nil},
		{"too many entries are discarded", FinishStop, []json.RawMessage{entry("1"), entry("2"), entry("3"), entry("4")}, nil},
	} {
		f := Finish{Reason: FinishReason{Kind: c.kind}, Replay: &ReplayState{Blocks: c.entries}}
		_, got := assemble(append(mixed[:len(mixed):len(mixed)], f)...).Message()
		require.Equal(t, c.want, got, c.name)
	}
}

func TestUsageAndFinish(t *testing.T) {
	t.Parallel()
	a := assemble()
	require.Nil(t, a.Finish())
	require.Nil(t, a.Usage())
	require.Equal(t, FinishStop, a.Reason().Kind)
	a.Add(UsageChunk{Usage{InputTokens: 1}})
	a.Add(Finish{Reason: FinishReason{Kind: FinishError, Failure: failure()}})
	a.Add(UsageChunk{Usage{InputTokens: 2}})
	require.Equal(t, &Usage{InputTokens: 2}, a.Usage(), "the last one wins")
	require.Equal(t, FinishError, a.Finish().Reason.Kind)
	require.Equal(t, "RATE_LIMIT", a.Reason().Failure.Code)
}

// See spec §2.3; C-222 to C-225.
func TestVisiblePrefixOfACutStream(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		chunks []Chunk
		want   Content
	}{
		{"nothing", nil, Content{}},
		{"white space", []Chunk{text(0, " \n\t"), thought(1, " ")}, Content{}},
		{"open text", []Chunk{text(0, "a")}, Content{Text{Text: "a"}}},
		{"open reasoning", []Chunk{thought(0, "a")}, Content{Reasoning{Text: "a"}}},
		{"closed text and half a tool call", []Chunk{BlockEnd{Index: 0, Block: Text{Text: "a "}}, toolCall(1, "c1", "x", `{"`)}, Content{Text{Text: "a "}}},
		{"a closed tool call", []Chunk{BlockEnd{Index: 0, Block: ToolCallBlock{ID: "c1"}}}, Content{}},
		{"an unknown block and an image", []Chunk{BlockStart{Index: 0, BlockType: "smell"}, BlockEnd{Index: 1, Block: Image{Attachment: "a"}}}, Content{}},
	} {
		require.Equal(t, c.want, assemble(c.chunks...).VisiblePrefix(), c.name)
	}
}

// C-009
func TestTextDeltasAddUpToTheTextOfTheMessage(t *testing.T) {
	t.Parallel()
	a, want := assemble(), ""
	for _, piece := range []string{"你", "好", " ", "<x>", ""} {
		a.Add(text(0, piece))
		want += piece
	}
	c, _ := a.Message()
	require.Equal(t, want, c.Text())
}
