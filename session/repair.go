package session

import (
	"fmt"
	"slices"
)

// The codes, names and texts of results that nobody could give. See spec §7.2.
const (
	CodeToolNotStarted = "TOOL_NOT_STARTED"
	NameToolNotStarted = "ToolNotStartedError"
	TextToolNotStarted = "Error: this tool call was never started, because the agent was interrupted before it. " +
		"Nothing was executed; the call may be made again."

	CodeToolOutcomeUnknown = "TOOL_OUTCOME_UNKNOWN"
	NameToolOutcomeUnknown = "ToolOutcomeUnknownError"
	TextToolOutcomeUnknown = "Error: this tool call was started, but the agent was interrupted before its outcome was recorded. " +
		"It may have taken effect or not. Repeat it only if repeating is harmless; " +
		"otherwise check the outside state first or ask the user. Never repeat it blindly."
)

// Repair returns the records that close a trailing open turn: an error result for each call without one, step/end,
// turn/end(interrupted). They continue the log of s and carry the time of its last real event. A balanced log needs
// none. See spec §7.2.
func Repair(s *State) []Record {
	if !s.turnOpen {
		return nil
	}
	var out []Record
	if s.stepOpen {
		out = append(s.missingResults(), NewRecord(s.lastTime, StepEnd{Turn: s.turn, Step: s.step}))
	}
	out = append(out, NewRecord(s.lastTime, TurnEnd{Turn: s.turn, Reason: TurnReason{Kind: TurnInterrupted}}))
	for i := range out {
		out[i].Seq = s.count + int64(i)
	}
	return out
}

// UnstartedCalls are the calls of the open step's messages that have neither a tool/call nor a result, in block order.
func (s *State) UnstartedCalls() []ToolCallBlock {
	return s.openCalls(func(c call) bool { return !c.started && !c.answered })
}

// UnansweredCalls are the calls of the open step's messages that have a tool/call and no result, in block order.
func (s *State) UnansweredCalls() []ToolCallBlock {
	return s.openCalls(func(c call) bool { return c.started && !c.answered })
}

// CallSeq is the seq of the tool/call of a call of the open step.
func (s *State) CallSeq(id string) (seq int64, started bool) {
	return s.calls[id].seq, s.calls[id].started
}

func (s *State) openCalls(which func(call) bool) (out []ToolCallBlock) {
	if !s.stepOpen {
		return nil
	}
	for _, b := range s.blocks {
		if which(s.calls[b.ID]) && !slices.ContainsFunc(out, func(o ToolCallBlock) bool { return o.ID == b.ID }) {
			out = append(out, b)
		}
	}
	return out
}

// missingResults answers the calls of the open step's messages that have no result, in block order.
func (s *State) missingResults() []Record {
	var out []Record
	done := make(map[string]bool)
	for _, b := range s.blocks {
		c := s.calls[b.ID]
		if c.answered || done[b.ID] {
			continue
		}
		done[b.ID] = true
		out = append(out, s.missingResult(b.ID, c, fmt.Sprintf("repair-%d", s.count+int64(len(out)))))
	}
	return out
}

func (s *State) missingResult(callID string, c call, messageID string) Record {
	failure, text := CodedError{Name: NameToolNotStarted, Code: CodeToolNotStarted}, TextToolNotStarted
	var sources []int64
	if c.started {
		failure, text = CodedError{Name: NameToolOutcomeUnknown, Code: CodeToolOutcomeUnknown}, TextToolOutcomeUnknown
		sources = []int64{c.seq}
	}
	block := ToolResultBlock{ToolCallID: callID, Content: TextContent(text), IsError: true}
	return NewRecord(s.lastTime, ToolResult{
		Turn:    s.turn,
		Step:    s.step,
		Message: Message{ID: messageID, Role: RoleUser, Content: Content{block}, Source: Source{Kind: SourceTool, CallID: callID}},
		Error:   &failure,
	}, sources...)
}
