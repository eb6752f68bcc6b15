package store

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
)

// maxDurableDirs bounds the memory of folders known to be durable.
const maxDurableDirs = 4096

// durableDirs makes the entries of folders durable. It remembers the folders whose own entries in their parents were
// made durable by this process, by identity: a folder that was removed and made again by another process is a new one.
type durableDirs struct {
	mu    sync.Mutex
	known map[string]os.FileInfo
}

// sync makes dir's entries durable, and dir itself, up to root.
func (d *durableDirs) sync(root, dir string) error {
	info, err := syncDir(dir)
	if err != nil || dir == root || d.isKnown(dir, info) {
		return err
	}
	if err := d.sync(root, filepath.Dir(dir)); err != nil {
		return err
	}
	d.remember(dir, info)
	return nil
}

func (d *durableDirs) isKnown(dir string, info os.FileInfo) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	old := d.known[dir]
	return old != nil && os.SameFile(old, info)
}

func (d *durableDirs) remember(dir string, info os.FileInfo) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.known == nil || len(d.known) >= maxDurableDirs {
		d.known = map[string]os.FileInfo{}
	}
	d.known[dir] = info
}

// syncDir flushes a folder's entries to the disk.
func syncDir(dir string) (os.FileInfo, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if runtime.GOOS != "windows" { // there a folder cannot be flushed; the file system logs its own changes
		if err := f.Sync(); err != nil {
			return nil, err
		}
	}
	return f.Stat()
}

// isFull reports whether the disk, or the quota of the user, is used up.
func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, errQuota)
}
