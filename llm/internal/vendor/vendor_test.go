package vendor

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
)

func TestArguments(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		``:               `{}`,
		"  \n":           `{}`,
		`{"a": 1}`:       `{"a": 1}`,
		`{"a": 1`:        `{"malformed":"{\"a\": 1"}`,
		`null`:           `{"malformed":"null"}`,
		`[1]`:            `{"malformed":"[1]"}`,
		`{"a":1}{"b":2}`: `{"malformed":"{\"a\":1}{\"b\":2}"}`,
	} {
		require.Equal(t, want, string(Arguments(raw)), raw)
	}
}

func TestTextOfContent(t *testing.T) {
	t.Parallel()
	content := session.Content{
		session.Text{Text: "a"}, session.Reasoning{Text: "hidden"}, session.Image{Attachment: "x"},
		session.Artifact{Bytes: 5, MediaType: "text/plain"}, session.ToolCallBlock{ID: "c"},
	}
	require.Equal(t, "a\n[an image is not shown here]\n[a stored body of 5 bytes (text/plain) is not shown here]", Text(content))
}

func TestTheOldestPicturesGiveWayInGroups(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sizes []int64
		want  int
	}{
		"none":                       {nil, 0},
		"as many as fit":             {make([]int64, 100), 0},
		"one too many":               {make([]int64, 101), 10},
		"eleven too many":            {make([]int64, 111), 20},
		"too many bytes":             {slices.Repeat([]int64{1 << 20}, 25), 10},
		"the newest stays if it can": {[]int64{15 << 20, 15 << 20}, 1},
		"the newest is too large":    {[]int64{1, 30 << 20}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, surplus(c.sizes))
		})
	}
}

func TestPictures(t *testing.T) {
	t.Parallel()
	png := session.Image{Attachment: "p"}
	messages := []session.Message{
		{Content: session.Content{png}},
		{Content: session.Content{session.ToolResultBlock{Content: session.Content{png}}}},
	}
	load := func(context.Context, session.Image) ([]byte, error) { return []byte("\x89PNG\r\n\x1a\n"), nil }
	mediaType, data, shown, err := NewPictures(t.Context(), load, true, messages).Next(png)
	require.NoError(t, err)
	require.True(t, shown)
	require.Equal(t, "image/png", mediaType, "found out from the bytes")
	require.Equal(t, "iVBORw0KGgo=", data)

	_, _, shown, err = NewPictures(t.Context(), nil, true, messages).Next(png)
	require.NoError(t, err)
	require.False(t, shown)

	lost := errors.New("gone")
	load = func(context.Context, session.Image) ([]byte, error) { return nil, lost }
	_, _, _, err = NewPictures(t.Context(), load, true, messages).Next(png)
	require.ErrorIs(t, err, lost)
	require.Equal(t, string(llm.UnsupportedContent), llm.FailureOf(err).Code)
}

func TestALongMessageIsCut(t *testing.T) {
	t.Parallel()
	f := Fault{Provider: "p", Status: 400, Message: strings.Repeat("é", maxMessage)}.Failure()
	require.Less(t, len(f.Message), maxMessage+100)
	require.True(t, strings.HasSuffix(f.Message, "é…"))
}

func TestScrub(t *testing.T) {
	t.Parallel()
	f := session.Failure{Message: "key k-1 is bad, k-1"}
	require.Equal(t, "key [secret] is bad, [secret]", Scrub(f, llm.NewSecret("k-1")).Message)
	require.Equal(t, f, Scrub(f, llm.Secret{}))
}

func TestAServerThatDoesNotAnswerInTime(t *testing.T) {
	t.Parallel()
	c := &Call{Provider: "p"}
	err := c.Broken(t.Context(), context.DeadlineExceeded)
	require.Equal(t, string(llm.Timeout), err.Failure.Code)
	require.Nil(t, c.Broken(t.Context(), nil))
}
