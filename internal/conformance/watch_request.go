package conformance

import (
	"context"
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
)

// requests are what the model was sent, in order.
func (r *run) requests() []llm.Request {
	if r.agent == nil {
		return nil
	}
	return r.world.sent.Session(r.agent.ID())
}

func parseRequests(args []string, rest string) (*watch, error) {
	return arriving(named("requests", value(args, rest), func(_ context.Context, r *run) (string, error) { return fmt.Sprint(len(r.requests())), nil }))
}

// parseRequest reads `request N: [system "…" |] message | message`.
func parseRequest(args []string, rest string) (*watch, error) {
	if len(args) != 1 {
		return nil, fmt.Errorf("want `request N: messages`")
	}
	n, err := strconv.Atoi(args[0])
	if err != nil || n < 1 {
		return nil, fmt.Errorf("%q is not the number of a request", args[0])
	}
	return arriving(named("request "+args[0]+":", rest, func(_ context.Context, r *run) (string, error) {
		all := r.requests()
		if n > len(all) {
			return "no such request", nil
		}
		return r.requestWords(all[n-1]), nil
	}))
}

// parseHistory reads `history: messages`, what the log derives to.
func parseHistory(_ []string, rest string) (*watch, error) {
	return named("history:", rest, func(ctx context.Context, r *run) (string, error) {
		s, err := r.fold(ctx)
		if err != nil {
			return "", err
		}
		return r.messageWords(s.Messages()), nil
	})
}

func (w *world) requestWords(req llm.Request) string {
	out := w.messageWords(req.Messages)
	if req.System != "" {
		out = "system " + quoted(req.System) + " | " + out
	}
	return out
}

func (w *world) messageWords(messages []session.Message) string {
	var out []string
	for _, m := range messages {
		out = append(out, w.oneMessage(m))
	}
	if out == nil {
		return "none"
	}
	return strings.Join(out, " | ")
}

// oneMessage writes a message: role, producer if it is a plugin, and blocks. A declared message that is whole is its name.
func (w *world) oneMessage(m session.Message) string {
	parts := []string{string(m.Role)}
	if m.Source.Kind == session.SourcePlugin {
		parts[0] += "[" + m.Source.Plugin + "]"
	}
	for name, declared := range w.messages {
		if declared.ID == m.ID && reflect.DeepEqual(declared.Content, m.Content) {
			return parts[0] + " " + name
		}
	}
	for _, b := range m.Content {
		if r, ok := b.(session.ToolResultBlock); ok {
			parts[0] = ""
			parts = append(parts, resultWords(r))
			continue
		}
		parts = append(parts, blockWords(b))
	}
	return strings.TrimSpace(strings.Join(parts, " "))
}

func resultWords(r session.ToolResultBlock) string {
	head := "result "
	if r.IsError {
		head = "result! "
	}
	return head + r.ToolCallID + " " + quoted(r.Content.Text())
}

func blockWords(b session.Block) string {
	switch b := b.(type) {
	case session.Text:
		return quoted(b.Text)
	case session.Reasoning:
		return "reasoning " + quoted(b.Text)
	case session.ToolCallBlock:
		return fmt.Sprintf("call %s %s %s", b.ID, b.Name, b.Arguments)
	default:
		return b.BlockType()
	}
}

var oneWord = regexp.MustCompile(`^[\pL\pN_.-]+$`)

// quoted writes a text as one word, in quotes unless it is one.
func quoted(text string) string {
	if oneWord.MatchString(text) {
		return text
	}
	return compact(text)
}
