package main

import (
	"iter"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/session"
)

// logOf is a log of turns, each with what the user said in it; the model repeats the last word of each step.
func logOf(turns ...[]string) iter.Seq2[session.Record, error] {
	return func(yield func(session.Record, error) bool) {
		for i, said := range turns {
			yield(session.Record{Event: session.TurnStart{Turn: i + 1}}, nil)
			for _, text := range said {
				yield(session.Record{Event: session.UserMessage{Message: session.Message{Role: session.RoleUser, Content: session.TextContent(text)}}}, nil)
				yield(session.Record{Event: session.AssistantMessage{Turn: i + 1, Message: session.Message{Role: session.RoleAssistant, Content: session.TextContent(text)}}}, nil)
			}
		}
	}
}

func TestAVerdictKnowsWhatBecameOfASteer(t *testing.T) {
	t.Parallel()
	open, steer := func(n int) string { return raceText(opens, n, "a") }, func(n int) string { return raceText(steers, n, "a") }
	for name, c := range map[string]struct {
		turns [][]string
		want  verdict
	}{
		"one joins, one wakes":  {[][]string{{open(0), steer(0)}, {open(1)}, {steer(1)}}, verdict{joined: 1, woke: 1}},
		"woken before the next": {[][]string{{open(0)}, {steer(0)}, {open(1), steer(1)}}, verdict{joined: 1, woke: 1}},
		"only with the next":    {[][]string{{open(0)}, {steer(0), open(1), steer(1)}}, verdict{joined: 1, lost: 1}},
		"only after the next":   {[][]string{{open(0)}, {open(1), steer(1)}, {steer(0)}}, verdict{joined: 1, lost: 1}},
		"the last never":        {[][]string{{open(0), steer(0)}, {open(1)}}, verdict{joined: 1, lost: 1}},
		"twice":                 {[][]string{{open(0), steer(0)}, {steer(0)}, {open(1), steer(1)}}, verdict{joined: 1, doubled: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := judge(logOf(c.turns...), 2)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
	_, err := judge(logOf([]string{open(0), steer(0)}), 2)
	require.ErrorContains(t, err, "race 1 was opened in the turns []")
}
