package session_test

import (
	"fmt"
	"strings"

	"github.com/everturn/everturn/session"
)

// exported is a log as `starter log ID --json` prints it.
const exported = `{"seq":0,"time":1764500000000,"type":"agent/inbox/spliced","data":{"target":"next-turn","start":0,"inserted":[{"id":"m1","role":"user","content":[{"type":"text","text":"hello"}],"source":{"kind":"user"}}]}}
{"seq":1,"time":1764500000001,"type":"turn/start","data":{"turn":1}}
{"seq":2,"time":1764500000001,"type":"agent/inbox/spliced","data":{"target":"next-turn","start":0,"removedCount":1,"inserted":[]}}
{"seq":3,"time":1764500000002,"type":"step/start","data":{"turn":1,"step":1}}
{"seq":4,"time":1764500000002,"type":"user/message","surfaceOp":"append","data":{"id":"m1","role":"user","content":[{"type":"text","text":"hello"}],"source":{"kind":"user"}}}
{"seq":5,"time":1764500000003,"type":"agent/inbox/spliced","data":{"target":"next-turn","start":0,"inserted":[{"id":"m2","role":"user","content":[{"type":"text","text":"and bye"}],"source":{"kind":"user"}}]}}
`

// A log folds to everything there is to know: what the model sees, what is pending.
func ExampleFold() {
	records, err := session.ParseLog([]byte(exported))
	if err != nil {
		panic(err)
	}
	state, err := session.Fold(0, records)
	if err != nil {
		panic(err)
	}
	for _, m := range state.Messages() {
		fmt.Println("the model sees:", m.Text())
	}
	for _, m := range state.Inbox().NextTurn {
		fmt.Println("pending:", m.Text())
	}
	turn, open := state.Turn()
	fmt.Println("turn", turn, "open:", open)
	// Output:
	// the model sees: hello
	// pending: and bye
	// turn 1 open: true
}

// The short notation of a log.
func ExampleTrace() {
	records, err := session.ParseLog([]byte(exported))
	if err != nil {
		panic(err)
	}
	fmt.Println(session.Trace(records, func(id string) string { return id }))
	// Output: IS+(next-turn:m1) TS1 IS-(next-turn:1) SS1.1 UM(m1) IS+(next-turn:m2)
}

// What breaks a rule is refused, with the rule and the place.
func ExampleState_Apply() {
	records, err := session.ParseLog([]byte(exported))
	if err != nil {
		panic(err)
	}
	state := session.NewState()
	for _, r := range records {
		if err := state.Apply(r); err != nil {
			panic(err)
		}
	}
	fmt.Println(state.Apply(session.Record{Seq: 6, Event: session.TurnStart{Turn: 2}}))
	// Output: event 6: turn 2 starts while turn 1 is open (rule §2.4.3.1)
}

// A writer and a reader keep a log as JSON Lines.
func ExampleWriter() {
	var lines strings.Builder
	w := session.NewWriter(&lines)
	if err := w.Write(session.NewRecord(1764500000000, session.TurnStart{Turn: 1})); err != nil {
		panic(err)
	}
	fmt.Print(lines.String())
	for r, err := range session.NewReader(strings.NewReader(lines.String())).All() {
		fmt.Println(r.Event.Type(), err)
	}
	// Output:
	// {"seq":0,"time":1764500000000,"type":"turn/start","data":{"turn":1}}
	// turn/start <nil>
}
