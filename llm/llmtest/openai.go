package llmtest

import (
	"net/http"
	"strings"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
)

// OpenAI speaks the Chat Completions protocol.
type OpenAI struct{}

var _ Wire = OpenAI{}

// Path is where calls go to.
func (OpenAI) Path() string { return "/v1/chat/completions" }

// Key is the credential that a call carries.
func (OpenAI) Key(h http.Header) string {
	return strings.TrimPrefix(h.Get("Authorization"), "Bearer ")
}

// RequestID is the header with the vendor's name of the request.
func (OpenAI) RequestID() string { return "x-request-id" }

// Garbage is an event that cannot be read.
func (OpenAI) Garbage() string { return "data: {\"choices\":[{\n\n" }

// Frames are the events of an answer.
func (w OpenAI) Frames(a Answer) []string {
	frames := []string{w.frame(object{"index": 0, "delta": object{"role": "assistant", "content": ""}})}
	calls := 0
	for _, b := range a.Blocks {
		for i, part := range b.Parts {
			frames = append(frames, w.frame(object{"index": 0, "delta": w.delta(b, i, calls, part)}))
		}
		if b.Kind == Called {
			calls++
		}
	}
	if a.End == EndUndefined {
		return append(frames, "data: [DONE]\n\n")
	}
	reason := map[string]string{EndStop: "stop", EndCalls: "tool_calls", EndLength: "length", EndWithheld: "content_filter"}[a.End]
	return append(frames,
		w.frame(object{"index": 0, "delta": object{}, "finish_reason": reason}),
		w.usage(a.Usage), "data: [DONE]\n\n")
}

func (OpenAI) delta(b Piece, i, call int, part string) object {
	switch b.Kind {
	case Thought:
		return object{"reasoning_content": part}
	case Said:
		return object{"content": part}
	}
	t := object{"index": call, "function": object{"arguments": part}}
	if i == 0 {
		t = object{"index": call, "id": b.ID, "type": "function", "function": object{"name": b.Name, "arguments": part}}
	}
	return object{"tool_calls": []object{t}}
}

func (OpenAI) frame(choice object) string {
	if choice["finish_reason"] == nil {
		choice["finish_reason"] = nil
	}
	return "data: " + encode(object{
		"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "usage": nil, "choices": []object{choice},
	}) + "\n\n"
}

func (OpenAI) usage(u session.Usage) string {
	prompt, completion := u.InputTokens+u.CacheReadTokens+u.CacheWriteTokens, u.OutputTokens+u.ReasoningTokens
	return "data: " + encode(object{
		"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": []object{},
		"usage": object{
			"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion,
			"prompt_tokens_details":     object{"cached_tokens": u.CacheReadTokens, "cache_write_tokens": u.CacheWriteTokens},
			"completion_tokens_details": object{"reasoning_tokens": u.ReasoningTokens},
		},
	}) + "\n\n"
}

func (OpenAI) error(message, kind string, code any) string {
	return encode(object{"error": object{"message": message, "type": kind, "param": nil, "code": code}})
}

// Breaks are error events in the middle of a stream.
func (w OpenAI) Breaks() []Break {
	frame := func(message, kind string, code any) string { return "data: " + w.error(message, kind, code) + "\n\n" }
	return []Break{
		{"server error", frame("The server had an error for $KEY.", "server_error", nil), llm.Server},
		{"rate limit", frame("Too fast.", "rate_limit_exceeded", "rate_limit_exceeded"), llm.RateLimit},
		{"numeric code of a router", frame("Provider returned error", "", 502), llm.Server},
		{"too long", frame("This model's maximum context length is 8192 tokens.", "invalid_request_error", nil), llm.ContextWindowExceeded},
	}
}

// Refusals are responses that are no success.
func (w OpenAI) Refusals() []Refusal {
	const bad = "invalid_request_error"
	return []Refusal{
		{"bad key", 401, w.error("Incorrect API key provided: $KEY.", bad, "invalid_api_key"), llm.Auth},
		{"forbidden", 403, w.error("Not allowed.", bad, nil), llm.Auth},
		{"no credit", 429, w.error("You exceeded your current quota.", "insufficient_quota", "insufficient_quota"), llm.Quota},
		{"no balance", 402, w.error("Insufficient Balance", "unknown_error", bad), llm.Quota},
		{"too fast", 429, w.error("Rate limit reached for gpt.", "requests", "rate_limit_exceeded"), llm.RateLimit},
		{"too long", 400, w.error("This model's maximum context length is 128000 tokens.", bad, "context_length_exceeded"), llm.ContextWindowExceeded},
		{"too long for a local server", 400, `{"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","code":400}`, llm.ContextWindowExceeded},
		{"bad request", 400, w.error("Invalid 'messages[0]'.", bad, nil), llm.InvalidRequest},
		{"no such model", 404, w.error("The model does not exist.", bad, "model_not_found"), llm.InvalidRequest},
		{"too large", 413, "", llm.InvalidRequest},
		{"validation of a local server", 422, `{"detail":[{"loc":["body"],"msg":"field required"}]}`, llm.InvalidRequest},
		{"error as a text", 400, `{"error":"model is required"}`, llm.InvalidRequest},
		{"server error", 500, w.error("The server had an error.", "server_error", nil), llm.Server},
		{"page of a proxy", 502, "<html><body>Bad Gateway</body></html>", llm.Server},
		{"overloaded", 503, w.error("Overloaded.", "service_unavailable_error", nil), llm.Server},
		{"a redirect", 307, "", llm.InvalidRequest},
	}
}
