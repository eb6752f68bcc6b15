package builtin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/everturn/everturn/tools"
)

// The codes of a failed file tool.
const (
	OutsideWorkspace = "OUTSIDE_WORKSPACE" // the path leads out of the workspace
	NotFound         = "NOT_FOUND"         // there is nothing at the path
	WrongKind        = "WRONG_KIND"        // a folder instead of a file, a link, a device …
	TooLarge         = "TOO_LARGE"         // more than MaxFileBytes
	BinaryFile       = "BINARY_FILE"       // not UTF-8 text
	OutOfRange       = "OUT_OF_RANGE"      // the offset is behind the end of the file
	FileFailed       = "FILE_FAILED"       // any other refusal of the file system
)

// MaxFileBytes is the largest file that is read or written.
const MaxFileBytes = 8 << 20

// tempMark starts the name of a file that is being written.
const tempMark = ".everturn-"

// A workspace is the only folder the file tools see.
type workspace struct {
	dir string // absolute
}

func openWorkspace(dir string) (workspace, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return workspace{}, fmt.Errorf("workspace %q: %w", dir, err)
	}
	w := workspace{abs}
	root, err := w.open()
	if err != nil {
		return workspace{}, fmt.Errorf("workspace %q: %w (create the folder first)", dir, err)
	}
	return w, root.Close()
}

// open takes a handle for one call, so that nothing stays open and a recreated folder is found again.
func (w workspace) open() (*os.Root, error) { return os.OpenRoot(w.dir) }

// within runs one call against the workspace. Its errors are fit for the model: they never name the folder itself.
func within[T any](w workspace, path string, call func(root *os.Root, path string) (T, error)) (T, error) {
	var none T
	local := filepath.Clean(filepath.FromSlash(path)) // so that every call below means the same file
	if !filepath.IsLocal(local) {
		return none, outside(path)
	}
	root, err := w.open()
	if err != nil {
		return none, fileError(FileFailed, "the workspace cannot be opened")
	}
	defer root.Close() // a read-only handle
	out, err := call(root, local)
	if err != nil {
		return none, explain(path, err)
	}
	return out, nil
}

// explain turns what the file system said into a failure the model can act on.
func explain(path string, err error) error {
	var coded *tools.Error
	var denied *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &coded):
		return coded
	case errors.Is(err, fs.ErrNotExist):
		return fileError(NotFound, "%q does not exist in the workspace", path)
	case errors.As(err, &denied) && escapes(denied.Err), errors.As(err, &link) && escapes(link.Err):
		return outside(path)
	case errors.As(err, &denied):
		return fileError(FileFailed, "%q: %v", path, denied.Err)
	case errors.As(err, &link):
		return fileError(FileFailed, "%q: %v", path, link.Err)
	default:
		return err
	}
}

// escapes recognises the refusal of os.Root, which has no exported value.
func escapes(err error) bool { return err != nil && strings.Contains(err.Error(), "path escapes") }

func outside(path string) error {
	return fileError(OutsideWorkspace, "%q leads out of the workspace; use a path relative to it", path)
}

func fileError(code, format string, args ...any) error {
	return tools.Coded("FileError", code, fmt.Sprintf(format, args...))
}
