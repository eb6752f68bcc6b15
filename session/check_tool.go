package session

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
