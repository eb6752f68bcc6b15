//go:build unix

package builtin

import (
	"errors"
	"os"
	"syscall"
)

// openForReading does not wait for the writer of a named pipe.
func openForReading(root *os.Root, path string) (*os.File, error) {
	return root.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
}

// syncDir makes a rename in the folder durable, where the file system knows how.
func syncDir(root *os.Root, dir string) error {
	f, err := root.Open(dir)
	if err != nil {
		return err
	}
	err = f.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		err = nil
	}
	return errors.Join(err, f.Close())
}
