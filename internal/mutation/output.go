package main

import (
	"bytes"
	"regexp"
	"strings"
)

// A tail keeps the end of what a test says, and notices when a test has failed: there is no need to wait for the rest.
type tail struct {
	limit  int
	text   []byte
	failed func()
}

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	seen := len(t.text) - len(failMark)
	t.text = append(t.text, p...)
	if bytes.Contains(t.text[max(0, seen):], failMark) {
		t.failed()
	}
	if n := len(t.text) - t.limit; n > 0 {
		t.text = append(t.text[:0], t.text[n:]...)
	}
	return len(p), nil
}

var failMark = []byte("--- FAIL: ")

var (
	failed = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	hung   = regexp.MustCompile(`panic: test timed out after`)
	broke  = regexp.MustCompile(`(?m)^(panic|fatal error): (.*)$`)
)

// reason is the test that failed, the innermost of the first, or how all ended.
func reason(out []byte) string {
	if hung.Match(out) {
		return errHangs.Error()
	}
	name := ""
	for _, m := range failed.FindAllSubmatch(out, -1) {
		if next := string(m[1]); name == "" || strings.HasPrefix(next, name+"/") {
			name = next
		}
	}
	if name != "" {
		return name
	}
	if m := broke.FindSubmatch(out); m != nil {
		return string(m[1]) + ": " + oneLine(string(m[2]))
	}
	return "failed: " + lastOf(out)
}

func lastOf(out []byte) string {
	lines := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	return oneLine(string(lines[len(lines)-1]))
}
