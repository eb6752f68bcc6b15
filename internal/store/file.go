package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// tempFolder holds files that are being written. It is no legal key, so it is never listed.
const tempFolder = ".tmp"

// files keeps objects as files below a folder. A file is written under a temporary name and then linked to its own, so
// that it appears whole or not at all and never replaces another.
type files struct {
	root string
	sync bool
	dirs durableDirs
}

// openFiles opens a folder, and creates it if it does not exist.
func openFiles(root string, sync bool) (*files, error) {
	if info, err := os.Stat(root); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s is a file, not a folder (name a folder, or one that does not exist yet)", root)
	}
	if err := os.MkdirAll(filepath.Join(root, tempFolder), 0o700); err != nil {
		return nil, fmt.Errorf("%w (name a folder this user may write to)", err)
	}
	f := &files{root: root, sync: sync}
	f.sweepTemp(time.Now().Add(-time.Hour))
	return f, nil
}

// sweepTemp removes what writers left behind that died before the given time.
func (f *files) sweepTemp(before time.Time) {
	entries, _ := os.ReadDir(filepath.Join(f.root, tempFolder))
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.ModTime().Before(before) {
			_ = os.Remove(filepath.Join(f.root, tempFolder, e.Name()))
		}
	}
}

func (f *files) path(key string) (string, error) {
	if err := checkKey(key); err != nil {
		return "", err
	}
	return filepath.Join(f.root, filepath.FromSlash(key)), nil
}

// Create implements [Objects].
func (f *files) Create(ctx context.Context, key string, data []byte) error {
	path, err := f.path(key)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if _, err := os.Lstat(path); err == nil {
		return f.taken(path)
	}
	temp, err := f.writeTemp(data)
	if err != nil {
		return fmt.Errorf("create %s: %w", key, explain(err))
	}
	defer os.Remove(temp)
	err = f.place(temp, path)
	if errors.Is(err, fs.ErrExist) {
		return f.taken(path)
	}
	if err != nil {
		return fmt.Errorf("create %s: %w", key, explain(err))
	}
	return nil
}

// taken reports ErrExists once the object that took the name is durable.
func (f *files) taken(path string) error {
	if f.sync {
		if err := f.dirs.sync(f.root, filepath.Dir(path)); err != nil {
			return err
		}
	}
	return ErrExists
}

func (f *files) writeTemp(data []byte) (name string, err error) {
	t, err := os.CreateTemp(filepath.Join(f.root, tempFolder), "w*")
	if err != nil {
		return "", err
	}
	_, err = t.Write(data)
	if err == nil && f.sync {
		err = t.Sync()
	}
	if err = errors.Join(err, t.Close()); err != nil {
		_ = os.Remove(t.Name())
		return "", err
	}
	return t.Name(), nil
}

// place links temp to path. Another process may remove an empty folder at any time, so it tries again.
func (f *files) place(temp, path string) error {
	dir := filepath.Dir(path)
	var err error
	for range 16 {
		if err = os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		if err = os.Link(temp, path); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil || !f.sync {
		return err
	}
	return f.dirs.sync(f.root, dir)
}

// Get implements [Objects].
func (f *files) Get(ctx context.Context, key string) ([]byte, error) {
	path, err := f.path(key)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("get %s: %w", key, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("get %s: %w", key, err)
	}
	return data, nil
}

// List implements [Objects].
func (f *files) List(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		folder := prefix[:strings.LastIndexByte(prefix, '/')+1]
		f.walk(ctx, folder, prefix, yield)
	}
}

// walk yields the keys below folder, which is empty or ends with a slash. It reports whether to go on.
func (f *files) walk(ctx context.Context, folder, prefix string, yield func(string, error) bool) bool {
	if err := ctx.Err(); err != nil {
		yield("", err)
		return false
	}
	names, err := f.names(folder)
	if err != nil {
		yield("", fmt.Errorf("list %s: %w", folder, err))
		return false
	}
	for _, name := range names {
		key := folder + name
		switch {
		case !strings.HasPrefix(key, prefix) && !strings.HasPrefix(prefix, key):
		case strings.HasSuffix(name, "/"):
			if !f.walk(ctx, key, prefix, yield) {
				return false
			}
		case strings.HasPrefix(key, prefix):
			if !yield(key, nil) {
				return false
			}
		}
	}
	return true
}

// names lists a folder in the order of keys: a sub-folder sorts with its slash.
func (f *files) names(folder string) ([]string, error) {
	entries, err := os.ReadDir(filepath.Join(f.root, filepath.FromSlash(folder)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		switch name := e.Name(); {
		case checkKey(name) != nil: // not ours
		case e.IsDir():
			names = append(names, name+"/")
		default:
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Delete implements [Objects]. Folders that became empty go too.
func (f *files) Delete(ctx context.Context, key string) error {
	path, err := f.path(key)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("delete %s: %w", key, err)
	}
	f.prune(path)
	return nil
}

// Close implements [Objects].
func (f *files) Close() error { return nil }

// explain adds what to do to errors of the file system that need more than a retry.
func explain(err error) error {
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, errors.ErrUnsupported):
		return fmt.Errorf("%w (the folder must be writable and its file system must support hard links)", err)
	case isFull(err):
		return fmt.Errorf("%w (free some space; nothing was lost)", err)
	default:
		return err
	}
}
