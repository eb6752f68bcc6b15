package builtin_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/tools"
	"github.com/everturn/everturn/tools/builtin"
)

// A room is a workspace with something secret beside it.
type room struct {
	dir, outside      string
	list, read, write *tools.Tool
}

const secret = "the secret"

func newRoom(t *testing.T) room {
	t.Helper()
	base := t.TempDir()
	r := room{dir: filepath.Join(base, "workspace"), outside: filepath.Join(base, "outside")}
	require.NoError(t, os.Mkdir(r.dir, 0o755))
	require.NoError(t, os.Mkdir(r.outside, 0o755))
	put(t, r.outside, "secret.txt", secret)
	r.list = tools.Must(builtin.ListFiles(r.dir))
	r.read = tools.Must(builtin.ReadFile(r.dir))
	r.write = tools.Must(builtin.WriteFile(r.dir))
	return r
}

func put(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
}

func link(t *testing.T, target, dir, name string) {
	t.Helper()
	require.NoError(t, os.Symlink(target, filepath.Join(dir, name)))
}

func args(pairs ...any) string {
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	raw, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func TestTraitsOfTheFileTools(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	require.Equal(t, []tools.Effect{tools.Pure, tools.Pure, tools.Keyed}, []tools.Effect{r.list.Effect, r.read.Effect, r.write.Effect})
	require.True(t, r.list.ParallelWith(`{}`))
	require.True(t, r.read.ParallelWith(`{"path":"a"}`))
	require.False(t, r.write.ParallelWith(`{"path":"a","content":""}`))
}

func TestListFiles(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	require.Equal(t, "(empty folder)", text(t, r.list, ""))
	put(t, r.dir, "b.txt", "12345")
	put(t, r.dir, "a/inner.txt", "")
	put(t, r.dir, ".everturn-HALFWRITTEN", "x")
	link(t, "b.txt", r.dir, "c")
	require.Equal(t, "a/\nb.txt 5 bytes\nc@\n", text(t, r.list, "{}"))
	require.Equal(t, "inner.txt 0 bytes\n", text(t, r.list, `{"path":"a"}`))
	require.Equal(t, "inner.txt 0 bytes\n", text(t, r.list, `{"path":"./a/../a/"}`))
	_, err := r.list.Invoke(t.Context(), `{"path":"b.txt"}`)
	requireCode(t, err, builtin.WrongKind)
	_, err = r.list.Invoke(t.Context(), `{"path":"none"}`)
	requireCode(t, err, builtin.NotFound)
}

func TestListFilesIsLimited(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	for i := range 1005 {
		put(t, r.dir, fmt.Sprintf("%04d", i), "")
	}
	listing := text(t, r.list, "")
	require.Contains(t, listing, "0999 0 bytes\n")
	require.NotContains(t, listing, "1000 0 bytes")
	require.Contains(t, listing, "more than 1000 entries")
}

func TestReadFileReturnsLines(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	put(t, r.dir, "five.txt", "one\ntwo\nthree\nfour\nfive")
	put(t, r.dir, "empty.txt", "")
	put(t, r.dir, "breaks.txt", "\n\n")
	tests := []struct{ name, args, want string }{
		{"all of it", args("path", "five.txt"), "one\ntwo\nthree\nfour\nfive"},
		{"from a line on", args("path", "five.txt", "offset", 4), "four\nfive"},
		{"some lines", args("path", "five.txt", "offset", 2, "limit", 2), "two\nthree\n… lines 2 to 3 of 5; go on with offset 4\n"},
		{"up to the end", args("path", "five.txt", "offset", 4, "limit", 2), "four\nfive"},
		{"an empty file", args("path", "empty.txt"), ""},
		{"only line breaks", args("path", "breaks.txt"), "\n\n"},
		{"no more than one line", args("path", "five.txt", "limit", 1), "one\n… lines 1 to 1 of 5; go on with offset 2\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, text(t, r.read, tt.args))
		})
	}
}

func TestReadFilePagesThroughALargeFile(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	content := strings.Repeat("a line of some length\n", 10_000)
	put(t, r.dir, "large.txt", content)
	var got strings.Builder
	for offset := 1; offset != 0; {
		page := text(t, r.read, args("path", "large.txt", "offset", offset))
		require.LessOrEqual(t, len(page), 50_000, "a page stays under the threshold of large results")
		body, note, more := strings.Cut(page, "…")
		got.WriteString(body)
		offset = 0
		if more {
			_, err := fmt.Sscanf(note[strings.LastIndex(note, "offset"):], "offset %d", &offset)
			require.NoError(t, err)
		}
	}
	require.Equal(t, content, got.String())
}

func TestReadFileCutsAnEndlessLine(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	put(t, r.dir, "wide.txt", strings.Repeat("é", 100_000)+"\nnext\n")
	page := text(t, r.read, args("path", "wide.txt"))
	require.LessOrEqual(t, len(page), 50_000)
	require.Contains(t, page, "more bytes in this line")
	require.Contains(t, page, "go on with offset 2")
	require.Equal(t, "next\n", text(t, r.read, args("path", "wide.txt", "offset", 2)))
}

func TestReadFileRefuses(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	put(t, r.dir, "short.txt", "one\n")
	put(t, r.dir, "nul", "a\x00b")
	put(t, r.dir, "latin", "caf\xe9")
	put(t, r.dir, "huge", "")
	require.NoError(t, os.Truncate(filepath.Join(r.dir, "huge"), builtin.MaxFileBytes+1))
	require.NoError(t, os.Mkdir(filepath.Join(r.dir, "dir"), 0o755))
	tests := []struct{ name, args, code string }{
		{"a file that is not there", args("path", "none"), builtin.NotFound},
		{"a file in a folder that is not there", args("path", "none/x"), builtin.NotFound},
		{"a folder", args("path", "dir"), builtin.WrongKind},
		{"an empty path, which is the workspace", args("path", ""), builtin.WrongKind},
		{"bytes with a zero", args("path", "nul"), builtin.BinaryFile},
		{"text of another encoding", args("path", "latin"), builtin.BinaryFile},
		{"a file that is too large", args("path", "huge"), builtin.TooLarge},
		{"a line behind the end", args("path", "short.txt", "offset", 2), builtin.OutOfRange},
		{"a negative line", args("path", "short.txt", "offset", -1), builtin.OutOfRange},
		{"a file used as a folder", args("path", "short.txt/x"), builtin.FileFailed},
		{"a path with a zero byte", args("path", "a\x00b"), builtin.FileFailed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := r.read.Invoke(t.Context(), tt.args)
			requireCode(t, err, tt.code)
			require.NotContains(t, err.Error(), r.dir, "the model does not learn where the workspace is")
		})
	}
}

func TestWriteFileReplacesTheContent(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	write := args("path", "new/deep/a.txt", "content", "hello\n")
	for range 2 { // a repetition changes nothing
		require.Equal(t, "wrote 6 bytes to new/deep/a.txt", text(t, r.write, write))
		require.Equal(t, "hello\n", text(t, r.read, args("path", "new/deep/a.txt")))
	}
	text(t, r.write, args("path", "new/deep/a.txt", "content", ""))
	require.Empty(t, text(t, r.read, args("path", "new/deep/a.txt")))
	requireNoTemps(t, r.dir)
}

func TestWriteFileKeepsThePermissions(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	put(t, r.dir, "run.sh", "old")
	require.NoError(t, os.Chmod(filepath.Join(r.dir, "run.sh"), 0o757))
	text(t, r.write, args("path", "run.sh", "content", "new"))
	info, err := os.Stat(filepath.Join(r.dir, "run.sh"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o757), info.Mode().Perm())
}

func TestWriteFileRefuses(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	put(t, r.dir, "a.txt", "kept")
	put(t, r.dir, "locked.txt", "kept")
	require.NoError(t, os.Chmod(filepath.Join(r.dir, "locked.txt"), 0o444))
	link(t, "a.txt", r.dir, "link")
	require.NoError(t, os.Mkdir(filepath.Join(r.dir, "dir"), 0o755))
	tests := []struct{ name, args, code string }{
		{"a folder", args("path", "dir", "content", ""), builtin.WrongKind},
		{"the workspace", args("path", ".", "content", ""), builtin.WrongKind},
		{"a link, even one that stays inside", args("path", "link", "content", ""), builtin.WrongKind},
		{"a read-only file", args("path", "locked.txt", "content", ""), builtin.FileFailed},
		{"a path below a file", args("path", "a.txt/b", "content", ""), builtin.FileFailed},
		{"more than it would read", args("path", "b", "content", strings.Repeat("x", builtin.MaxFileBytes+1)), builtin.TooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := r.write.Invoke(t.Context(), tt.args)
			requireCode(t, err, tt.code)
		})
	}
	t.Cleanup(func() {
		require.Equal(t, "kept", contentOf(t, r.dir, "a.txt"))
		require.Equal(t, "kept", contentOf(t, r.dir, "locked.txt"))
		requireNoTemps(t, r.dir)
	})
}

func TestWriteFileLeavesNothingWhenCancelled(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := r.write.Invoke(ctx, args("path", "a.txt", "content", "x"))
	require.ErrorIs(t, err, context.Canceled)
	require.NoFileExists(t, filepath.Join(r.dir, "a.txt"))
	requireNoTemps(t, r.dir)
}

func TestReadersNeverSeeAPartOfAWrite(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	contents := []string{strings.Repeat("a", 20_000), strings.Repeat("b", 30_000)}
	text(t, r.write, args("path", "f", "content", contents[0]))
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := range 50 {
			if _, err := r.write.Invoke(t.Context(), args("path", "f", "content", contents[i%2])); err != nil {
				t.Error(err)
			}
		}
	})
	for range 200 {
		require.Contains(t, contents, text(t, r.read, args("path", "f")))
	}
	writer.Wait()
}

func TestNoPathLeadsOutOfTheWorkspace(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	put(t, r.dir, "in/file.txt", "inside")
	link(t, r.outside, r.dir, "absolute-link")
	link(t, "../outside", r.dir, "relative-link")
	link(t, "../../outside", filepath.Join(r.dir, "in"), "deep-link")
	link(t, "relative-link", r.dir, "link-to-link")
	link(t, "..", r.dir, "up")
	for _, folder := range []string{
		"../outside",
		"in/../../outside",
		r.outside,
		"/",
		"absolute-link",
		"relative-link",
		"in/deep-link",
		"link-to-link",
		"up/outside",
		"in/../up/outside",
	} {
		t.Run(strings.ReplaceAll(folder, r.outside, "OUTSIDE"), func(t *testing.T) {
			t.Parallel()
			_, err := r.list.Invoke(t.Context(), args("path", folder))
			requireCode(t, err, builtin.OutsideWorkspace)
			_, err = r.read.Invoke(t.Context(), args("path", folder+"/secret.txt"))
			requireCode(t, err, builtin.OutsideWorkspace)
			for _, name := range []string{"secret.txt", "new.txt", "new/new.txt"} {
				_, err = r.write.Invoke(t.Context(), args("path", folder+"/"+name, "content", "broken"))
				requireCode(t, err, builtin.OutsideWorkspace)
			}
		})
	}
	t.Cleanup(func() { requireUntouched(t, r) })
}

func TestALinkToAFileOutsideIsRefused(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	link(t, filepath.Join(r.outside, "secret.txt"), r.dir, "absolute")
	link(t, "../outside/secret.txt", r.dir, "relative")
	link(t, "../outside/new.txt", r.dir, "dangling")
	for _, name := range []string{"absolute", "relative", "dangling"} {
		_, err := r.read.Invoke(t.Context(), args("path", name))
		requireCode(t, err, builtin.OutsideWorkspace)
		_, err = r.write.Invoke(t.Context(), args("path", name, "content", "broken"))
		requireCode(t, err, builtin.WrongKind)
	}
	requireUntouched(t, r)
}

func TestDotsThatStayInsideAreRead(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	put(t, r.dir, "file.txt", "inside")
	link(t, r.outside, r.dir, "link")
	link(t, "file.txt", r.dir, "alias")
	for _, path := range []string{"file.txt", "./file.txt", "none/../file.txt", "link/../file.txt", "alias"} {
		require.Equal(t, "inside", text(t, r.read, args("path", path)))
	}
}

// The parent of the path is a link that leads inside or outside in turn, swapped as fast as it goes.
func TestALinkSwappedInMeanwhileDoesNotLeadOut(t *testing.T) {
	t.Parallel()
	r := newRoom(t)
	put(t, r.dir, "real/secret.txt", "inside")
	link(t, "real", r.dir, "door")
	stop := make(chan struct{})
	var swapper sync.WaitGroup
	swapper.Go(func() { swap(t, r, stop) })
	passed, refused := 0, 0
	for i := range 400 {
		_, _ = r.write.Invoke(t.Context(), args("path", fmt.Sprintf("door/new-%d.txt", i), "content", "x"))
		result, err := r.read.Invoke(t.Context(), args("path", "door/secret.txt"))
		if err != nil {
			requireCode(t, err, builtin.OutsideWorkspace)
			refused++
			continue
		}
		require.Equal(t, "inside", result.Content.Text())
		passed++
	}
	close(stop)
	swapper.Wait()
	t.Logf("read %d times, refused %d times", passed, refused)
	requireUntouched(t, r)
}

// swap lets "door" lead to the real folder and out of the workspace in turn; it is never missing.
func swap(t *testing.T, r room, stop <-chan struct{}) {
	door, next := filepath.Join(r.dir, "door"), filepath.Join(r.dir, "next")
	for {
		for _, target := range []string{r.outside, "real"} {
			select {
			case <-stop:
				return
			default:
			}
			if err := errors.Join(os.Symlink(target, next), os.Rename(next, door)); err != nil {
				t.Error(err)
				return
			}
		}
	}
}

func requireUntouched(t *testing.T, r room) {
	t.Helper()
	require.Equal(t, secret, contentOf(t, r.outside, "secret.txt"))
	entries, err := os.ReadDir(r.outside)
	require.NoError(t, err)
	require.Len(t, entries, 1, "nothing new outside")
}

func contentOf(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	return string(data)
}

func requireNoTemps(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		require.NotContains(t, path, ".everturn-")
		return err
	}))
}
