package llmtest

import (
	"net/http"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
)

// Anthropic speaks the Messages protocol.
type Anthropic struct{}

var _ Wire = Anthropic{}

// Path is where calls go to.
func (Anthropic) Path() string { return "/v1/messages" }

// Key is the credential that a call carries.
func (Anthropic) Key(h http.Header) string { return h.Get("X-Api-Key") }

// RequestID is the header with the vendor's name of the request.
func (Anthropic) RequestID() string { return "request-id" }

// Garbage is an event that cannot be read.
func (Anthropic) Garbage() string {
	return "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":\n\n"
}

func (Anthropic) frame(kind string, fields object) string {
	fields["type"] = kind
	return "event: " + kind + "\ndata: " + encode(fields) + "\n\n"
}

// Frames are the events of an answer. Every thought is signed with its first part.
func (w Anthropic) Frames(a Answer) []string {
	frames := []string{
		w.frame("message_start", object{"message": object{
			"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": []object{}, "stop_reason": nil,
			"usage": w.usage(session.Usage{InputTokens: a.Usage.InputTokens, CacheReadTokens: a.Usage.CacheReadTokens, CacheWriteTokens: a.Usage.CacheWriteTokens, OutputTokens: 1}),
		}}),
		w.frame("ping", object{}),
	}
	for i, b := range a.Blocks {
		frames = append(frames, w.block(i, b)...)
	}
	if a.End != EndUndefined {
		reason := map[string]string{EndStop: "end_turn", EndCalls: "tool_use", EndLength: "max_tokens", EndWithheld: "refusal"}[a.End]
		frames = append(frames, w.frame("message_delta", object{"delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": w.usage(a.Usage)}))
	}
	return append(frames, w.frame("message_stop", object{}))
}

func (w Anthropic) block(i int, b Piece) []string {
	var start object
	var delta func(part string) object
	switch b.Kind {
	case Thought:
		start = object{"type": "thinking", "thinking": "", "signature": ""}
		delta = func(part string) object { return object{"type": "thinking_delta", "thinking": part} }
	case Said:
		start = object{"type": "text", "text": ""}
		delta = func(part string) object { return object{"type": "text_delta", "text": part} }
	default:
		start = object{"type": "tool_use", "id": b.ID, "name": b.Name, "input": object{}}
		delta = func(part string) object { return object{"type": "input_json_delta", "partial_json": part} }
	}
	frames := []string{w.frame("content_block_start", object{"index": i, "content_block": start})}
	for _, part := range b.Parts {
		frames = append(frames, w.frame("content_block_delta", object{"index": i, "delta": delta(part)}))
	}
	if b.Kind == Thought {
		frames = append(frames, w.frame("content_block_delta", object{"index": i, "delta": object{"type": "signature_delta", "signature": Signature(b)}}))
	}
	return append(frames, w.frame("content_block_stop", object{"index": i}))
}

// Signature is the signature of a thought.
func Signature(b Piece) string { return "signed:" + b.Parts[0] }

func (Anthropic) usage(u session.Usage) object {
	return object{
		"input_tokens": u.InputTokens, "output_tokens": u.OutputTokens + u.ReasoningTokens,
		"cache_read_input_tokens": u.CacheReadTokens, "cache_creation_input_tokens": u.CacheWriteTokens,
		"output_tokens_details": object{"thinking_tokens": u.ReasoningTokens},
	}
}

func (Anthropic) error(kind, message string) string {
	return encode(object{"type": "error", "error": object{"type": kind, "message": message}, "request_id": "req_body"})
}

// Breaks are error events in the middle of a stream.
func (w Anthropic) Breaks() []Break {
	frame := func(kind, message string) string { return "event: error\ndata: " + w.error(kind, message) + "\n\n" }
	return []Break{
		{"overloaded", frame("overloaded_error", "Overloaded for $KEY"), llm.Server},
		{"internal", frame("api_error", "Internal server error"), llm.Server},
		{"rate limit", frame("rate_limit_error", "Too fast"), llm.RateLimit},
		{"bad request", frame("invalid_request_error", "No."), llm.InvalidRequest},
	}
}

// Refusals are responses that are no success.
func (w Anthropic) Refusals() []Refusal {
	const bad = "invalid_request_error"
	return []Refusal{
		{"bad key", 401, w.error("authentication_error", "invalid x-api-key $KEY"), llm.Auth},
		{"forbidden", 403, w.error("permission_error", "Not allowed."), llm.Auth},
		{"no credit", 400, w.error(bad, "Your credit balance is too low to access the API."), llm.Quota},
		{"billing", 402, w.error("billing_error", "Payment needed."), llm.Quota},
		{"too fast", 429, w.error("rate_limit_error", "This would exceed your rate limit."), llm.RateLimit},
		{"too long", 400, w.error(bad, "prompt is too long: 210000 tokens > 200000 maximum"), llm.ContextWindowExceeded},
		{"too long with its output", 400, w.error(bad, "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000"), llm.ContextWindowExceeded},
		{"bad request", 400, w.error(bad, "messages: at least one message is required"), llm.InvalidRequest},
		{"no such model", 404, w.error("not_found_error", "model: m"), llm.InvalidRequest},
		{"too large", 413, w.error("request_too_large", "Request exceeds the maximum size"), llm.InvalidRequest},
		{"internal", 500, w.error("api_error", "Internal server error"), llm.Server},
		{"page of a proxy", 502, "<html><body>Bad Gateway</body></html>", llm.Server},
		{"gateway timeout", 504, w.error("timeout_error", "Timed out"), llm.Server},
		{"overloaded", 529, w.error("overloaded_error", "Overloaded"), llm.Server},
		{"a redirect", 307, "", llm.InvalidRequest},
	}
}
