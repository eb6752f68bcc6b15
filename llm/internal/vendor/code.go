package vendor

import (
	"strings"

	"github.com/everturn/everturn/llm"
)

// code classifies by the vendor's own words first and by the status last: vendors use 400 and 429 for several things.
func (f Fault) code() llm.Code {
	switch {
	case f.refusesCredential():
		return llm.Auth
	case f.says(quota):
		return llm.Quota
	case f.Status != 429 && f.says(overflow):
		return llm.ContextWindowExceeded
	case f.Status == 0:
		return f.byKind()
	default:
		return byStatus(f.Status)
	}
}

func (f Fault) refusesCredential() bool {
	return f.Status == 401 || f.Status == 403 || f.Kind == "authentication_error" || f.Kind == "permission_error"
}

// quota holds the words for an empty account.
var quota = []string{
	"insufficient_quota", "billing_error", "billing_hard_limit", "insufficient balance", "insufficient credits",
	"credit balance is too low", "exceeded your current quota",
}

// overflow holds the words for a request that is too long for the model.
var overflow = []string{
	"context_length_exceeded", "maximum context length", "context window", "context limit", "available context size",
	"prompt is too long", "input is too long", "maximum prompt length", "model_context_window_exceeded",
}

func (f Fault) says(words []string) bool {
	all := strings.ToLower(f.Kind + " " + f.Code + " " + f.Message)
	for _, w := range words {
		if strings.Contains(all, w) {
			return true
		}
	}
	return false
}

// byKind classifies an error inside a stream, which has no status.
func (f Fault) byKind() llm.Code {
	switch f.Kind {
	case "invalid_request_error", "not_found_error", "request_too_large":
		return llm.InvalidRequest
	case "rate_limit_error", "rate_limit_exceeded":
		return llm.RateLimit
	default:
		return llm.Server
	}
}

func byStatus(status int) llm.Code {
	switch {
	case status == 402:
		return llm.Quota
	case status == 408:
		return llm.Timeout
	case status == 429:
		return llm.RateLimit
	case status >= 500:
		return llm.Server
	default:
		return llm.InvalidRequest
	}
}
