package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"time"
)

// The age of an object in a folder is the file's time of modification: nothing ever writes into a file that has its name.

// Stats implements [Objects].
func (f *files) Stats(ctx context.Context, prefix string) iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		for key, err := range f.List(ctx, prefix) {
			var info fs.FileInfo
			if err == nil {
				info, err = os.Lstat(filepath.Join(f.root, filepath.FromSlash(key)))
			}
			switch {
			case errors.Is(err, fs.ErrNotExist):
				continue // deleted just now
			case err != nil:
				yield(Object{}, err)
				return
			}
			if !yield(Object{key, info.Size(), info.ModTime()}, nil) {
				return
			}
		}
	}
}

// Touch implements [Objects].
func (f *files) Touch(ctx context.Context, key string) error {
	path, err := f.path(key)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return err
	}
	err = os.Chtimes(path, time.Time{}, time.Now())
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("touch %s: %w", key, ErrNotFound)
	case err != nil:
		return fmt.Errorf("touch %s: %w", key, explain(err))
	}
	return nil
}

// DeleteBefore implements [Objects]. The file is taken out of its place before its age decides: whoever touched it first
// gets it back, whoever comes later makes it anew.
func (f *files) DeleteBefore(ctx context.Context, key string, t time.Time) (bool, error) {
	path, err := f.path(key)
	if err = errors.Join(err, ctx.Err()); err != nil {
		return false, err
	}
	if young, err := younger(path, t); young || err != nil {
		return gone(key, err)
	}
	taken := filepath.Join(f.root, tempFolder, "d"+hashOf([]byte(path)))
	if err := os.Rename(path, taken); err != nil {
		return gone(key, err)
	}
	young, err := younger(taken, t)
	if young && err == nil {
		return false, f.putBack(taken, path)
	}
	if err == nil {
		err = os.Remove(taken)
	}
	if err != nil {
		return gone(key, err)
	}
	f.prune(path)
	return true, nil
}

// putBack returns a file to its place, unless it was made anew there.
func (f *files) putBack(taken, path string) error {
	if err := f.place(taken, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("put %s back to %s: %w", taken, path, explain(err))
	}
	return os.Remove(taken)
}

// gone is the answer for a file that stays where it is, or that was not there.
func gone(key string, err error) (bool, error) {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("delete %s: %w", key, explain(err))
	}
	return false, nil
}

func younger(path string, t time.Time) (bool, error) {
	info, err := os.Lstat(path)
	return err == nil && !info.ModTime().Before(t), err
}

// prune removes the folders that became empty.
func (f *files) prune(path string) {
	for dir := filepath.Dir(path); dir != f.root && os.Remove(dir) == nil; dir = filepath.Dir(dir) {
	}
}
