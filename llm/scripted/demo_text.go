package scripted

import (
	"fmt"
	"strings"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
)

// report says in words what a tool answered.
func report(call session.ToolCallBlock, r session.ToolResultBlock) string {
	text := shorten(strings.TrimRight(r.Content.Text(), "\n"))
	switch {
	case r.IsError:
		return fmt.Sprintf("The %s tool failed: %s", call.Name, text)
	case call.Name == "now":
		return "It is " + text + "."
	case call.Name == "list_files":
		return "The workspace holds:\n" + text
	case call.Name == "read_file":
		return "The file says:\n" + text
	default:
		return fmt.Sprintf("The %s tool says: %s", call.Name, text)
	}
}

// unquote strips one pair of quotes, or the punctuation that ends a sentence.
func unquote(s string) string {
	s = strings.TrimSpace(s)
	for _, pair := range []string{`""`, "''", "``", "“”", "「」"} {
		open, shut := string([]rune(pair)[0]), string([]rune(pair)[1])
		if inner, ok := strings.CutPrefix(s, open); ok && strings.HasSuffix(inner, shut) {
			return strings.TrimSuffix(inner, shut)
		}
	}
	return s
}

// words cuts a text into deltas of a word each, or of several when there are many.
func words(text string) []string {
	const most = 120
	all := strings.SplitAfter(text, " ")
	size := (len(all) + most - 1) / most
	var parts []string
	for i := 0; i < len(all); i += size {
		parts = append(parts, strings.Join(all[i:min(i+size, len(all))], ""))
	}
	return parts
}

// shorten keeps an answer that quotes a tool readable.
func shorten(text string) string {
	const most = 2000
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most]) + fmt.Sprintf("… (%d more characters)", len(runes)-most)
}

// estimate counts about four bytes a token.
func estimate(req llm.Request) int64 {
	size := len(req.System)
	for _, m := range req.Messages {
		size += len(m.Text())
	}
	return int64(size/4 + 1)
}
