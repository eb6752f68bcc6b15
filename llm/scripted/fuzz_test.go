package scripted

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/session"
)

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`text "ok"`, `tool c1 echo {"a":[1]} chunks=2 open`, `reasoning "hm" usage 1 2 cache-read=3 hold h`,
		`error RATE_LIMIT "x" retry-after=2s status=429`, `chunk {"type":"usage","usage":{}}`, `delay 20ms none`,
		"# c\n\nempty", `text "\ud800"`, `replay {"blocks":[null]} text "x"`, "text \"a\x00\xff\"",
		`chunk {"type":"finish","reason":{"kind":"stop"}} no-usage`, `chunk {"type":"text-delta","index":-9223372036854775808}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		script, err := Parse(text)
		if err != nil {
			requirePlace(t, text, err)
			return
		}
		for _, answer := range script {
			requirePlayable(t, answer)
		}
	})
}

// requirePlace checks that a syntax error points into the script.
func requirePlace(t *testing.T, text string, err error) {
	t.Helper()
	var syntax *SyntaxError
	require.ErrorAs(t, err, &syntax)
	lines := strings.Split(text, "\n")
	require.GreaterOrEqual(t, syntax.Line, 1)
	require.LessOrEqual(t, syntax.Line, len(lines))
	require.GreaterOrEqual(t, syntax.Column, 1)
	require.LessOrEqual(t, syntax.Column, len([]rune(lines[syntax.Line-1]))+1)
	require.NotEmpty(t, syntax.Want)
}

// requirePlayable checks that the log can hold the stream and that nothing follows its finish or its error.
func requirePlayable(t *testing.T, answer Answer) {
	t.Helper()
	for i, s := range answer.steps {
		last := s.failure != nil
		if s.chunk != nil {
			_, err := session.MarshalChunk(s.chunk)
			require.NoError(t, err)
			_, last = s.chunk.(session.Finish)
		}
		require.True(t, !last || i == len(answer.steps)-1, "step %d of %d ends the stream", i, len(answer.steps))
	}
}
