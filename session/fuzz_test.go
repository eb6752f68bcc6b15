package session

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Any byte string is an error or a record that writing and reading leave as it is.
func FuzzRecord(f *testing.F) {
	for i, e := range everyEvent() {
		r := NewRecord(1000, e)
		r.Seq, r.Ignorable = int64(i), true
		line, err := json.Marshal(r)
		require.NoError(f, err)
		f.Add(line)
	}
	for _, line := range nastyLines() {
		f.Add([]byte(line))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		var first, second Record
		if json.Unmarshal(line, &first) != nil {
			return
		}
		written, err := json.Marshal(first)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(written, &second))
		require.Equal(t, first, second)
		again, err := json.Marshal(second)
		require.NoError(t, err)
		require.Equal(t, string(written), string(again))
		_ = NewState().Apply(first)
		requireTypedFormReadsBack(t, first)
	})
}

// nastyLines are records at the edge of what JSON, Go and the spec agree on.
func nastyLines() []string {
	wrap := func(data string) string {
		return `{"seq":0,"time":1,"type":"user/message","surfaceOp":"append","data":` + data + `}`
	}
	deep := strings.Repeat("[", 5000) + strings.Repeat("]", 5000)
	results := strings.Repeat(`{"type":"tool-result","toolCallId":"c","content":[`, 3000) + strings.Repeat("]}", 3000)
	return []string{
		wrap(`{"id":"\ud800","role":"user","content":[],"source":{"kind":"user"}}`),
		wrap(`{"id":"a","ID":"b","role":"user","content":null,"source":null}`),
		wrap(`{"id":"a","role":"user","content":[{"type":"text","text":"a","TEXT":"b","type":"text"}]}`),
		wrap(`{"id":"a","role":"user","content":[{"type":"text","text":"<>&\u2028"}],"x":` + deep + `}`),
		wrap(`{"id":"a","role":"user","content":[` + results + `]}`),
		wrap(`{"id":"a","x":[-0,1e400,123456789012345678901234567890,1.0,1E5]}`),
		`{"seq":9223372036854775807,"time":-9223372036854775808,"type":"turn/start","data":{"turn":9223372036854775807}}`,
		`{"seq":9223372036854775808,"time":0,"type":"turn/start","data":{"turn":1}}`,
		`{"SEQ":0,"Time":0,"TYPE":"turn/start","dAtA":{"Turn":1},"sourceEventSeqs":[null]}`,
	}
}

// requireTypedFormReadsBack: an event that the rules accept is written from its fields alone without loss.
func requireTypedFormReadsBack(t *testing.T, r Record) {
	if checkLossless(r.Event) != nil {
		return
	}
	r.data = nil
	written, err := json.Marshal(r)
	if err != nil {
		return
	}
	var second Record
	require.NoError(t, json.Unmarshal(written, &second), "%s", written)
	second.data = nil
	again, err := json.Marshal(second)
	require.NoError(t, err)
	require.Equal(t, string(written), string(again))
}

// Any byte string is an error or a log that writing and reading leave as it is. One that keeps the rules folds the same
// in one go and through clones, and repair balances it.
func FuzzLog(f *testing.F) {
	for _, script := range []string{goldenTurn1 + " " + goldenTurn2, long, "IS+(next-turn:a) ISr(next-turn:a→b) ISx(next-turn:1) ES",
		"UM(a) UM(b) UM(c) UM~1-1(s) UM~0-3(s2)", opened + " AM[c1,c2] TC(c1) TR(c1) TR~4-4(c1) CH×2 AA"} {
		f.Add(encodeLog(f, newScribe(f, script).log.Records()))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		records, err := ParseLog(data)
		if err != nil {
			return
		}
		written := encodeLog(t, records)
		again, err := ParseLog(written)
		require.NoError(t, err)
		require.Equal(t, records, again)
		require.Equal(t, string(written), string(encodeLog(t, again)))
		Trace(records, nil)
		_, _ = ForkBoundary(records, int64(len(records)), LastEvent)
		if whole, err := Fold(0, records); err == nil {
			requireSoundState(t, whole, records)
		}
	})
}

func requireSoundState(t *testing.T, whole *State, records []Record) {
	s := NewState()
	for i, r := range records {
		before := s
		s = s.Clone()
		require.NoError(t, s.Apply(r))
		require.EqualValues(t, i, before.Count())
	}
	require.Equal(t, snapshot(whole), snapshot(s))
	for _, r := range Repair(s) {
		require.NoError(t, s.Apply(r))
	}
	_, turnOpen := s.Turn()
	_, stepOpen := s.Step()
	require.False(t, turnOpen || stepOpen)
	for _, e := range s.Inbox().Clear() {
		r := NewRecord(1, e)
		r.Seq = s.Count()
		require.NoError(t, s.Apply(r))
	}
	require.True(t, s.Inbox().Empty())
}

// menu is what [FuzzRules] draws from; {t} and {s} stand for the next turn and step, {p} and
// {q} for surface nodes.
var menu = []string{"TS{t}", "SS{t}.{s}", "SE", "TE(completed)", "TE(error X)", "TE(aborted user)", "UM(u)", "SYS(p)", "SYS()",
	"RH(initial)", "RC", "CH×1", "AM", "AM∅", "AM[c1,c2]", "AA", "TC(c1)", "TC(c2)", "TR(c1)", "TR!(c2,TOOL_NOT_STARTED)",
	"IS+(next-turn:a)", "IS+(next-step:b)", "IS-(next-turn:1)", "IS-(next-step:1)", "ISx(next-turn:1)", "ISr(next-turn:a→b)",
	"UM~{p}-{p}(s)", "UM~{p}-{q}(s)", "TR~{p}-{p}(c1)", "SYS~{p}-{p}()", "ES", "TS9", "SS1.9", "IS-(next-turn:3)", "UM~7-7(s)"}

// dish makes a script entry of a menu entry; pick chooses surface nodes.
func dish(s *State, entry string, pick byte) string {
	turn, _ := s.Turn()
	step, _ := s.Step()
	p, q := int64(0), int64(0)
	if nodes := s.Surface(); len(nodes) > 0 {
		i := int(pick) % len(nodes)
		p, q = nodes[i].Seq, nodes[min(len(nodes)-1, i+1+int(pick)/64)].Seq
	}
	next := turn
	if entry == "TS{t}" {
		next++
	}
	return strings.NewReplacer("{t}", fmt.Sprint(next), "{s}", fmt.Sprint(step+1), "{p}", fmt.Sprint(p), "{q}", fmt.Sprint(q)).
		Replace(entry)
}

// Any sequence of events, sensible or not, leaves the state sound: a refusal changes nothing, clones agree, history is
// the plain projection of the surface, repair balances. Two bytes are one event.
func FuzzRules(f *testing.F) {
	f.Add([]byte{20, 0, 0, 0, 22, 0, 1, 0, 6, 0, 9, 0, 11, 0, 14, 0, 16, 0, 18, 0, 28, 2, 2, 0, 3, 0})
	f.Add([]byte{6, 0, 6, 0, 6, 0, 27, 1, 26, 0, 30, 0, 26, 0, 0, 0, 1, 0, 12, 0, 27, 200})
	f.Add([]byte{20, 0, 21, 0, 25, 0, 24, 0, 21, 0, 23, 0, 30, 0, 0, 0, 3, 0, 0, 0, 4, 0})
	f.Fuzz(func(t *testing.T, data []byte) {
		s := newScribe(t)
		for i := 0; i+1 < min(len(data), 200); i += 2 {
			state := s.log.State()
			before := snapshot(state)
			entry := dish(state, menu[int(data[i])%len(menu)], data[i+1])
			if s.try(entry) != nil {
				require.Equal(t, before, snapshot(state), entry)
			}
		}
		requireSoundState(t, s.log.State(), s.log.Records())
		back, err := ParseLog(encodeLog(t, s.log.Records()))
		require.NoError(t, err)
		_, err = Fold(0, back)
		require.NoError(t, err)
	})
}

// Any list of chunks assembles into a message that the log accepts and that reads back.
func FuzzAssembler(f *testing.F) {
	var all []json.RawMessage
	for _, c := range everyChunk() {
		raw, err := MarshalChunk(c)
		require.NoError(f, err)
		all = append(all, raw)
		one, err := json.Marshal([]json.RawMessage{raw, raw})
		require.NoError(f, err)
		f.Add(one)
	}
	whole, err := json.Marshal(all)
	require.NoError(f, err)
	f.Add(whole)
	f.Fuzz(func(t *testing.T, data []byte) {
		var raws []json.RawMessage
		if json.Unmarshal(data, &raws) != nil {
			return
		}
		a := &Assembler{}
		for _, raw := range raws {
			c, err := UnmarshalChunk(raw)
			if err != nil {
				return
			}
			requireChunkReadsBack(t, c)
			a.Add(c)
		}
		requireSoundMessage(t, a)
	})
}

func requireChunkReadsBack(t *testing.T, c Chunk) {
	written, err := MarshalChunk(c)
	require.NoError(t, err)
	second, err := UnmarshalChunk(written)
	require.NoError(t, err, "%s", written)
	again, err := MarshalChunk(second)
	require.NoError(t, err)
	require.Equal(t, string(written), string(again))
}

func requireSoundMessage(t *testing.T, a *Assembler) {
	content, replay := a.Message()
	used := make(map[string]bool)
	for _, c := range content.ToolCalls() {
		require.True(t, ValidID(c.ID) && !used[c.ID], "%q", c.ID)
		used[c.ID] = true
	}
	require.False(t, a.Reason().Kind == FinishMaxTokens && len(used) > 0)
	if replay != nil {
		require.Len(t, replay.Blocks, len(content))
	}
	for _, b := range a.VisiblePrefix() {
		require.Contains(t, []string{"text", "reasoning"}, b.BlockType())
	}
	m := Message{ID: "m", Role: RoleAssistant, Content: content, Source: Source{Kind: SourceModel, Replay: replay}}
	s, err := Fold(0, newScribe(t, opened).log.Records())
	require.NoError(t, err)
	r := NewRecord(1, AssistantMessage{Turn: 1, Step: 1, Message: m})
	r.Seq = s.Count()
	require.NoError(t, s.Apply(r))
	require.NotEmpty(t, encodeLog(t, []Record{r}))
}
