package session

import (
	"encoding/json"
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
		_, _ = ForkBoundary(records, LastEvent)
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
