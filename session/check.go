package session

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
	case InboxSpliced, InboxMoved, TurnStart, StepStart, SystemMessage, UserMessage, RequestHeader, RequestContext,
		AssistantChunk, AssistantMessage, AssistantAttempt, ToolCall, ToolResult, StepEnd, TurnEnd, EndSeed, LLMRetry, LLMRetryStarted,
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
	case InboxMoved:
		return s.checkMove(e)
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
