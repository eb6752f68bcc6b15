package scripted_test

import (
	"context"
	"fmt"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/session"
)

// A script is one line per request.
func Example() {
	p := scripted.New(scripted.Config{Models: map[string]scripted.Model{
		"test": {Script: scripted.MustParse(`
			tool c1 echo {"text":"hi"}
			text "The tool says hi." chunks=2
		`)},
	}})
	call, err := p.Prepare(context.Background(), session.CallConfig{Provider: "scripted", Model: "test"})
	if err != nil {
		panic(err)
	}
	for range 2 {
		for chunk, err := range llm.Stream(context.Background(), call, llm.Request{Session: "s"}) {
			if err != nil {
				panic(err)
			}
			raw, _ := session.MarshalChunk(chunk)
			fmt.Println(string(raw))
		}
	}
	// Output:
	// {"type":"tool-call-delta","index":0,"id":"c1","name":"echo","argumentsDelta":"{\"text\":\"hi\"}"}
	// {"type":"block-end","index":0,"block":{"type":"tool-call","id":"c1","name":"echo","arguments":"{\"text\":\"hi\"}"}}
	// {"type":"usage","usage":{"inputTokens":10,"outputTokens":5}}
	// {"type":"finish","reason":{"kind":"tool-calls"}}
	// {"type":"text-delta","index":0,"text":"The tool"}
	// {"type":"text-delta","index":0,"text":" says hi."}
	// {"type":"block-end","index":0,"block":{"type":"text","text":"The tool says hi."}}
	// {"type":"usage","usage":{"inputTokens":10,"outputTokens":5}}
	// {"type":"finish","reason":{"kind":"stop"}}
}

// A syntax error says where it is and what was expected.
func ExampleParse() {
	_, err := scripted.Parse("text \"ok\"\ntool c1 echo")
	fmt.Println(err)
	// Output: script line 2, column 13: expected the arguments (JSON such as {}, or raw text in double quotes), got the end of the line
}
