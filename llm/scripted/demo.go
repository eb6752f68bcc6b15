package scripted

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
)

// Demo is the model of an installation without a key. It answers by simple rules: asked to echo something, for the time,
// to list, read or write files, or to ask the user something, it calls the built-in tool if that is offered; asked to count
// to a number it counts slowly, so that one can interrupt; to anything else it says what it is and how to get a real
// model.
//
// Every answer is a function of the request alone, so it goes on after a restart. Set Pace to 0 for no pauses.
func Demo() Model {
	return Model{Respond: demo, Pace: 20 * time.Millisecond, SystemPromptUpdate: true}
}

// slow is how many paces the demo waits between numbers when it counts.
const slow = 15

func demo(req llm.Request) Answer {
	d := demoTurn{req: req, calls: map[string]session.ToolCallBlock{}}
	d.read()
	b := &d.out
	if len(d.results) > 0 {
		b.textParts(words(strings.Join(d.results, "\n\n")), false, 0)
	}
	if d.asked != "" || len(d.results) == 0 {
		d.respond(strings.TrimSpace(d.asked))
	}
	b.usage = &session.Usage{InputTokens: estimate(req), OutputTokens: int64(len(b.steps))}
	return b.answer()
}

// A demoTurn is one request on its way to an answer.
type demoTurn struct {
	req     llm.Request
	asked   string                           // the last thing the user said since the last answer
	results []string                         // what the tools said since then
	calls   map[string]session.ToolCallBlock // every call of the history
	out     builder
}

// read goes through the history and keeps what came after the last answer.
func (d *demoTurn) read() {
	for _, m := range d.req.Messages {
		if m.Role == session.RoleAssistant {
			d.asked, d.results = "", nil
			for _, c := range m.Content.ToolCalls() {
				d.calls[c.ID] = c
			}
			continue
		}
		if m.Role == session.RoleUser && m.Source.Kind != session.SourcePlugin {
			d.hear(m)
		}
	}
}

func (d *demoTurn) hear(m session.Message) {
	if text := m.Text(); text != "" {
		d.asked = text
	}
	for _, b := range m.Content {
		if r, ok := b.(session.ToolResultBlock); ok {
			d.results = append(d.results, report(d.calls[r.ToolCallID], r))
		}
	}
}

var (
	askRule   = regexp.MustCompile(`(?i)\bask me:? ([^:]+)(?:: *(.+))?`)
	choices   = regexp.MustCompile(`\s*(?:,\s*or\b|,|\bor\b)\s*`)
	countRule = regexp.MustCompile(`(?i)\bcount (?:up )?to (\d+)`)
	echoRule  = regexp.MustCompile(`(?i)\becho\b[\s:]+(\S.*)`)
	writeRule = regexp.MustCompile(`(?i)\bwrite\s+(\S.*?)\s+(?:to|into)\s+(?:the\s+)?(?:file\s+)?(\S+)`)
	readRule  = regexp.MustCompile(`(?i)\b(?:read|show|open|cat)\s+(?:me\s+)?(?:the\s+)?(?:file\s+)?(\S*\w\.\w+|\S*/\S+)`)
	listRule  = regexp.MustCompile(`(?i)\b(?:list|show|which|what)\b.*\b(?:files?|folder|directory)\b`)
	timeRule  = regexp.MustCompile(`(?i)\b(?:what time|the time|time is it|current time|what date|the date|what day)\b`)
	zoneRule  = regexp.MustCompile(`\b[A-Z][A-Za-z]+/[A-Za-z_/]+`)
)

// respond follows the first rule that fits what the user asked.
func (d *demoTurn) respond(asked string) {
	if m := askRule.FindStringSubmatch(asked); m != nil {
		d.call("ask_user", questionArgs(m[1], m[2]))
	} else if m := countRule.FindStringSubmatch(asked); m != nil {
		d.count(m[1])
	} else if m := writeRule.FindStringSubmatch(asked); m != nil {
		d.call("write_file", map[string]string{"path": unquote(m[2]), "content": unquote(m[1]) + "\n"})
	} else if m := echoRule.FindStringSubmatch(asked); m != nil {
		d.call("echo", map[string]string{"text": unquote(m[1])})
	} else if m := readRule.FindStringSubmatch(asked); m != nil {
		d.call("read_file", map[string]string{"path": unquote(m[1])})
	} else if listRule.MatchString(asked) {
		d.call("list_files", map[string]string{})
	} else if timeRule.MatchString(asked) {
		d.call("now", zoneArgs(asked))
	} else {
		d.say(introduction)
	}
}

const introduction = "Hello! I am the scripted demo model: I need no key and follow a few simple rules. " +
	"Try `please echo hello`, `what time is it`, `list files`, `read README.md`, `ask me which one: a, b` or `count to 20`. " +
	"To talk to a real model, set OPENAI_API_KEY, ANTHROPIC_API_KEY or DEEPSEEK_API_KEY and start again."

func (d *demoTurn) say(text string) { d.out.textParts(words(text), false, 0) }

// count says the numbers to n slowly.
func (d *demoTurn) count(digits string) {
	n, err := strconv.Atoi(digits)
	if err != nil || n > 1000 {
		d.say("That is a lot. I count to 1000 at most.")
		return
	}
	var parts []string
	for i := range n {
		parts = append(parts, strconv.Itoa(i+1)+" ")
	}
	d.out.textParts(append(parts, "Done."), false, slow)
}

// call asks for a tool, if it is offered. The call id is the place in the history, so it is the same in every process.
func (d *demoTurn) call(name string, args any) {
	if !d.offers(name) {
		d.say(fmt.Sprintf("For that I would call the tool %s, but this agent does not offer it.", name))
		return
	}
	raw, _ := json.Marshal(args) // strings and what holds them always marshal
	d.out.tool(session.ToolCallBlock{ID: fmt.Sprintf("demo-%d", len(d.req.Messages)), Name: name, Arguments: string(raw)}, 1, false)
}

func (d *demoTurn) offers(name string) bool {
	for _, t := range d.req.Tools {
		if t.Name == name {
			return true
		}
	}
	return false
}

// questionArgs asks one question, with options if some are named.
func questionArgs(text, options string) any {
	q := map[string]any{"id": "answer", "text": strings.TrimRight(text, "?. ") + "?"}
	if options = strings.TrimRight(options, "?. "); options != "" {
		var all []any
		for _, label := range choices.Split(options, -1) {
			all = append(all, map[string]any{"label": label})
		}
		q["options"] = all
	}
	return map[string]any{"questions": []any{q}}
}

func zoneArgs(asked string) map[string]string {
	if zone := zoneRule.FindString(asked); zone != "" {
		return map[string]string{"zone": zone}
	}
	return map[string]string{}
}
