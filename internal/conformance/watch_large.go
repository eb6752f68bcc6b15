package conformance

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/everturn/everturn/session"
)

// resultOf is the block of the tool result that an event is.
func resultOf(rec session.Record) (session.ToolResultBlock, error) {
	if e, ok := rec.Event.(session.ToolResult); ok && len(e.Message.Content) == 1 {
		if b, ok := e.Message.Content[0].(session.ToolResultBlock); ok {
			return b, nil
		}
	}
	return session.ToolResultBlock{}, fmt.Errorf("%s is no result of a tool", rec.Event.Type())
}

// resultAt is the result that a selector names in the log as it is now.
func (r *run) resultAt(ctx context.Context, s selector) (session.ToolResultBlock, error) {
	records, err := r.log(ctx)
	if err != nil {
		return session.ToolResultBlock{}, err
	}
	at, err := s.find(entries(records))
	if err != nil {
		return session.ToolResultBlock{}, err
	}
	return resultOf(records[at])
}

// parseShown reads `shown ENTRY: whole N` of a result of the deed `long N`, and `shown ENTRY: head, note, tail of N` of
// its projection, which is within the threshold and says what it leaves out and where that is.
func parseShown(args []string, value string) (*watch, error) {
	s, err := parseSelector(args)
	if err != nil {
		return nil, err
	}
	return named("shown "+s.String()+":", value, func(ctx context.Context, r *run) (string, error) {
		b, err := r.resultAt(ctx, s)
		return shownWords(b.Content.Text(), r.pipeline.maxResult), err
	})
}

var projected = regexp.MustCompile(`^(x+)\s+\[(\d+) of (\d+) bytes .*([0-9a-f]{64}).*\]\s+(x+)$`)

func shownWords(text string, limit int) string {
	if strings.Trim(text, "x") == "" {
		return fmt.Sprintf("whole %d", len(text))
	}
	m := projected.FindStringSubmatch(text)
	if m == nil {
		return quoted(text)
	}
	omitted, _ := strconv.Atoi(m[2]) // digits
	total, _ := strconv.Atoi(m[3])
	sum := sha256.Sum256([]byte(strings.Repeat("x", total)))
	switch {
	case len(text) > limit:
		return fmt.Sprintf("%d bytes, more than the threshold", len(text))
	case omitted != total-len(m[1])-len(m[5]):
		return "a wrong number of bytes: " + quoted(text)
	case m[4] != hex.EncodeToString(sum[:]):
		return "a pointer to something else: " + quoted(text)
	}
	return fmt.Sprintf("head, note, tail of %d", total)
}

// parseSent reads `sent N CALL: ENTRY`: the request shows the result of the call as this event has it.
func parseSent(args []string, value string) (*watch, error) {
	if len(args) != 2 {
		return nil, fmt.Errorf("want `sent N CALL: ENTRY`")
	}
	n, err := strconv.Atoi(args[0])
	if err != nil || n < 1 {
		return nil, fmt.Errorf("%q is not the number of a request", args[0])
	}
	s, err := parseSelector(strings.Fields(value))
	if err != nil {
		return nil, err
	}
	return named("sent "+strings.Join(args, " ")+":", value, func(ctx context.Context, r *run) (string, error) {
		want, err := r.resultAt(ctx, s)
		if err != nil {
			return "", err
		}
		got, found := r.sentResult(n, args[1])
		switch {
		case !found:
			return "no such result", nil
		case !reflect.DeepEqual(got, want):
			return "something else: " + resultWords(got), nil
		}
		return s.String(), nil
	})
}

// sentResult is the result of a call as a request shows it.
func (r *run) sentResult(n int, call string) (session.ToolResultBlock, bool) {
	all := r.requests()
	if n > len(all) {
		return session.ToolResultBlock{}, false
	}
	for _, m := range all[n-1].Messages {
		for _, b := range m.Content {
			if result, ok := b.(session.ToolResultBlock); ok && result.ToolCallID == call {
				return result, true
			}
		}
	}
	return session.ToolResultBlock{}, false
}
