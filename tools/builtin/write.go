package builtin

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/everturn/everturn/tools"
)

type writeArgs struct {
	Path    string `json:"path" jsonschema:"file relative to the workspace; missing folders are made"`
	Content string `json:"content" jsonschema:"the whole new content of the file"`
}

// WriteFile replaces the content of a file in the workspace. A reader sees the old content or the new one, never a part,
// and the content is on disk when the tool answers. Writing the same twice is the same as once, so effect class Keyed
// holds. A path that is a link is refused rather than replaced.
func WriteFile(workspace string) (*tools.Tool, error) {
	w, err := openWorkspace(workspace)
	if err != nil {
		return nil, err
	}
	write := func(ctx context.Context, in writeArgs) (string, error) {
		if len(in.Content) > MaxFileBytes {
			return "", fileError(TooLarge, "the content is larger than %d bytes", MaxFileBytes)
		}
		return within(w, in.Path, func(root *os.Root, path string) (string, error) {
			return fmt.Sprintf("wrote %d bytes to %s", len(in.Content), in.Path), replace(ctx, root, path, in.Content)
		})
	}
	return tools.New("write_file", "Writes a text file in the workspace, replacing what was there.", write,
		tools.WithEffect(tools.Keyed))
}

// replace puts content at path through a file beside it.
func replace(ctx context.Context, root *os.Root, path, content string) error {
	mode, err := modeFor(root, path)
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	if err := root.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	temp := filepath.Join(dir, tempMark+rand.Text())
	if err := create(root, temp, mode, content); err != nil {
		return errors.Join(err, removed(root, temp))
	}
	if err := ctx.Err(); err != nil {
		return errors.Join(err, removed(root, temp))
	}
	if err := root.Rename(temp, path); err != nil {
		return errors.Join(err, removed(root, temp))
	}
	return syncDir(root, dir)
}

// modeFor returns the permissions of the file to be replaced, or 0 when there is none. Anything but a writable file is
// refused.
func modeFor(root *os.Root, path string) (fs.FileMode, error) {
	info, err := root.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0, nil
	case err != nil:
		return 0, err
	case !info.Mode().IsRegular():
		return 0, fileError(WrongKind, "%q is not a regular file", path)
	case info.Mode().Perm()&0o200 == 0:
		return 0, fileError(FileFailed, "%q is read-only", path)
	}
	return info.Mode().Perm(), nil
}

func create(root *os.Root, path string, mode fs.FileMode, content string) error {
	f, err := root.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if mode != 0 {
		err = f.Chmod(mode)
	}
	if err == nil {
		_, err = f.WriteString(content)
	}
	return errors.Join(err, f.Sync(), f.Close())
}

// removed cleans up; there is nothing to clean when the file was never made.
func removed(root *os.Root, path string) error {
	if err := root.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
