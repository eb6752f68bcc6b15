package session

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
)

// DefaultMaxLine is the longest line a [Reader] accepts unless told otherwise, in bytes.
const DefaultMaxLine = 64 << 20

var byteOrderMark = []byte("\xef\xbb\xbf")

// A Writer writes records as JSON Lines. See spec §2.7.
type Writer struct{ w io.Writer }

// NewWriter returns a writer that does not buffer.
func NewWriter(w io.Writer) *Writer { return &Writer{w} }

// Write writes one line.
func (w *Writer) Write(r Record) error {
	line, err := r.MarshalJSON()
	if err != nil {
		return err
	}
	_, err = w.w.Write(append(line, '\n'))
	return err
}

// A Reader reads records from JSON Lines. Set MaxLine before reading.
type Reader struct {
	MaxLine int // bytes; 0 is DefaultMaxLine
	r       io.Reader
}

// NewReader returns a reader of one log.
func NewReader(r io.Reader) *Reader { return &Reader{r: r} }

// All yields the records in order. It ends after the first error, which names the line; a line that is no record is a
// [*RuleError]. It does not check the rules of the log; [Fold] does.
func (r *Reader) All() iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		limit := r.MaxLine
		if limit <= 0 {
			limit = DefaultMaxLine
		}
		lines := bufio.NewScanner(r.r)
		lines.Buffer(nil, limit+1)
		n := 0
		for lines.Scan() {
			n++
			rec, err := parseLine(lines.Bytes())
			if err != nil {
				yield(Record{}, fmt.Errorf("line %d: %w", n, formless(err, n)))
				return
			}
			if !yield(rec, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(Record{}, fmt.Errorf("line %d: %w", n+1, explainLimit(err, limit)))
		}
	}
}

// formless gives a line that is no record the rule it breaks.
func formless(err error, line int) error {
	var rule *RuleError
	if errors.As(err, &rule) {
		return err
	}
	return &RuleError{Seq: int64(line - 1), Rule: RuleForm, Msg: err.Error()}
}

func explainLimit(err error, limit int) error {
	if errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("longer than %d bytes: %w", limit, err)
	}
	return err
}

func parseLine(line []byte) (Record, error) {
	switch {
	case bytes.HasPrefix(line, byteOrderMark):
		return Record{}, errors.New("a log has no byte order mark")
	case len(bytes.TrimSpace(line)) == 0:
		return Record{}, errors.New("the line is empty")
	}
	return decode[Record](line)
}

// ParseLog reads a whole log. Like [Reader.All] it checks the form, not the rules.
func ParseLog(data []byte) ([]Record, error) {
	var out []Record
	for r, err := range NewReader(bytes.NewReader(data)).All() {
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}
