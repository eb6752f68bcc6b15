package signals_test

import (
	"strings"
	"testing"

	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
	"github.com/stretchr/testify/require"
)

func TestTheSummaryOfAnAgent(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 150)
	for want, c := range map[string]signals.Create{
		"Review":               {Title: "Review", First: &signals.Send{Text: "look at it"}},
		"look at it":           {Definition: "d", First: &signals.Send{Text: "\n look at it \nand at that"}},
		"what is this?":        {Definition: "d", First: &signals.Send{Content: session.TextContent("what is this?")}},
		"agent · d":            {Definition: "d"},
		"agent · e":            {Definition: "e", First: &signals.Send{Text: " \n"}},
		long[:196] + "…":       {Title: long},
		long[:200]:             {Title: long[:200]},
		"a" + long[:196] + "…": {Title: "a" + long},
	} {
		require.Equal(t, want, c.Summary())
		require.LessOrEqual(t, len(c.Summary()), 200)
	}
}
