package session

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A scribe writes logs from the trace notation of spec §2.4.4. Beside it understands `AM[c1,c2]` (a message with tool
// calls), `SYS(text)`, `UM~3-9(id)` and `TR~8-8(c1)` (replacements of a span, citing all of it).
type scribe struct {
	t       testing.TB
	log     *Log
	attempt []int64 // chunk seqs of the open attempt
}

func newScribe(t testing.TB, script ...string) *scribe {
	s := &scribe{t: t, log: NewLog(Header{Version: FormatVersion, ID: "s"})}
	s.write(strings.Join(script, " "))
	return s
}

// write appends a script that the rules must accept.
func (s *scribe) write(script string) *scribe {
	s.t.Helper()
	require.NoError(s.t, s.try(script))
	return s
}

var scriptToken = regexp.MustCompile(`[^\s(\[]+(\[[^\]]*\])?(\([^)]*\))?`)

// try appends a script up to the first refusal.
func (s *scribe) try(script string) error {
	for _, tok := range scriptToken.FindAllString(script, -1) {
		for _, r := range s.records(tok) {
			rec, err := s.log.Append(r)
			if err != nil {
				return err
			}
			s.note(rec)
		}
	}
	return nil
}

func (s *scribe) note(r Record) {
	switch r.Event.(type) {
	case AssistantChunk:
		s.attempt = append(s.attempt, r.Seq)
	case AssistantMessage, AssistantAttempt, StepEnd:
		s.attempt = nil
	}
}

// clock gives every record its own time.
func (s *scribe) clock() int64 { return 1000 + s.log.State().Count() }

var scriptEntry = regexp.MustCompile(`^([A-Z]+[+\-x!∅rm]?)(×?[\d.]*)(~\d+-\d+)?(\[[^\]]*\])?(?:\((.*)\))?$`)

// records turns one token into records.
func (s *scribe) records(tok string) []Record {
	m := scriptEntry.FindStringSubmatch(tok)
	require.NotNil(s.t, m, "token %q", tok)
	op, number, span, list, arg := m[1], strings.TrimPrefix(m[2], "×"), m[3], strings.Trim(m[4], "[]"), m[5]
	turn, _ := s.log.State().Turn()
	step, _ := s.log.State().Step()
	e, sources := s.event(op, number, list, arg, turn, step)
	if op == "CH" {
		n, _ := strconv.Atoi(number)
		var out []Record
		for i := range n {
			out = append(out, NewRecord(s.clock()+int64(i), e))
		}
		return out
	}
	r := NewRecord(s.clock(), e)
	r.Sources = sources
	if span != "" {
		s.over(&r, span)
	}
	return []Record{r}
}

// over turns r into a replacement that cites what it shadows.
func (s *scribe) over(r *Record, span string) {
	from, to, _ := strings.Cut(span[1:], "-")
	start, _ := strconv.ParseInt(from, 10, 64)
	end, _ := strconv.ParseInt(to, 10, 64)
	r.Surface, r.Sources = ReplaceOp(start, end), nil
	in := false
	for _, n := range s.log.State().Surface() {
		in = in || n.Seq == start
		if old, ok := n.Event.(ToolResult); ok && n.Seq == start {
			r.Event = inStepOf(old, r.Event)
		}
		if in {
			r.Sources = append(r.Sources, n.Seq)
		}
		if n.Seq == end {
			break
		}
	}
}

// inStepOf gives a replacing result the coordinates of the one it replaces.
func inStepOf(old ToolResult, e Event) Event {
	if now, ok := e.(ToolResult); ok {
		now.Turn, now.Step = old.Turn, old.Step
		return now
	}
	return e
}

func (s *scribe) event(op, number, list, arg string, turn, step int) (Event, []int64) {
	switch op {
	case "IS+", "IS-", "ISx", "ISr":
		return s.splice(op, arg), nil
	case "ISm":
		return s.move(arg), nil
	case "TS":
		return TurnStart{Turn: atoi(number)}, nil
	case "SS":
		t, n, _ := strings.Cut(number, ".")
		return StepStart{Turn: atoi(t), Step: atoi(n)}, nil
	case "SYS":
		return SystemMessage{Turn: turn, Step: step, Message: Message{ID: s.id("sys"), Role: RoleSystem, Content: TextContent(arg)}}, nil
	case "UM":
		return UserMessage{user(arg)}, nil
	case "RH":
		reason, series, _ := strings.Cut(arg, ",")
		return RequestHeader{Header: header("p"), Reason: reason, StartsSeries: series != ""}, nil
	case "RC":
		return RequestContext{Provider: "p", Model: "m"}, nil
	case "CH":
		return AssistantChunk{Turn: turn, Step: step, Chunk: TextDelta{Text: "x"}}, nil
	case "AM", "AM!", "AM∅":
		return s.answer(op, list, turn, step), append([]int64{}, s.attempt...)
	case "AA":
		return AssistantAttempt{Turn: turn, Step: step, ChunkSeqs: s.attempt}, nil
	case "TC":
		return ToolCall{Turn: turn, Step: step, CallID: arg, Name: "echo", Arguments: "{}"}, nil
	case "TR", "TR!":
		return s.result(op, arg, turn, step), nil
	case "SE":
		return StepEnd{Turn: turn, Step: step}, nil
	case "TE":
		return TurnEnd{Turn: turn, Reason: reason(arg)}, nil
	case "ES":
		return EndSeed{}, nil
	case "LR":
		return LLMRetry{RetryID: "r", Turn: turn, Step: step, Provider: "p", Mode: "normal", Retry: atoi(arg)}, nil
	case "LRS":
		return LLMRetryStarted{RetryID: "r", Turn: turn, Step: step, Retry: atoi(arg)}, nil
	case "CR":
		return CancelRequested{Cause: Cause{Kind: CauseKind(arg)}, Via: "api"}, nil
	}
	require.Fail(s.t, "unknown entry", op)
	return nil, nil
}

// id makes an id that is unique in the log.
func (s *scribe) id(kind string) string { return fmt.Sprintf("%s-%d", kind, s.log.State().Count()) }

func (s *scribe) splice(op, arg string) InboxSpliced {
	list, rest, _ := strings.Cut(arg, ":")
	out := InboxSpliced{Target: list}
	box := s.log.State().Inbox()
	switch op {
	case "IS+":
		out.Start = len(*box.list(list))
		for id := range strings.SplitSeq(rest, ",") {
			out.Inserted = append(out.Inserted, user(id))
		}
	case "ISr":
		old, id, _ := strings.Cut(rest, "→")
		_, out.Start, _ = box.Find(old)
		out.RemovedCount, out.Outcome, out.Inserted = 1, OutcomeCanceled, []Message{user(id)}
	default:
		out.RemovedCount = atoi(rest)
		if op == "ISx" {
			out.Outcome = OutcomeCanceled
		}
	}
	return out
}

// move reads `next-turn@0:c,a`.
func (s *scribe) move(arg string) InboxMoved {
	at, ids, _ := strings.Cut(arg, ":")
	list, start, _ := strings.Cut(at, "@")
	return InboxMoved{Target: list, Start: atoi(start), IDs: strings.Split(ids, ",")}
}

func (s *scribe) answer(op, calls string, turn, step int) AssistantMessage {
	content := TextContent("answer")
	if op == "AM∅" {
		content = Content{}
	}
	for id := range strings.SplitSeq(calls, ",") {
		if id != "" {
			content = append(content, ToolCallBlock{ID: id, Name: "echo", Arguments: "{}"})
		}
	}
	m := Message{ID: s.id("am"), Role: RoleAssistant, Content: content, Source: Source{Kind: SourceModel, Provider: "p", Model: "m"}}
	return AssistantMessage{Turn: turn, Step: step, Message: m, Interrupted: op == "AM!"}
}

func (s *scribe) result(op, arg string, turn, step int) ToolResult {
	id, code, _ := strings.Cut(arg, ",")
	block := ToolResultBlock{ToolCallID: id, Content: TextContent("result"), IsError: op == "TR!"}
	r := ToolResult{Turn: turn, Step: step, Message: Message{ID: "tr-" + id, Role: RoleUser, Content: Content{block}, Source: Source{Kind: SourceTool, CallID: id}}}
	if code != "" {
		r.Error = &CodedError{Name: "Coded", Code: code}
	}
	return r
}

func reason(arg string) TurnReason {
	kind, rest, _ := strings.Cut(arg, " ")
	r := TurnReason{Kind: TurnKind(kind)}
	switch r.Kind {
	case TurnAborted:
		cause, why, _ := strings.Cut(rest, " ")
		r.Aborted = &Cause{Kind: CauseKind(cause), Reason: why}
	case TurnErrored:
		r.Error = &TurnError{Message: "failed", Code: rest}
	}
	return r
}

func user(id string) Message {
	return Message{ID: id, Role: RoleUser, Content: TextContent("text of " + id), Source: Source{Kind: SourceUser}}
}

func header(provider string) HeaderContent {
	return HeaderContent{Config: CallConfig{Provider: provider, Model: "m"}}
}

func atoi(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

// requireRule asserts that err is the refusal of a rule.
func requireRule(t testing.TB, err error, rule string) {
	t.Helper()
	var refused *RuleError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, rule, refused.Rule, refused.Msg)
}

// opened is the shortest script with an open step.
const opened = "TS1 SS1.1"
