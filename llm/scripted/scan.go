package scripted

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A SyntaxError says where a script cannot be read and what was expected there.
type SyntaxError struct {
	Line   int    // from 1
	Column int    // in characters, from 1
	Want   string // what was expected
	Got    string // what stands there; empty at the end of the line
}

func (e *SyntaxError) Error() string {
	got := "the end of the line"
	if e.Got != "" {
		got = strconv.Quote(e.Got)
	}
	return fmt.Sprintf("script line %d, column %d: expected %s, got %s", e.Line, e.Column, e.Want, got)
}

// A scanner cuts one line into tokens.
type scanner struct {
	line string
	num  int // of the line
	pos  int // in bytes
}

// more skips blanks and comments and reports whether a token follows.
func (s *scanner) more() bool {
	for s.pos < len(s.line) && blank(s.line[s.pos]) {
		s.pos++
	}
	if s.pos < len(s.line) && s.line[s.pos] == '#' {
		s.pos = len(s.line)
	}
	return s.pos < len(s.line)
}

// fail makes an error for the token at pos.
func (s *scanner) fail(pos int, format string, args ...any) error {
	return &SyntaxError{
		Line:   s.num,
		Column: utf8.RuneCountInString(s.line[:pos]) + 1,
		Want:   fmt.Sprintf(format, args...),
		Got:    s.line[pos:wordEnd(s.line, pos)],
	}
}

// peek returns the next word without taking it.
func (s *scanner) peek() string {
	if !s.more() {
		return ""
	}
	return s.line[s.pos:wordEnd(s.line, s.pos)]
}

// word takes the next word; a quoted string is one as well.
func (s *scanner) word(want string) (string, error) {
	w := s.peek()
	if strings.HasPrefix(w, `"`) {
		return s.str(want)
	}
	if w == "" {
		return "", s.fail(s.pos, "%s", want)
	}
	s.pos += len(w)
	return w, nil
}

// str takes a quoted string.
func (s *scanner) str(want string) (string, error) {
	if !strings.HasPrefix(s.peek(), `"`) {
		return "", s.fail(s.pos, "%s in double quotes", want)
	}
	raw, err := s.json(want)
	if err != nil {
		return "", err
	}
	var text string
	if err := json.Unmarshal([]byte(raw), &text); err != nil {
		return "", s.fail(s.pos, "%s in double quotes", want)
	}
	return text, nil
}

// json takes one JSON value and returns it as it is written.
func (s *scanner) json(want string) (string, error) {
	if !s.more() {
		return "", s.fail(s.pos, "%s", want)
	}
	var raw json.RawMessage
	dec := json.NewDecoder(strings.NewReader(s.line[s.pos:]))
	if err := dec.Decode(&raw); err != nil {
		return "", s.fail(s.pos+faultOffset(err, len(s.line)-s.pos), "%s: %s", want, describe(err))
	}
	s.pos += int(dec.InputOffset())
	if s.pos < len(s.line) && !blank(s.line[s.pos]) && s.line[s.pos] != '#' {
		return "", s.fail(s.pos, "a blank after %s", want)
	}
	return string(raw), nil
}

// describe says what is wrong with a JSON value.
func describe(err error) string {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return "the JSON value does not end"
	}
	return "not a JSON value"
}

// faultOffset is where in the rest of the line a JSON value goes wrong.
func faultOffset(err error, rest int) int {
	var wrong *json.SyntaxError
	if errors.As(err, &wrong) && wrong.Offset > 0 {
		return min(int(wrong.Offset)-1, rest)
	}
	return rest
}

// number takes a whole number that is not negative.
func (s *scanner) number(want string) (int64, error) {
	w := s.peek()
	n, err := strconv.ParseInt(w, 10, 64)
	if err != nil || n < 0 {
		return 0, s.fail(s.pos, "%s: a whole number", want)
	}
	s.pos += len(w)
	return n, nil
}

// duration takes a time such as 20ms.
func (s *scanner) duration(want string) (time.Duration, error) {
	w := s.peek()
	d, err := time.ParseDuration(w)
	if err != nil || d < 0 {
		return 0, s.fail(s.pos, "%s such as 20ms", want)
	}
	s.pos += len(w)
	return d, nil
}

// key takes `name=` in front of a value if name is one of the known ones.
func (s *scanner) key(known ...string) (string, bool) {
	w := s.peek()
	for _, k := range known {
		if strings.HasPrefix(w, k+"=") {
			s.pos += len(k) + 1
			return k, true
		}
	}
	return "", false
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

// wordEnd is where the word at pos ends.
func wordEnd(line string, pos int) int {
	for pos < len(line) && !blank(line[pos]) {
		pos++
	}
	return pos
}
