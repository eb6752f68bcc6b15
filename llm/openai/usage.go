package openai

import (
	"encoding/json"

	sdk "github.com/openai/openai-go/v3"

	"github.com/everturn/everturn/session"
)

// usage splits the vendor's overlapping counts into disjoint ones.
func usage(u sdk.CompletionUsage) session.Usage {
	read, written := cached(u), u.PromptTokensDetails.CacheWriteTokens
	thought := u.CompletionTokensDetails.ReasoningTokens
	out := session.Usage{
		InputTokens:      max(0, u.PromptTokens-read-written),
		CacheReadTokens:  read,
		CacheWriteTokens: written,
		OutputTokens:     u.CompletionTokens,
		ReasoningTokens:  thought,
	}
	// Some servers count reasoning beside the completion; their total says so.
	if beside := u.PromptTokens+u.CompletionTokens+thought == u.TotalTokens; !beside {
		out.OutputTokens = max(0, u.CompletionTokens-thought)
	}
	return out
}

// cached is the part of the prompt that came from a cache; DeepSeek has a field of its own for it.
func cached(u sdk.CompletionUsage) int64 {
	if n := u.PromptTokensDetails.CachedTokens; n > 0 {
		return n
	}
	var n int64
	if f, ok := u.JSON.ExtraFields["prompt_cache_hit_tokens"]; ok {
		_ = json.Unmarshal([]byte(f.Raw()), &n) // what is no number is no count
	}
	return n
}
