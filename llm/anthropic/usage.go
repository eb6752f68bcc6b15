package anthropic

import (
	"cmp"

	sdk "github.com/anthropics/anthropic-sdk-go"

	"github.com/everturn/everturn/session"
)

// split makes the counts disjoint: the vendor counts thinking into the output, but no cached input into the input.
func split(input, read, written, output, thinking int64) session.Usage {
	return session.Usage{
		InputTokens:      input,
		CacheReadTokens:  read,
		CacheWriteTokens: written,
		OutputTokens:     max(0, output-thinking),
		ReasoningTokens:  thinking,
	}
}

// merge reads the final counts. They are totals; what they leave out stays as it was at the start.
func merge(start session.Usage, u sdk.MessageDeltaUsage) session.Usage {
	return split(
		cmp.Or(u.InputTokens, start.InputTokens),
		cmp.Or(u.CacheReadInputTokens, start.CacheReadTokens),
		cmp.Or(u.CacheCreationInputTokens, start.CacheWriteTokens),
		cmp.Or(u.OutputTokens, start.OutputTokens+start.ReasoningTokens),
		cmp.Or(u.OutputTokensDetails.ThinkingTokens, start.ReasoningTokens),
	)
}
