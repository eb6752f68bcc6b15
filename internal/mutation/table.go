package main

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The table of deliberate faults: paragraphs of
//
//	fault  NAME
//	breaks RULE, with its section
//	file   PATH
//	- a line of the old text
//	+ a line of the new text
//
// A line that begins with # is a comment. Old and new text are the lines without their first two characters; the old one
// is a piece of the file.
//
//go:embed faults.txt
var table string

// deliberate reads the table and finds every fault's place.
func deliberate(root, text string) ([]fault, error) {
	var all []fault
	var stale []error
	names := map[string]bool{}
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		e, ok, err := parse(paragraph)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		f, err := e.fault(root)
		if err != nil {
			stale = append(stale, err)
			continue
		}
		if names[f.name] {
			return nil, fmt.Errorf("two faults are named %q", f.name)
		}
		names[f.name] = true
		all = append(all, f)
	}
	return all, errors.Join(stale...)
}

// An entry is a paragraph of the table.
type entry struct{ name, rule, file, old, new string }

// parse reads a paragraph; ok is false if it has nothing but comments.
func parse(paragraph string) (e entry, ok bool, err error) {
	var old, with []string
	for line := range strings.SplitSeq(paragraph, "\n") {
		key, value, _ := strings.Cut(line, " ")
		switch key {
		case "", "#":
		case "fault":
			e.name = strings.TrimSpace(value)
		case "breaks":
			e.rule = strings.TrimSpace(value)
		case "file":
			e.file = strings.TrimSpace(value)
		case "-":
			old = append(old, value)
		case "+":
			with = append(with, value)
		default:
			return e, false, fmt.Errorf("faults.txt: %q begins with no known word", line)
		}
	}
	e.old, e.new = strings.Join(old, "\n"), strings.Join(with, "\n")
	if e == (entry{}) {
		return e, false, nil
	}
	if e.name == "" || e.rule == "" || e.file == "" || e.old == "" {
		return e, false, fmt.Errorf("faults.txt: %q lacks its name, rule, file or old text", e.name)
	}
	return e, true, nil
}

func (e entry) fault(root string) (fault, error) {
	src, err := os.ReadFile(filepath.Join(root, e.file))
	if err != nil {
		return fault{}, fmt.Errorf("fault %q: %w", e.name, err)
	}
	change, err := replacing(string(src), e.old, e.new)
	if err != nil {
		return fault{}, fmt.Errorf("fault %q in %s: %w", e.name, e.file, err)
	}
	return fault{name: e.name, rule: e.rule, file: e.file, edit: change}, nil
}
