package store

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/session"
)

func TestEscape(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]string{
		"plain-1_x": "plain-1_x",
		"Aa":        "=41a",
		"a/b.c":     "a=2fb=2ec",
		"..":        "=2e=2e",
		"=h":        "=3dh",
		"你":         "=e4=bd=a0",
	} {
		require.Equal(t, want, escape(id))
	}
	long := strings.Repeat("A", 200)
	require.True(t, strings.HasPrefix(escape(long), "=h"))
	_, ok := unescape(escape(long))
	require.False(t, ok)
}

func FuzzEscape(f *testing.F) {
	for _, id := range []string{"", "a", "A/b", "=41", "=h00", "\x00\xff", strings.Repeat("x", 201)} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		part := escape(id)
		if id != "" {
			require.NoError(t, checkKey(part))
		}
		require.Equal(t, strings.ToLower(part), part)
		if back, ok := unescape(part); ok {
			require.Equal(t, id, back)
		} else {
			require.Greater(t, len(id)*3, maxPart)
		}
	})
}

func TestPackSeqs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		seqs []int64
		runs [][2]int64
	}{
		{[]int64{}, [][2]int64{}},
		{[]int64{3}, [][2]int64{{3, 3}}},
		{[]int64{3, 4, 5, 9}, [][2]int64{{3, 5}, {9, 9}}},
		{[]int64{5, 4, 3, 3}, [][2]int64{{5, 5}, {4, 4}, {3, 3}, {3, 3}}},
	} {
		require.Equal(t, c.runs, packSeqs(c.seqs))
		back, err := unpackSeqs(c.runs)
		require.NoError(t, err)
		require.Equal(t, c.seqs, back)
	}
	for _, bad := range [][][2]int64{{{-1, 2}}, {{3, 2}}, {{0, 1 << 40}}, {{0, 1 << 25}, {0, 1 << 25}}} {
		_, err := unpackSeqs(bad)
		require.Error(t, err)
	}
}

// answered is the smallest log with a chunk between facts.
func answered() []session.Record {
	records := []session.Record{
		session.NewRecord(1, session.TurnStart{Turn: 1}),
		session.NewRecord(2, session.StepStart{Turn: 1, Step: 1}),
		session.NewRecord(3, session.AssistantChunk{Turn: 1, Step: 1, Chunk: session.TextDelta{Text: "hi"}}),
		session.NewRecord(4, session.AssistantAttempt{Turn: 1, Step: 1, ChunkSeqs: []int64{2}}),
	}
	for i := range records {
		records[i].Seq = int64(i)
	}
	return records
}

func TestSegmentDeclarationsAreVerified(t *testing.T) {
	t.Parallel()
	records := answered()
	for name, change := range map[string]func(*segment){
		"too few facts":       func(s *segment) { s.Count, s.Chunks = 5, 1 },
		"too many facts":      func(s *segment) { s.Chunks = 2 },
		"another first":       func(s *segment) { s.First = 1 },
		"frames exchanged":    func(s *segment) { s.facts, s.chunks = s.chunks, s.facts },
		"facts cut off":       func(s *segment) { s.facts = s.facts[:len(s.facts)-3] },
		"no frame":            func(s *segment) { s.facts = nil },
		"chunks are no chunk": func(s *segment) { s.chunks = compress([]byte("{}\n")) },
	} {
		data, err := encodeSegment(segmentHead{Session: "s"}, records)
		require.NoError(t, err)
		s, err := decodeSegment(data)
		require.NoError(t, err)
		all, err := s.readAll()
		require.NoError(t, err)
		require.Len(t, all, len(records))
		change(s)
		_, err = s.readAll()
		require.Error(t, err, name)
	}
}

func TestUnknownEventIsNoDamage(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), "mem://", Options{})
	require.NoError(t, err)
	info := segmentHead{Session: "s", Count: 1}
	frame := compress([]byte(`{"seq":0,"time":1,"type":"future/event","data":{}}` + "\n"))
	info.FactBytes = len(frame)
	line, err := json.Marshal(info)
	require.NoError(t, err)
	data := bytes.Join([][]byte{[]byte(segmentMagic), line, []byte("\n"), frame}, nil)
	for _, data := range [][]byte{data, []byte("everturn segment 2\n")} {
		head := Head{Hash: hashOf(data), Count: 1}
		require.NoError(t, s.objects.Create(t.Context(), contentKey("segments", head.Hash), data))
		_, err = s.State(t.Context(), "s", head)
		require.ErrorContains(t, err, "another version")
		var corrupt *CorruptError
		require.NotErrorAs(t, err, &corrupt)
	}
}

func FuzzDecodeSegment(f *testing.F) {
	data, err := encodeSegment(segmentHead{Session: "s"}, answered())
	require.NoError(f, err)
	f.Add(data)
	f.Add([]byte(segmentMagic + "{}\n"))
	f.Add([]byte(segmentMagic))
	f.Fuzz(func(_ *testing.T, data []byte) {
		if s, err := decodeSegment(data); err == nil {
			_, _ = s.readAll()
			_, _ = s.readForFold(s.end())
		}
	})
}

func TestFoldDoesNotDecompressChunks(t *testing.T) {
	t.Parallel()
	data, err := encodeSegment(segmentHead{Session: "s"}, answered())
	require.NoError(t, err)
	s, err := decodeSegment(data)
	require.NoError(t, err)
	s.chunks = []byte("unreadable")
	got, err := s.readForFold(4)
	require.NoError(t, err)
	require.Len(t, got, 3)
	_, err = s.readForFold(3) // ends with the chunk, whose time counts
	require.Error(t, err)
}

func TestFoldCacheIsBounded(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), "mem://", Options{CachedFolds: 6})
	require.NoError(t, err)
	for i, id := range []string{"a", "b", "c"} {
		head := Head{}
		for seq, r := range answered() {
			r.Time += int64(i)
			head, err = s.Append(t.Context(), id, 0, head, []session.Record{r})
			require.NoError(t, err)
			require.EqualValues(t, seq+1, head.Count)
		}
	}
	require.Equal(t, 6, s.folds.len())
	for _, id := range []string{"x", "y"} {
		var head Head
		for turn := range 20 {
			r := session.NewRecord(int64(turn), session.Feature{Kind: "session/title"})
			r.Seq = head.Count
			head, err = s.Append(t.Context(), id, 0, head, []session.Record{r})
			require.NoError(t, err)
		}
	}
	own := 0
	s.folds.trim(100, func(f fold) bool { own++; return f.session == "y" })
	require.Equal(t, 6, own)
}

func TestOpenSweepsOldTemporaryFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := Open(t.Context(), dir, Options{})
	require.NoError(t, err)
	old, fresh := filepath.Join(dir, tempFolder, "w1"), filepath.Join(dir, tempFolder, "w2")
	require.NoError(t, os.WriteFile(old, nil, 0o600))
	require.NoError(t, os.WriteFile(fresh, nil, 0o600))
	yesterday := time.Now().Add(-24 * time.Hour)
	require.NoError(t, os.Chtimes(old, yesterday, yesterday))
	_, err = Open(t.Context(), dir, Options{})
	require.NoError(t, err)
	require.NoFileExists(t, old)
	require.FileExists(t, fresh)
}

func TestFolderMadeAgainIsFlushedAgain(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	dir := filepath.Join(root, "a", "b")
	require.NoError(t, os.MkdirAll(dir, 0o700))
	var d durableDirs
	require.NoError(t, d.sync(root, dir))
	require.Len(t, d.known, 2)
	info, err := os.Stat(dir)
	require.NoError(t, err)
	require.True(t, d.isKnown(dir, info))
	aside := dir + "-aside" // so that the new folder is not given the old one's identity
	require.NoError(t, os.Rename(dir, aside))
	require.NoError(t, os.Mkdir(dir, 0o700))
	info, err = os.Stat(dir)
	require.NoError(t, err)
	require.False(t, d.isKnown(dir, info))
	require.NoError(t, d.sync(root, dir))
	require.True(t, d.isKnown(dir, info))
}
