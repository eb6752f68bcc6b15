package session

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

const (
	line0 = `{"seq":0,"time":1,"type":"turn/start","data":{"turn":1}}`
	line1 = `{"seq":1,"time":1,"type":"turn/end","data":{"turn":1,"reason":{"kind":"completed"}}}`
)

func TestALogIsReadLineByLine(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"with a last line end":    line0 + "\n" + line1 + "\n",
		"without a last line end": line0 + "\n" + line1,
		"with carriage returns":   line0 + "\r\n" + line1 + "\r\n",
		"with spaces":             " " + line0 + " \n\t" + line1,
	} {
		records, err := ParseLog([]byte(text))
		require.NoError(t, err, name)
		require.Equal(t, "TS1 TE(completed)", Trace(records, nil))
		require.Equal(t, line0+"\n"+line1+"\n", string(encodeLog(t, records)))
	}
	records, err := ParseLog(nil)
	require.NoError(t, err)
	require.Empty(t, records)
}

func TestReadingErrorsNameTheLineTheSeqAndTheRule(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text, want string
		seq              int64
		rule             string
	}{
		{"a byte order mark", "\xef\xbb\xbf" + line0, "line 1: event 0: a log has no byte order mark", 0, RuleForm},
		{"an empty line", line0 + "\n\n" + line1, "line 2: event 1: the line is empty", 1, RuleForm},
		{"a broken line", line0 + "\n" + line1[:20], "line 2: event 1: ", 1, RuleForm},
		{"two records in a line", line0 + line1, "line 1: event 0: ", 0, RuleForm},
		{"invalid UTF-8", strings.Replace(line0, "turn/", "turn\xff", 1), "line 1: event 0: record: text is not valid UTF-8", 0, RuleForm},
		{"an unknown type", line0 + "\n" + strings.Replace(line1, "turn/", "tern/", 1), "line 2: event 1: unknown event type", 1, RuleType},
	} {
		_, err := ParseLog([]byte(c.text))
		require.ErrorContains(t, err, c.want, c.name)
		var rule *RuleError
		require.ErrorAs(t, err, &rule, c.name)
		require.Equal(t, c.seq, rule.Seq, c.name)
		require.Equal(t, c.rule, rule.Rule, c.name)
	}
}

func TestLinesAreLimited(t *testing.T) {
	t.Parallel()
	read := func(limit int) (n int, err error) {
		r := NewReader(strings.NewReader(line0 + "\n" + line1 + "\n"))
		r.MaxLine = limit
		for _, err := range r.All() {
			if err != nil {
				return n, err
			}
			n++
		}
		return n, nil
	}
	n, err := read(len(line1))
	require.NoError(t, err)
	require.Equal(t, 2, n)
	n, err = read(len(line1) - 1)
	require.ErrorContains(t, err, "line 2: longer than")
	require.Equal(t, 1, n)
}

func TestAFailingSourceEndsTheReading(t *testing.T) {
	t.Parallel()
	for _, err := range NewReader(iotest.ErrReader(errors.New("disk on fire"))).All() {
		require.ErrorContains(t, err, "line 1: disk on fire")
	}
}

func TestReadingStopsWhenTheCallerDoes(t *testing.T) {
	t.Parallel()
	n := 0
	for range NewReader(strings.NewReader(line0 + "\n" + line1)).All() {
		n++
		break
	}
	require.Equal(t, 1, n)
}

func TestTheWriterReportsWhatItCannotWrite(t *testing.T) {
	t.Parallel()
	require.Error(t, NewWriter(&bytes.Buffer{}).Write(Record{}))
	broken := NewRecord(1, Feature{Kind: "session/title", Data: json.RawMessage("{")})
	require.Error(t, NewWriter(&bytes.Buffer{}).Write(broken))
}

func TestRecordsStayOnOneLine(t *testing.T) {
	t.Parallel()
	r := NewRecord(1, Feature{Kind: "session/title", Data: json.RawMessage("{\n\"title\": \"a\"\n}")})
	text := encodeLog(t, []Record{r, r})
	require.Equal(t, 2, bytes.Count(text, []byte("\n")))
}
