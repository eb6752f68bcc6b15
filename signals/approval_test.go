package signals_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/everturn/everturn/signals"
	"github.com/stretchr/testify/require"
)

func TestDecodeDecision(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		act, raw string
		want     signals.Decision
		err      string
	}{
		"just the id":           {signals.Approve, ` "1.1.c1"`, signals.Decision{ID: "1.1.c1"}, ""},
		"an object":             {signals.DenyCall, `{"id":"1.1.c1","by":"ann","reason":"no"}`, signals.Decision{ID: "1.1.c1", By: "ann", Reason: "no"}, ""},
		"other arguments":       {signals.Approve, `{"id":"x","digest":"d","arguments":{"to":"test"}}`, signals.Decision{ID: "x", Digest: "d", Arguments: json.RawMessage(`{"to":"test"}`)}, ""},
		"remember":              {signals.Approve, `{"id":"x","remember":{}}`, signals.Decision{ID: "x", Remember: &signals.Remember{}}, ""},
		"remember a pattern":    {signals.Approve, `{"id":"x","remember":{"args":{"path":"docs/*"}}}`, signals.Decision{ID: "x", Remember: &signals.Remember{Args: signals.Patterns{{Arg: "path", Pattern: "docs/*"}}}}, ""},
		"no patterns":           {signals.Approve, `{"id":"x","remember":{"args":null,"any":true}}`, signals.Decision{ID: "x", Remember: &signals.Remember{Any: true}}, ""},
		"nothing":               {signals.Approve, ``, signals.Decision{}, "approve: id is missing"},
		"an empty id":           {signals.DenyCall, `""`, signals.Decision{}, "deny: id is missing"},
		"a number":              {signals.Approve, `7`, signals.Decision{}, "cannot unmarshal number"},
		"arguments in a list":   {signals.Approve, `{"id":"x","arguments":["a"]}`, signals.Decision{}, "approve: arguments must be an object"},
		"arguments as text":     {signals.Approve, `{"id":"x","arguments":"{}"}`, signals.Decision{}, "approve: arguments must be an object"},
		"arguments of null":     {signals.Approve, `{"id":"x","arguments":null}`, signals.Decision{}, "approve: arguments must be an object"},
		"large arguments":       {signals.Approve, `{"id":"x","arguments":{"a":"` + strings.Repeat("x", signals.MaxInline) + `"}}`, signals.Decision{}, "at most 4096 are taken"},
		"a denial with more":    {signals.DenyCall, `{"id":"x","arguments":{}}`, signals.Decision{}, "deny: arguments and remember go with approve"},
		"a denial to remember":  {signals.DenyCall, `{"id":"x","remember":{}}`, signals.Decision{}, "deny: arguments and remember go with approve"},
		"both":                  {signals.Approve, `{"id":"x","arguments":{},"remember":{}}`, signals.Decision{}, "leave one of them out"},
		"any, and patterns":     {signals.Approve, `{"id":"x","remember":{"any":true,"args":{"a":"b"}}}`, signals.Decision{}, "use any or args"},
		"patterns in a list":    {signals.Approve, `{"id":"x","remember":{"args":["a"]}}`, signals.Decision{}, "args must be an object"},
		"a pattern is a number": {signals.Approve, `{"id":"x","remember":{"args":{"a":1}}}`, signals.Decision{}, "the pattern for a must be a string"},
		"a pattern of nothing":  {signals.Approve, `{"id":"x","remember":{"args":{"":"b"}}}`, signals.Decision{}, "the name of an argument is empty"},
		"before all time":       {signals.Approve, `{"id":"x","remember":{"untilMs":-1}}`, signals.Decision{}, "untilMs is -1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := signals.DecodeDecision(c.act, []byte(c.raw))
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestDecodePolicy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		raw  string
		want signals.Policy
		err  string
	}{
		"just the mode":       {`"never"`, signals.Policy{Mode: signals.PolicyNever}, ""},
		"rules":               {`{"allow":[{"tool":"t","args":{"a":"b*"},"untilMs":5}],"revoke":["rule-1"]}`, signals.Policy{Allow: []signals.Rule{{Tool: "t", Args: signals.Patterns{{Arg: "a", Pattern: "b*"}}, UntilMS: 5}}, Revoke: []string{"rule-1"}}, ""},
		"nothing":             {``, signals.Policy{}, "policy: nothing is said"},
		"only who":            {`{"by":"ann"}`, signals.Policy{}, "policy: nothing is said"},
		"an unknown mode":     {`"sometimes"`, signals.Policy{}, `policy: mode "sometimes" is unknown: use ask, allow-list, never or always`},
		"a mode in capitals":  {`"NEVER"`, signals.Policy{}, "is unknown"},
		"a rule of no tool":   {`{"allow":[{"tool":"t"},{}]}`, signals.Policy{}, "policy: rule 2 of allow: name a tool"},
		"a rule with an id":   {`{"allow":[{"tool":"t","id":"rule-9"}]}`, signals.Policy{}, "leave the id out"},
		"a rule before time":  {`{"allow":[{"tool":"t","untilMs":-5}]}`, signals.Policy{}, "untilMs is -5"},
		"patterns in a list":  {`{"allow":[{"tool":"t","args":[]}]}`, signals.Policy{}, "args must be an object"},
		"a list":              {`[]`, signals.Policy{}, "cannot unmarshal array"},
		"rules are no object": {`{"allow":{"tool":"t"}}`, signals.Policy{}, "cannot unmarshal object"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := signals.DecodePolicy([]byte(c.raw))
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}
