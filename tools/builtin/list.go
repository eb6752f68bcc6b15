package builtin

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/everturn/everturn/tools"
)

// maxEntries limits one listing.
const maxEntries = 1000

type listArgs struct {
	Path string `json:"path,omitempty" jsonschema:"folder relative to the workspace; the workspace itself if absent"`
}

// ListFiles lists one folder of the workspace, one entry a line in the order of names: files with their size in bytes,
// folders with a slash, links with an at sign. It is pure and parallel.
func ListFiles(workspace string) (*tools.Tool, error) {
	w, err := openWorkspace(workspace)
	if err != nil {
		return nil, err
	}
	list := func(ctx context.Context, in listArgs) (string, error) {
		return within(w, in.Path, func(root *os.Root, path string) (string, error) { return listing(ctx, root, path) })
	}
	return tools.New("list_files", "Lists the files of a folder in the workspace.", list,
		tools.ParallelSafe(), tools.WithEffect(tools.Pure))
}

func listing(ctx context.Context, root *os.Root, path string) (string, error) {
	dir, err := openForReading(root, path)
	if err != nil {
		return "", err
	}
	defer dir.Close() // opened for reading
	info, err := dir.Stat()
	if err != nil {
		return "", err
	}
	if !info.IsDir() {
		return "", fileError(WrongKind, "%q is not a folder", path)
	}
	entries, err := dir.ReadDir(-1)
	if err != nil {
		return "", err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return render(ctx, entries)
}

func render(ctx context.Context, entries []fs.DirEntry) (string, error) {
	var out strings.Builder
	shown := 0
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), tempMark) {
			continue
		}
		if shown++; shown > maxEntries {
			fmt.Fprintf(&out, "… more than %d entries; list a subfolder\n", maxEntries)
			break
		}
		out.WriteString(line(e) + "\n")
	}
	if shown == 0 {
		return "(empty folder)", ctx.Err()
	}
	return out.String(), ctx.Err()
}

func line(e fs.DirEntry) string {
	switch {
	case e.IsDir():
		return e.Name() + "/"
	case e.Type()&fs.ModeSymlink != 0:
		return e.Name() + "@"
	}
	info, err := e.Info()
	if err != nil {
		return e.Name() // gone meanwhile
	}
	return fmt.Sprintf("%s %d bytes", e.Name(), info.Size())
}
