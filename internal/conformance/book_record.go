package conformance

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/everturn/everturn/session"
)

// bookTime is the time of every event that a scenario writes.
const bookTime = 1764500000000

// written takes an entry apart: what it is, its numbers, its words and the nodes that it replaces.
var written = regexp.MustCompile(`^([A-Z]+[-+xm]?)([0-9.]*)(!?∅?)(?:\((.*)\))?(?:~(\d+)-(\d+))?$`)

// An entry of a trace that is to be written.
type entry struct {
	kind    string
	numbers []int
	mark    string
	words   string
	replace *session.SurfaceOp
}

func parseEntry(text string) (entry, error) {
	m := written.FindStringSubmatch(text)
	if m == nil {
		return entry{}, fmt.Errorf("it is no entry that can be written")
	}
	e := entry{kind: m[1], mark: m[3], words: m[4]}
	for _, n := range strings.FieldsFunc(m[2], func(c rune) bool { return c == '.' }) {
		number, err := strconv.Atoi(n)
		if err != nil {
			return e, err
		}
		e.numbers = append(e.numbers, number)
	}
	if m[5] != "" {
		start, _ := strconv.ParseInt(m[5], 10, 64) // the expression has digits only
		end, _ := strconv.ParseInt(m[6], 10, 64)
		e.replace = session.ReplaceOp(start, end)
	}
	return e, nil
}

// record makes the record of an entry; what the entry does not say is what a driver would write.
func (b *book) record(s *setup, text string) (session.Record, error) {
	e, err := parseEntry(text)
	if err != nil {
		return session.Record{}, err
	}
	event, err := b.event(s, e)
	if err != nil {
		return session.Record{}, err
	}
	r := session.NewRecord(bookTime+b.log.State().Count(), event, b.sources(e)...)
	if e.kind == "AM" && r.Sources == nil {
		r.Sources = []int64{}
	}
	if e.replace != nil {
		r.Surface, r.Sources = e.replace, b.shadowed(e.replace)
	}
	return r, nil
}

// sources are what an entry cites: a message its chunks, a result its call.
func (b *book) sources(e entry) []int64 {
	records := b.log.Records()
	switch e.kind {
	case "AM":
		return ownChunks(records, len(records))
	case "TR":
		at, err := (selector{entry: "TC(" + e.call() + ")"}).find(entries(records))
		if err == nil {
			return []int64{records[at].Seq}
		}
	}
	return nil
}

// shadowed are the nodes that a replacement takes from the surface.
func (b *book) shadowed(op *session.SurfaceOp) []int64 {
	var out []int64
	within := false
	for _, n := range b.log.State().Surface() {
		within = within || n.Seq == op.Start
		if within {
			out = append(out, n.Seq)
		}
		if n.Seq == op.End {
			break
		}
	}
	return out
}

// call is the id of the call that a result answers.
func (e entry) call() string {
	id, _, _ := strings.Cut(e.words, ",")
	return id
}

// at are the turn and step that an entry names, or those that are open.
func (b *book) at(e entry) (turn, step int) {
	turn, _ = b.log.State().Turn()
	step, _ = b.log.State().Step()
	if len(e.numbers) > 0 {
		turn = e.numbers[0]
	}
	if len(e.numbers) > 1 {
		step = e.numbers[1]
	}
	return turn, step
}

func (b *book) event(s *setup, e entry) (session.Event, error) {
	turn, step := b.at(e)
	config := session.CallConfig{Provider: "scripted", Model: modelName}
	switch e.kind {
	case "IS+", "IS-", "ISx":
		return b.splice(s, e)
	case "ISm":
		return b.move(s, e)
	case "TS":
		return session.TurnStart{Turn: turn}, nil
	case "SS":
		return session.StepStart{Turn: turn, Step: step}, nil
	case "UM":
		return session.UserMessage{Message: s.message(e.words)}, nil
	case "RH":
		return session.RequestHeader{Header: session.HeaderContent{Config: config}, Reason: e.words}, nil
	case "RC":
		return session.RequestContext{Provider: config.Provider, Model: config.Model}, nil
	case "CH":
		return session.AssistantChunk{Turn: turn, Step: step, Chunk: session.TextDelta{Text: "ok"}}, nil
	case "AM":
		return session.AssistantMessage{Turn: turn, Step: step, Message: b.answer(e), Interrupted: strings.Contains(e.mark, "!")}, nil
	case "AA":
		records := b.log.Records()
		return session.AssistantAttempt{Turn: turn, Step: step, ChunkSeqs: ownChunks(records, len(records))}, nil
	case "TC":
		return session.ToolCall{Turn: turn, Step: step, CallID: e.words, Name: "work", Arguments: "{}"}, nil
	case "TR":
		return b.result(e, turn, step), nil
	case "SE":
		return session.StepEnd{Turn: turn, Step: step}, nil
	case "TE":
		return turnEnd(turn, e.words)
	case "ES":
		return session.EndSeed{}, nil
	}
	return nil, fmt.Errorf("%s cannot be written", e.kind)
}

// answer is what the model said: calls of the tool work, nothing, or a text.
func (b *book) answer(e entry) session.Message {
	m := session.Message{ID: fmt.Sprintf("am-%d", b.log.State().Count()), Role: session.RoleAssistant,
		Source: session.Source{Kind: session.SourceModel, Provider: "scripted", Model: modelName}}
	switch {
	case strings.Contains(e.mark, "∅"):
	case e.words != "":
		for id := range strings.SplitSeq(e.words, ",") {
			m.Content = append(m.Content, session.ToolCallBlock{ID: id, Name: "work", Arguments: "{}"})
		}
	default:
		m.Content = session.TextContent("ok")
	}
	return m
}

// result answers a call, with an error if the entry has a code; one that replaces another is that one, but short.
func (b *book) result(e entry, turn, step int) session.ToolResult {
	id, code, failed := strings.Cut(e.words, ",")
	out := session.ToolResult{Turn: turn, Step: step, Message: session.Message{ID: "tr-" + id, Role: session.RoleUser,
		Source:  session.Source{Kind: session.SourceTool, CallID: id},
		Content: session.Content{session.ToolResultBlock{ToolCallID: id, Content: session.TextContent("done"), IsError: failed}}}}
	if failed {
		out.Error = &session.CodedError{Name: "Error", Code: code}
	}
	if e.replace != nil {
		for _, n := range b.log.State().Surface() {
			if old, ok := n.Event.(session.ToolResult); ok && n.Seq == e.replace.Start {
				out.Turn, out.Step, out.Error, out.Message.ID = old.Turn, old.Step, old.Error, old.Message.ID
			}
		}
		out.Message.Content = session.Content{session.ToolResultBlock{ToolCallID: id, Content: session.TextContent("short"), IsError: failed}}
	}
	return out
}

func turnEnd(turn int, words string) (session.Event, error) {
	kind, rest, _ := strings.Cut(words, " ")
	out := session.TurnEnd{Turn: turn, Reason: session.TurnReason{Kind: session.TurnKind(kind)}}
	switch out.Reason.Kind {
	case session.TurnAborted:
		cause, _, err := parseCause([]string{rest})
		out.Reason.Aborted = &cause
		return out, err
	case session.TurnErrored:
		out.Reason.Error = &session.TurnError{Code: rest, Message: "it failed"}
	}
	return out, nil
}

// move writes ISm(list@0:b,a).
func (b *book) move(s *setup, e entry) (session.Event, error) {
	at, rest, _ := strings.Cut(e.words, ":")
	list, start, _ := strings.Cut(at, "@")
	out := session.InboxMoved{Target: list}
	for name := range strings.SplitSeq(rest, ",") {
		out.IDs = append(out.IDs, s.message(name).ID)
	}
	var err error
	out.Start, err = strconv.Atoi(start)
	return out, err
}

// splice writes IS+(list:a,b), IS-(list:n) or ISx(list:n).
func (b *book) splice(s *setup, e entry) (session.Event, error) {
	list, rest, _ := strings.Cut(e.words, ":")
	out := session.InboxSpliced{Target: list}
	if e.kind == "IS+" {
		inbox := b.log.State().Inbox()
		out.Start = len(inbox.NextTurn)
		if list == session.NextStep {
			out.Start = len(inbox.NextStep)
		}
		for name := range strings.SplitSeq(rest, ",") {
			out.Inserted = append(out.Inserted, s.message(name))
		}
		return out, nil
	}
	var err error
	out.RemovedCount, err = strconv.Atoi(rest)
	if e.kind == "ISx" {
		out.Outcome = session.OutcomeCanceled
	}
	return out, err
}
