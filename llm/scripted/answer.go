package scripted

import (
	"time"

	"github.com/everturn/everturn/session"
)

// A Script is a list of answers, one per request.
type Script []Answer

// An Answer is what one request is answered with. Make one with [Parse], [ParseAnswer], [Text] or [CallTool]. The zero
// value is a stream without any chunk.
type Answer struct {
	steps []step
}

// A step is one thing a stream does: exactly one of the first four fields is set.
type step struct {
	chunk   session.Chunk
	hold    string
	delay   time.Duration
	failure *session.Failure // ends the stream with an error

	slow int // a delta that waits this many paces, 0 means one
}

// Text is the answer of a plain text: text-delta, block-end, usage, finish.
func Text(text string) Answer {
	var b builder
	b.text(text, 1, false)
	return b.answer()
}

// CallTool is the answer of one tool call: tool-call-delta, block-end, usage, finish. arguments is raw text.
func CallTool(id, name, arguments string) Answer {
	var b builder
	b.tool(session.ToolCallBlock{ID: id, Name: name, Arguments: arguments}, 1, false)
	return b.answer()
}

// Golden is the script of the golden trace: the first answer asks for the tool echo, the others are plain text, each
// a stream of four chunks. See spec §2.6.
func Golden() Script {
	return Script{
		CallTool("c1", "echo", `{"text":"你好"}`),
		Text("The echo tool says: 你好"),
		Text("You are welcome."),
	}
}
