package session

import (
	"bytes"
	"strings"
)

// check judges r without changing anything.
func (s *State) check(r Record) error {
	if r.Seq != s.count {
		return refuse(RuleSeq, "seq is %d, want %d", r.Seq, s.count)
	}
	if c, ok := r.Event.(AssistantChunk); ok { // by far the most frequent
		return firstOf(s.checkSurfaceOp(r), checkSources(r, s.count), s.inStep(r.Event, c.Turn, c.Step), checkChunk(c.Chunk))
	}
	if !member(r.Event) {
		return refuse(RuleType, "%T is no event: events are values of the types of [Event]", r.Event)
	}
	if err := firstOf(checkLossless(r.Event), checkSources(r, s.count), s.checkEvent(r)); err != nil {
		return err
	}
	return s.checkSurfaceOp(r)
}

// member reports whether e is one of the closed set; a pointer to one is not.
func member(e Event) bool {
	switch e.(type) {
	case InboxSpliced, TurnStart, StepStart, SystemMessage, UserMessage, RequestHeader, RequestContext, AssistantChunk,
		AssistantMessage, AssistantAttempt, ToolCall, ToolResult, StepEnd, TurnEnd, EndSeed, LLMRetry, LLMRetryStarted,
		CancelRequested, Feature, Unknown:
		return true
	}
	return false
}

// checkEvent applies the rules of one type. See spec §2.4.
func (s *State) checkEvent(r Record) error {
	switch e := r.Event.(type) {
	case InboxSpliced:
		return s.checkSplice(e)
	case TurnStart:
		return s.checkTurnStart(e)
	case StepStart:
		return s.checkStepStart(e)
	case SystemMessage:
		return firstOf(s.inStep(e, e.Turn, e.Step), checkMessage(e.Message, RoleSystem))
	case UserMessage: // anywhere: §2.4.3.7
		return checkMessage(e.Message, RoleUser)
	case RequestHeader:
		return firstOf(s.inTurn(e), checkHeaderReason(e))
	case RequestContext:
		return s.inTurn(e)
	case AssistantMessage:
		return firstOf(s.inStep(e, e.Turn, e.Step), checkMessage(e.Message, RoleAssistant), checkCallIDs(e.Message))
	case AssistantAttempt:
		return firstOf(s.inStep(e, e.Turn, e.Step), s.checkChunkSeqs(e))
	case ToolCall:
		return s.checkToolCall(e)
	case ToolResult:
		return s.checkToolResult(e, r.Surface)
	case StepEnd:
		return s.inStep(e, e.Turn, e.Step)
	case TurnEnd:
		return s.checkTurnEnd(e)
	case Feature:
		return s.checkFeature(e)
	case Unknown:
		return checkUnknown(e, r.Ignorable)
	}
	return nil // [EndSeed], [LLMRetry], [LLMRetryStarted], [CancelRequested]: no rule of their own
}

// inStep: the event names the open turn and step. See spec §2.4.3.3.
func (s *State) inStep(e Event, turn, step int) error {
	if s.stepOpen && s.turnOpen && turn == s.turn && step == s.step {
		return nil
	}
	if !s.stepOpen {
		return refuse("§2.4.3.3", "%s %d.%d, but no step is open", e.Type(), turn, step)
	}
	return refuse("§2.4.3.3", "%s names %d.%d, but the open step is %d.%d", e.Type(), turn, step, s.turn, s.step)
}

// inTurn: only inside an open turn. See spec §2.4.3.6.
func (s *State) inTurn(e Event) error {
	if s.turnOpen {
		return nil
	}
	return refuse("§2.4.3.6", "%s outside a turn", e.Type())
}

// checkSplice is strict from the seed's end on. See spec §2.4.1.
func (s *State) checkSplice(e InboxSpliced) error {
	if s.count < s.seedLength {
		return firstOf(checkSpliceShape(e), checkInserted(e.Inserted))
	}
	return s.inbox.check(e)
}

// checkTurnStart: no turn open, the next number. See spec §2.4.3.1.
func (s *State) checkTurnStart(e TurnStart) error {
	if s.turnOpen {
		return refuse("§2.4.3.1", "turn %d starts while turn %d is open", e.Turn, s.turn)
	}
	if e.Turn != s.turn+1 {
		return refuse("§2.4.3.1", "turn %d starts after turn %d", e.Turn, s.turn)
	}
	return nil
}

// checkStepStart: in the open turn, no step open, the next number. See spec §2.4.3.2.
func (s *State) checkStepStart(e StepStart) error {
	switch {
	case !s.turnOpen || e.Turn != s.turn:
		return refuse("§2.4.3.2", "step %d.%d starts outside its turn", e.Turn, e.Step)
	case s.stepOpen:
		return refuse("§2.4.3.2", "step %d.%d starts while step %d is open", e.Turn, e.Step, s.step)
	case e.Step != s.step+1:
		return refuse("§2.4.3.2", "step %d.%d starts after step %d", e.Turn, e.Step, s.step)
	}
	return nil
}

// checkTurnEnd: the open turn, no step open, a known reason. See spec §2.4.3.5.
func (s *State) checkTurnEnd(e TurnEnd) error {
	switch {
	case !s.turnOpen || e.Turn != s.turn:
		return refuse("§2.4.3.5", "turn %d ends, but it is not open", e.Turn)
	case s.stepOpen:
		return refuse("§2.4.3.5", "turn %d ends while step %d is open", e.Turn, s.step)
	}
	return checkReason(e.Reason)
}

// checkReason: a known variant with exactly its fields. See spec §2.4.2.
func checkReason(r TurnReason) error {
	switch r.Kind {
	case TurnCompleted, TurnMaxTokens, TurnBlocked, TurnAborted, TurnErrored, TurnInterrupted:
	default:
		return refuse(RuleReason, "unknown turn end %.40q", r.Kind)
	}
	if (r.Kind == TurnAborted) != (r.Aborted != nil) || (r.Kind == TurnErrored) != (r.Error != nil) {
		return refuse(RuleReason, "turn end %s has the fields of another", r.Kind)
	}
	if r.Aborted == nil {
		return nil
	}
	switch r.Aborted.Kind {
	case CauseUser, CauseParent, CauseHook, CauseDisposed, CauseLegacy:
		return nil
	}
	return refuse(RuleReason, "unknown cause %.40q", r.Aborted.Kind)
}

// checkHeaderReason: one of the table of spec §8.3.
func checkHeaderReason(h RequestHeader) error {
	switch h.Reason {
	case HeaderInitial, HeaderResume, HeaderChange, HeaderSeries:
		return nil
	}
	return refuse(RuleHeader, "unknown request header reason %.40q", h.Reason)
}

// checkChunk: lossless, and a finish of a known kind. See spec §2.3.
func checkChunk(c Chunk) error {
	switch c := c.(type) {
	case TextDelta:
		return checkDelta(c.Text)
	case ReasoningDelta:
		return checkDelta(c.Text)
	case ToolCallDelta:
		return firstOf(checkDelta(c.ID), checkDelta(c.Name), checkDelta(c.ArgumentsDelta))
	case Finish:
		if !knownFinish(c.Reason.Kind) {
			return refuse(RuleFinish, "unknown finish reason %.40q", c.Reason.Kind)
		}
	}
	return checkLossless(AssistantChunk{Chunk: c})
}

func checkDelta(text string) error {
	if err := losslessText(text); err != nil {
		return refuse(RuleData, "chunk: %v", err)
	}
	return nil
}

func knownFinish(k FinishKind) bool {
	switch k {
	case FinishStop, FinishToolCalls, FinishMaxTokens, FinishAborted, FinishError:
		return true
	}
	return false
}

// checkCallIDs: the calls of a message can be named. See spec §2.7.
func checkCallIDs(m Message) error {
	for _, c := range m.Content.ToolCalls() {
		if err := checkID("call id", c.ID); err != nil {
			return err
		}
	}
	return nil
}

func (s *State) checkChunkSeqs(e AssistantAttempt) error {
	if notPast(e.ChunkSeqs, s.count) >= 0 || repeated(e.ChunkSeqs) >= 0 {
		return refuse(RuleChunkSeqs, "chunkSeqs must name earlier events, each once")
	}
	return nil
}

// checkToolCall: in the open step, once per call. See spec §2.4.3.3.
func (s *State) checkToolCall(e ToolCall) error {
	if err := firstOf(s.inStep(e, e.Turn, e.Step), checkID("call id", e.CallID)); err != nil {
		return err
	}
	if s.calls[e.CallID].started {
		return refuse("§2.4.3.4", "call %s was already started in this step", e.CallID)
	}
	return nil
}

// checkToolResult: one user-role block; see [State.checkAnswer] for an appended one. A replacing one needs only an open
// turn. See spec §2.4.3.4.
func (s *State) checkToolResult(e ToolResult, op *SurfaceOp) error {
	if err := checkMessage(e.Message, RoleUser); err != nil {
		return err
	}
	block, ok := resultBlock(e)
	if !ok {
		return refuse(RuleMessage, "a tool/result has exactly one block, of type tool-result")
	}
	if op == nil || !op.Replace {
		return firstOf(s.inStep(e, e.Turn, e.Step), s.checkAnswer(e, block.ToolCallID))
	}
	if !s.turnOpen {
		return refuse("§2.4.3.4", "a tool/result is replaced outside a turn")
	}
	return nil
}

// checkAnswer: an appended result answers, once, a call started in the same step; the repair result "not started" needs
// no call. See spec §2.4.3.4.
func (s *State) checkAnswer(e ToolResult, id string) error {
	notStarted := e.Error != nil && e.Error.Code == CodeToolNotStarted
	switch c := s.calls[id]; {
	case !c.started && !notStarted:
		return refuse("§2.4.3.4", "tool/result %.40q has no tool/call in the same step", id)
	case c.answered:
		return refuse("§2.4.3.4", "call %s already has a result", id)
	}
	return checkID("call id", id)
}

// checkFeature: an object of a type this project knows; todo/write only inside a turn. See spec §2.4.3.6.
func (s *State) checkFeature(e Feature) error {
	if !isFeature(e.Kind) {
		return refuse(RuleType, "%.40q is no feature event", e.Kind)
	}
	if !isObject(e.Data) {
		return refuse(RuleData, "%s: data is not an object", e.Kind)
	}
	if e.Kind == "todo/write" {
		return s.inTurn(e)
	}
	return nil
}

// checkUnknown: skipped only when marked ignorable. See spec §2.1.
func checkUnknown(e Unknown, ignorable bool) error {
	switch {
	case !ignorable:
		return refuse(RuleType, "unknown event type %.40q, and it is not marked ignorable", e.Kind)
	case strings.TrimSpace(e.Kind) == "" || isCore(e.Kind) || isFeature(e.Kind):
		return refuse(RuleType, "%.40q is no unknown event type", e.Kind)
	case !isObject(e.Data):
		return refuse(RuleData, "%.40s: data is not an object", e.Kind)
	}
	return nil
}

// isObject reports whether data looks like an object; absent stands for {}.
func isObject(data []byte) bool {
	d := bytes.TrimSpace(data)
	return len(d) == 0 || d[0] == '{'
}
