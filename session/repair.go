package session

import (
	"encoding/json"
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
func Repair(s *State) []Record { return RepairWith(s, nil) }

// RepairWith is [Repair] for somebody who knows results of calls that were started, by call id: they take the place of the
// error results.
func RepairWith(s *State, known map[string]KnownResult) []Record {
	if !s.turnOpen {
		return nil
	}
	var out []Record
	if s.stepOpen {
		out = append(s.missingResults(known), NewRecord(s.lastTime, StepEnd{Turn: s.turn, Step: s.step}))
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
func (s *State) missingResults(known map[string]KnownResult) []Record {
	var out []Record
	done := make(map[string]bool)
	for _, b := range s.blocks {
		c := s.calls[b.ID]
		if c.answered || done[b.ID] {
			continue
		}
		done[b.ID] = true
		result := s.missingResult(c)
		if k, ok := known[b.ID]; ok && c.started {
			result = k
		}
		out = append(out, s.resultRecord(b.ID, c, result, fmt.Sprintf("repair-%d", s.count+int64(len(out)))))
	}
	return out
}

// A KnownResult is what a call came to.
type KnownResult struct {
	Content Content
	IsError bool
	Error   *CodedError
	Meta    json.RawMessage
}

func (s *State) missingResult(c call) KnownResult {
	if c.started {
		return KnownResult{Content: TextContent(TextToolOutcomeUnknown), IsError: true, Error: &CodedError{Name: NameToolOutcomeUnknown, Code: CodeToolOutcomeUnknown}}
	}
	return KnownResult{Content: TextContent(TextToolNotStarted), IsError: true, Error: &CodedError{Name: NameToolNotStarted, Code: CodeToolNotStarted}}
}

func (s *State) resultRecord(callID string, c call, k KnownResult, messageID string) Record {
	var sources []int64
	if c.started {
		sources = []int64{c.seq}
	}
	block := ToolResultBlock{ToolCallID: callID, Content: k.Content, IsError: k.IsError}
	return NewRecord(s.lastTime, ToolResult{
		Turn:    s.turn,
		Step:    s.step,
		Message: Message{ID: messageID, Role: RoleUser, Content: Content{block}, Source: Source{Kind: SourceTool, CallID: callID}},
		Error:   k.Error,
		Meta:    k.Meta,
	}, sources...)
}
