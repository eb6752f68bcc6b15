package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A fault is one change of one file.
type fault struct {
	name string // unique, and stable as long as the code around it is
	rule string // the rule that a deliberate one breaks, with its section
	file string // from the root of the repository, with slashes
	edit edit
}

// An edit replaces the bytes from start to end of a file.
type edit struct {
	start, end int
	text       string
}

// pkg is the package of the fault, from the root of the repository.
func (f fault) pkg() string { return filepath.ToSlash(filepath.Dir(f.file)) }

// applied is the file with the fault.
func (f fault) applied(root string) ([]byte, error) {
	src, err := os.ReadFile(filepath.Join(root, f.file))
	if err != nil {
		return nil, fmt.Errorf("fault %q: %w", f.name, err)
	}
	return []byte(string(src[:f.edit.start]) + f.edit.text + string(src[f.edit.end:])), nil
}

// replacing is the edit that puts a text in the place of another, which must occur exactly once.
func replacing(src, old, with string) (edit, error) {
	switch n := strings.Count(src, old); {
	case old == with:
		return edit{}, fmt.Errorf("it changes nothing")
	case n != 1:
		return edit{}, fmt.Errorf("its old text occurs %d times, not once (the code has changed: mend the fault in faults.txt)", n)
	}
	at := strings.Index(src, old)
	return edit{at, at + len(old), with}, nil
}
