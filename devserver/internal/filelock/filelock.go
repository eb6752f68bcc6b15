//go:build unix

// Package filelock makes sure that only one process at a time uses a resource, through an advisory lock on a file.
//
// The kernel drops the lock when its holder ends, however it ends, so there are no stale locks. The lock file itself
// stays: removing it would let two processes lock two different files of the same name.
package filelock

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// A HeldError says that another process holds the lock.
type HeldError struct {
	Path string // of the lock file
	PID  int    // of the holder; 0 if it has not written it yet
}

func (e *HeldError) Error() string {
	if e.PID == 0 {
		return fmt.Sprintf("lock %s: held by another process", e.Path)
	}
	return fmt.Sprintf("lock %s: held by process %d", e.Path, e.PID)
}

// A Lock is held from [Acquire] until [Lock.Release] or the end of the process.
type Lock struct{ file *os.File }

// Acquire locks the file at path, which is created when missing, and writes the caller's process id into it.
// It never waits: when another process holds the lock the error is a [*HeldError].
func Acquire(path string) (*Lock, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(file); err != nil {
		_ = file.Close()
		return nil, err
	}
	return &Lock{file: file}, nil
}

func lock(file *os.File) error {
	err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	switch {
	case errors.Is(err, syscall.EWOULDBLOCK):
		return &HeldError{Path: file.Name(), PID: holder(file)}
	case err != nil:
		return fmt.Errorf("lock %s: %w", file.Name(), err)
	}
	return writeHolder(file)
}

// Release gives the lock up.
func (l *Lock) Release() error { return l.file.Close() }

func writeHolder(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

func holder(file *os.File) int {
	text := make([]byte, 20)
	n, _ := file.ReadAt(text, 0)
	pid, _ := strconv.Atoi(strings.TrimSpace(string(text[:n])))
	return pid
}
