package builtin

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/everturn/everturn/tools"
)

const (
	defaultLines = 2000      // of one answer
	maxAnswer    = 48 * 1024 // bytes of one answer: below the threshold for large results
)

type readArgs struct {
	Path   string `json:"path" jsonschema:"file relative to the workspace"`
	Offset int    `json:"offset,omitempty" jsonschema:"first line to return, from 1"`
	Limit  int    `json:"limit,omitempty" jsonschema:"number of lines to return; 2000 if absent"`
}

// ReadFile returns lines of a text file in the workspace, and says how to go on when there is more. Files that are too
// large or not text are refused. It is pure and parallel.
func ReadFile(workspace string) (*tools.Tool, error) {
	w, err := openWorkspace(workspace)
	if err != nil {
		return nil, err
	}
	read := func(ctx context.Context, in readArgs) (string, error) {
		if in.Offset < 0 || in.Limit < 0 {
			return "", fileError(OutOfRange, "offset and limit count lines: they cannot be negative")
		}
		return within(w, in.Path, func(root *os.Root, path string) (string, error) { return readLines(ctx, root, path, in) })
	}
	return tools.New("read_file", "Reads lines of a text file in the workspace.", read,
		tools.ParallelSafe(), tools.WithEffect(tools.Pure), tools.KeepWhole())
}

func readLines(ctx context.Context, root *os.Root, path string, in readArgs) (string, error) {
	data, err := readText(root, path)
	if err != nil {
		return "", err
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	return page(string(data), max(in.Offset, 1), in.Limit, path)
}

// readText reads a whole regular file of text.
func readText(root *os.Root, path string) ([]byte, error) {
	f, err := openForReading(root, path)
	if err != nil {
		return nil, err
	}
	defer f.Close() // opened for reading
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fileError(WrongKind, "%q is not a regular file", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxFileBytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > MaxFileBytes:
		return nil, fileError(TooLarge, "%q is larger than %d bytes", path, MaxFileBytes)
	case bytes.IndexByte(data, 0) >= 0 || !utf8.Valid(data):
		return nil, fileError(BinaryFile, "%q is not UTF-8 text", path)
	}
	return data, nil
}

// page cuts lines from..from+limit out of a text, within the size of one answer.
func page(text string, from, limit int, path string) (string, error) {
	if limit == 0 {
		limit = defaultLines
	}
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	if from > len(lines) && from > 1 {
		return "", fileError(OutOfRange, "%q has %d lines", path, len(lines))
	}
	var out strings.Builder
	for n := from; n <= len(lines); n++ {
		line := lines[n-1]
		if n-from == limit || out.Len()+len(line) > maxAnswer && n > from {
			fmt.Fprintf(&out, "… lines %d to %d of %d; go on with offset %d\n", from, n-1, len(lines), n)
			break
		}
		out.WriteString(cut(line))
	}
	return out.String(), nil
}

// cut shortens a line that alone would fill more than one answer.
func cut(line string) string {
	if len(line) <= maxAnswer {
		return line
	}
	head := strings.ToValidUTF8(line[:maxAnswer], "")
	return fmt.Sprintf("%s… (%d more bytes in this line)\n", head, len(line)-len(head))
}
