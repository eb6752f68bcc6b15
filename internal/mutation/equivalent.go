package main

import (
	_ "embed"
	"fmt"
	"strings"
)

// The faults that change nothing anybody can see: a name per line, then its reason, indented. A line that begins with #
// is a comment.
//
//go:embed equivalent.txt
var listed string

// equivalents reads the list: reasons by name.
func equivalents(text string) (map[string]string, error) {
	reasons := map[string]string{}
	name := ""
	for line := range strings.Lines(text) {
		switch said := strings.TrimSpace(line); {
		case said == "" || line[0] == '#':
		case line[0] != ' ' && line[0] != '\t':
			if _, twice := reasons[said]; twice {
				return nil, fmt.Errorf("equivalent.txt: %s is listed twice", said)
			}
			name = said
			reasons[name] = ""
		case name == "":
			return nil, fmt.Errorf("equivalent.txt: %q is the reason of nothing", said)
		default:
			reasons[name] = strings.TrimSpace(reasons[name] + " " + said)
		}
	}
	for name, reason := range reasons {
		if reason == "" {
			return nil, fmt.Errorf("equivalent.txt: %s has no reason", name)
		}
	}
	return reasons, nil
}
