package session

import (
	"fmt"
	"strings"
)

// Trace writes records in the notation of spec §2.4.4, separated by blanks. name turns a message id into the name to
// show; nil shows the id. See [Tracer] for traces of a log in pieces.
func Trace(records []Record, name func(messageID string) string) string {
	t := Tracer{Name: name}
	return t.Trace(records)
}

// A Tracer writes a log in pieces; it remembers what is pending, so that an edit can name what it replaced.
// A `~` after an entry marks a surface replacement, `∅` a message without content.
type Tracer struct {
	Name  func(messageID string) string // nil shows the id
	Inbox Inbox                         // pending before the next piece
}

// Trace writes the next piece.
func (t *Tracer) Trace(records []Record) string {
	var out []string
	for i := 0; i < len(records); i++ {
		if n := chunkRun(records[i:]); n > 0 {
			out = append(out, fmt.Sprintf("CH×%d", n))
			i += n - 1
			continue
		}
		entry := t.entry(records[i].Event)
		if op := records[i].Surface; op != nil && op.Replace {
			entry += "~"
		}
		out = append(out, entry)
	}
	return strings.Join(out, " ")
}

func chunkRun(records []Record) int {
	for i, r := range records {
		if _, ok := r.Event.(AssistantChunk); !ok {
			return i
		}
	}
	return len(records)
}

func (t *Tracer) entry(e Event) string {
	switch e := e.(type) {
	case InboxSpliced:
		return t.splice(e)
	case InboxMoved:
		return t.move(e)
	case TurnStart:
		return fmt.Sprintf("TS%d", e.Turn)
	case StepStart:
		return fmt.Sprintf("SS%d.%d", e.Turn, e.Step)
	case SystemMessage:
		return "SYS" + emptyMark(e.Message.Text() == "")
	case UserMessage:
		return fmt.Sprintf("UM(%s)", t.name(e.Message.ID))
	case RequestHeader:
		return fmt.Sprintf("RH(%s%s)", e.Reason, mark(e.StartsSeries, ",series"))
	case RequestContext:
		return "RC"
	case AssistantMessage:
		return "AM" + mark(e.Interrupted, "!") + emptyMark(len(e.Message.Content) == 0)
	case AssistantAttempt:
		return "AA"
	case ToolCall:
		return fmt.Sprintf("TC(%s)", e.CallID)
	case ToolResult:
		return traceResult(e)
	case StepEnd:
		return "SE"
	case TurnEnd:
		return fmt.Sprintf("TE(%s)", traceReason(e.Reason))
	case EndSeed:
		return "ES"
	case LLMRetry:
		return fmt.Sprintf("LR(%d)", e.Retry)
	case LLMRetryStarted:
		return fmt.Sprintf("LRS(%d)", e.Retry)
	case CancelRequested:
		return fmt.Sprintf("CR(%s)", traceCause(e.Cause))
	case nil:
		return "?"
	default:
		return e.Type()
	}
}

func (t *Tracer) name(id string) string {
	if t.Name == nil {
		return id
	}
	return t.Name(id)
}

func (t *Tracer) names(messages []Message) string {
	names := make([]string, len(messages))
	for i, m := range messages {
		names[i] = t.name(m.ID)
	}
	return strings.Join(names, ",")
}

func (t *Tracer) splice(e InboxSpliced) string {
	old := t.removed(e)
	_ = t.Inbox.Apply(e) // a piece may begin anywhere; what does not fit is only less well named
	switch {
	case e.RemovedCount == 0:
		return fmt.Sprintf("IS+(%s:%s)", e.Target, t.names(e.Inserted))
	case len(e.Inserted) > 0:
		return fmt.Sprintf("ISr(%s:%s→%s)", e.Target, old, t.names(e.Inserted))
	case e.Outcome == OutcomeCanceled:
		return fmt.Sprintf("ISx(%s:%d)", e.Target, e.RemovedCount)
	default:
		return fmt.Sprintf("IS-(%s:%d)", e.Target, e.RemovedCount)
	}
}

// move writes the place and the messages, as `ISm(next-turn@0:c,a)`.
func (t *Tracer) move(e InboxMoved) string {
	_ = t.Inbox.ApplyMove(e) // see splice
	names := make([]string, len(e.IDs))
	for i, id := range e.IDs {
		names[i] = t.name(id)
	}
	return fmt.Sprintf("ISm(%s@%d:%s)", e.Target, e.Start, strings.Join(names, ","))
}

// removed names what a splice takes out, `?` when it is not known.
func (t *Tracer) removed(e InboxSpliced) string {
	items := t.Inbox.list(e.Target)
	if items == nil || e.Start < 0 || e.RemovedCount < 0 || e.Start > len(*items) || e.RemovedCount > len(*items)-e.Start {
		return "?"
	}
	return t.names((*items)[e.Start : e.Start+e.RemovedCount])
}

func traceResult(e ToolResult) string {
	b, _ := resultBlock(e)
	switch {
	case e.Error != nil:
		return fmt.Sprintf("TR!(%s,%s)", b.ToolCallID, e.Error.Code)
	case b.IsError:
		return fmt.Sprintf("TR!(%s)", b.ToolCallID)
	default:
		return fmt.Sprintf("TR(%s)", b.ToolCallID)
	}
}

func traceReason(r TurnReason) string {
	switch {
	case r.Aborted != nil:
		return fmt.Sprintf("%s %s", r.Kind, traceCause(*r.Aborted))
	case r.Error != nil:
		return fmt.Sprintf("%s %s", r.Kind, r.Error.Code)
	default:
		return string(r.Kind)
	}
}

func traceCause(c Cause) string {
	if c.Reason == "" {
		return string(c.Kind)
	}
	return fmt.Sprintf("%s %s", c.Kind, c.Reason)
}

func emptyMark(empty bool) string { return mark(empty, "∅") }

func mark(on bool, s string) string {
	if on {
		return s
	}
	return ""
}
