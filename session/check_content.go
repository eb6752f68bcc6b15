package session

// checkSplice is strict from the seed's end on. See spec §2.4.1.
func (s *State) checkSplice(e InboxSpliced) error {
	if s.count < s.seedLength {
		return firstOf(checkSpliceShape(e), checkInserted(e.Inserted))
	}
	return s.inbox.check(e)
}

// checkMove is strict from the seed's end on, as [State.checkSplice] is.
func (s *State) checkMove(e InboxMoved) error {
	if s.count < s.seedLength {
		return checkMoveShape(e)
	}
	return s.inbox.checkMove(e)
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
