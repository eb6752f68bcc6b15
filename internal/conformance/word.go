package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// words is a line on its way of being read.
type words struct{ rest string }

func (w *words) trim() { w.rest = strings.TrimLeft(w.rest, " \t") }

// done reports whether nothing is left.
func (w *words) done() bool {
	w.trim()
	return w.rest == ""
}

// peek is the next bare word; it is empty at the end and in front of a quoted string or a JSON value.
func (w *words) peek() string {
	w.trim()
	if w.rest == "" || strings.ContainsRune(`"{[`, rune(w.rest[0])) {
		return ""
	}
	if end := strings.IndexAny(w.rest, " \t,;"); end > 0 {
		return w.rest[:end]
	}
	if strings.ContainsRune(",;", rune(w.rest[0])) {
		return w.rest[:1]
	}
	return w.rest
}

// take takes the next word if it is this one.
func (w *words) take(want string) bool {
	if w.peek() != want {
		return false
	}
	w.rest = w.rest[len(want):]
	return true
}

// bare takes a bare word.
func (w *words) bare(what string) (string, error) {
	word := w.peek()
	if word == "" || word == "," || word == ";" {
		return "", fmt.Errorf("%s is missing in front of %q", what, w.rest)
	}
	w.rest = w.rest[len(word):]
	return word, nil
}

// text takes a word, bare or quoted.
func (w *words) text(what string) (string, error) {
	if w.trim(); !strings.HasPrefix(w.rest, `"`) {
		return w.bare(what)
	}
	raw, err := w.value(what)
	if err != nil {
		return "", err
	}
	var text string
	err = json.Unmarshal(raw, &text)
	return text, err
}

// value takes a JSON value.
func (w *words) value(what string) (json.RawMessage, error) {
	w.trim()
	var raw json.RawMessage
	dec := json.NewDecoder(strings.NewReader(w.rest))
	err := dec.Decode(&raw)
	switch {
	case errors.Is(err, io.EOF):
		return nil, fmt.Errorf("%s is missing", what)
	case err != nil:
		return nil, fmt.Errorf("%s: %q is not JSON: %w", what, w.rest, err)
	}
	w.rest = w.rest[dec.InputOffset():]
	return raw, nil
}

// number takes a whole number.
func (w *words) number(what string) (int, error) {
	word, err := w.bare(what)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(word)
	if err != nil {
		return 0, fmt.Errorf("%s: %q is not a whole number", what, word)
	}
	return n, nil
}

// end refuses what is left over.
func (w *words) end() error {
	if w.done() {
		return nil
	}
	return fmt.Errorf("nothing is expected in front of %q", w.rest)
}

// uncomment cuts a comment: a # after a blank that stands outside of a string.
func uncomment(line string) string {
	quoted := false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == '#' && !quoted && (i == 0 || line[i-1] == ' ' || line[i-1] == '\t'):
			return strings.TrimRight(line[:i], " \t")
		}
	}
	return strings.TrimRight(line, " \t")
}

// header splits `key words: value` at the first colon outside of strings and values.
func header(line string) (head, value string, ok bool) {
	quoted, depth := false, 0
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[' || c == '(':
			depth++
		case c == '}' || c == ']' || c == ')':
			depth--
		case c == ':' && depth == 0:
			return strings.TrimSpace(line[:i]), strings.TrimSpace(line[i+1:]), true
		}
	}
	return strings.TrimSpace(line), "", false
}
