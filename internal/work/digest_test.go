package work

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestADigestIsOfWhatTheToolIsGiven(t *testing.T) {
	t.Parallel()
	same := func(a, b string) bool { return CallDigest("t", a) == CallDigest("t", b) }
	for name, pair := range map[string][2]string{
		"blanks":             {` { "a" : [ 1 , 2 ] } `, `{"a":[1,2]}`},
		"order":              {`{"b":{"y":1,"x":2},"a":null}`, `{"a":null,"b":{"x":2,"y":1}}`},
		"nothing":            {"", "{}"},
		"blank":              {" \n", "{}"},
		"escapes":            {`{"a":"\u0041<\/p>"}`, `{"a":"A</p>"}`},
		"text is no JSON":    {"rm -rf", "rm -rf"},
		"two names the same": {`{"a":1,"a":2}`, `{"a":1,"a":2}`},
	} {
		require.True(t, same(pair[0], pair[1]), name)
	}
	for name, pair := range map[string][2]string{
		"a value":                  {`{"a":1}`, `{"a":2}`},
		"a number written so":      {`{"a":1}`, `{"a":1.0}`},
		"a large number":           {`{"a":9007199254740993}`, `{"a":9007199254740992}`},
		"a number is no text":      {`{"a":1}`, `{"a":"1"}`},
		"order in a list":          {`[1,2]`, `[2,1]`},
		"nested":                   {`{"a":{"b":1}}`, `{"a":{"b":2}}`},
		"names in another case":    {`{"path":"a","PATH":"b"}`, `{"PATH":"b","path":"a"}`},
		"the last of two counts":   {`{"a":1,"a":2}`, `{"a":2}`},
		"cases, as Unicode folds":  {`{"ask":1,"a\u017fk":2}`, `{"a\u017fk":2,"ask":1}`},
		"deep below":               {`{"x":[{"k":1,"K":2}]}`, `{"x":[{"K":2,"k":1}]}`},
		"something after":          {`{"a":1}`, `{"a":1} x`},
		"two values":               {`{"a":1}`, `{"a":1}{"a":1}`},
		"not closed":               {`{"a":1}`, `{"a":1`},
		"blanks of what is text":   {`x y`, `x  y`},
		"a name that needs quotes": {`{"a\"":1}`, `{"a":1}`},
	} {
		require.False(t, same(pair[0], pair[1]), name)
	}
	require.NotEqual(t, CallDigest("a", "{}"), CallDigest("b", "{}"))
	require.NotEqual(t, CallDigest("a", "\nb"), CallDigest("a\n", "b"), "where a name ends is certain")
	require.Equal(t, "da1f", CallDigest("t", strings.Repeat("[", 200_000))[:4], "as deep as somebody likes: it is text")
	require.Equal(t, "d476a804", CallDigest("deploy", `{"to":"prod"}`)[:8], "recorded histories and rules hold them")
}
