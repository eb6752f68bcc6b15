package work

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatARuleFits(t *testing.T) {
	t.Parallel()
	args := func(pairs ...string) (out []ArgPattern) {
		for i := 0; i < len(pairs); i += 2 {
			out = append(out, ArgPattern{pairs[i], pairs[i+1]})
		}
		return out
	}
	for name, c := range map[string]struct {
		rule      Rule
		arguments string
		fits      bool
	}{
		"any call":                         {Rule{}, `{"path":"x"}`, true},
		"any call, whatever it says":       {Rule{}, `no JSON`, true},
		"another tool":                     {Rule{Tool: "read"}, `{}`, false},
		"the tool's name in another case":  {Rule{Tool: "Write"}, `{}`, false},
		"the same call":                    {Rule{Digest: "d"}, `{}`, true},
		"another call":                     {Rule{Digest: "e"}, `{}`, false},
		"the same call, and a pattern":     {Rule{Digest: "d", Args: args("path", "x")}, `{"path":"y"}`, false},
		"a value":                          {Rule{Args: args("path", "x")}, `{"path":"x"}`, true},
		"another value":                    {Rule{Args: args("path", "x")}, `{"path":"xy"}`, false},
		"it is not there":                  {Rule{Args: args("path", "*")}, `{}`, false},
		"nothing is there":                 {Rule{Args: args("path", "*")}, ``, false},
		"a star is any text":               {Rule{Args: args("path", "docs/*")}, `{"path":"docs/a/../b"}`, true},
		"a star is no text":                {Rule{Args: args("path", "docs/*")}, `{"path":"docs/"}`, true},
		"not before it":                    {Rule{Args: args("path", "docs/*")}, `{"path":"/docs/a"}`, false},
		"a star in between":                {Rule{Args: args("path", "a*b*c")}, `{"path":"a-b-b-c"}`, true},
		"parts do not overlap":             {Rule{Args: args("path", "ab*ba")}, `{"path":"aba"}`, false},
		"only a star":                      {Rule{Args: args("path", "*")}, `{"path":""}`, true},
		"two stars":                        {Rule{Args: args("path", "**x")}, `{"path":"yx"}`, true},
		"an empty pattern":                 {Rule{Args: args("path", "")}, `{"path":"x"}`, false},
		"no other signs mean anything":     {Rule{Args: args("path", "a?[b].")}, `{"path":"axb."}`, false},
		"a line end":                       {Rule{Args: args("path", "docs/*")}, `{"path":"docs/a\nb"}`, true},
		"an escaped value":                 {Rule{Args: args("path", "docs/*")}, `{"path":"\u0064ocs/a"}`, true},
		"an escaped name":                  {Rule{Args: args("path", "x")}, `{"p\u0061th":"x"}`, true},
		"all patterns":                     {Rule{Args: args("path", "x", "force", "false")}, `{"force":false,"path":"x"}`, true},
		"one of them does not fit":         {Rule{Args: args("path", "x", "force", "false")}, `{"force":true,"path":"x"}`, false},
		"others do not matter":             {Rule{Args: args("path", "x")}, `{"path":"x","mode":"any"}`, true},
		"a number":                         {Rule{Args: args("n", "1")}, `{"n":1}`, true},
		"a number written otherwise":       {Rule{Args: args("n", "1")}, `{"n":1.0}`, false},
		"a text that is like a number":     {Rule{Args: args("n", "1")}, `{"n":"1"}`, true},
		"null":                             {Rule{Args: args("n", "null")}, `{"n":null}`, true},
		"an object as JSON":                {Rule{Args: args("o", `{"a":[1,2]}`)}, `{"o":{ "a" : [1, 2] }}`, true},
		"a name below the top":             {Rule{Args: args("path", "x")}, `{"o":{"path":"x"}}`, false},
		"a name in another case":           {Rule{Args: args("path", "x")}, `{"Path":"x"}`, false},
		"two names":                        {Rule{Args: args("path", "x")}, `{"path":"x","path":"x"}`, false},
		"the evil one first":               {Rule{Args: args("path", "x")}, `{"path":"evil","path":"x"}`, false},
		"two cases of a name":              {Rule{Args: args("path", "x")}, `{"path":"x","PATH":"evil"}`, false},
		"two cases, as Unicode folds":      {Rule{Args: args("task", "x")}, `{"task":"x","ta\u017fk":"evil"}`, false},
		"two cases of a name next to it":   {Rule{Args: args("path", "x")}, `{"path":"x","k":1,"K":2}`, false},
		"something after the object":       {Rule{Args: args("path", "x")}, `{"path":"x"} {"path":"evil"}`, false},
		"not closed":                       {Rule{Args: args("path", "x")}, `{"path":"x"`, false},
		"a list":                           {Rule{Args: args("path", "x")}, `["path","x"]`, false},
		"text":                             {Rule{Args: args("path", "x")}, `path: x`, false},
		"blanks around":                    {Rule{Args: args("path", "x")}, " {\"path\" : \"x\" } \n", true},
		"a name of JSON's own signs":       {Rule{Args: args(`a"b`, "x")}, `{"a\"b":"x"}`, true},
		"an argument that is a blob's":     {Rule{Args: args("path", "*")}, "", false},
		"a digest only, of blob arguments": {Rule{Digest: "d"}, "", true},
	} {
		if c.rule.Tool == "" {
			c.rule.Tool = "write"
		}
		require.Equal(t, c.fits, c.rule.Fits("write", "d", c.arguments), name)
	}
}

func TestHowLongARuleLasts(t *testing.T) {
	t.Parallel()
	require.True(t, Rule{}.Lasts(1<<60))
	require.True(t, Rule{UntilMS: 10}.Lasts(9))
	require.False(t, Rule{UntilMS: 10}.Lasts(10))
}
