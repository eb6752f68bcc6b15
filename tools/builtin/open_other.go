//go:build !unix

package builtin

import "os"

func openForReading(root *os.Root, path string) (*os.File, error) { return root.Open(path) }

// syncDir does nothing: this system has no way to sync a folder.
func syncDir(*os.Root, string) error { return nil }
