package session

// fold applies a checked record.
func (s *State) fold(r Record) {
	s.count++
	_, s.atSeed = r.Event.(EndSeed)
	if !s.atSeed {
		s.lastTime = r.Time
	}
	if r.Surface != nil {
		s.place(r)
	}
	switch e := r.Event.(type) {
	case AssistantChunk:
		s.built(r.Seq)
		s.streaming = true
	case InboxSpliced:
		s.foldSplice(r.Seq, e)
	case InboxMoved:
		if r.Seq >= s.seedLength {
			s.inbox.move(e)
		}
	case TurnStart:
		s.turn, s.turnOpen, s.stepped, s.claimed = e.Turn, true, false, false
		s.step = 0
	case StepStart:
		s.step, s.stepOpen, s.stepped = e.Step, true, true
	case RequestHeader:
		s.header, s.headerHere = &e, true
	case RequestContext:
		s.context = &e
	case AssistantMessage:
		s.settled(r.Seq)
		s.blocks = append(s.blocks, e.Message.Content.ToolCalls()...)
	case AssistantAttempt:
		s.settled(r.Seq)
	case ToolCall:
		s.setCall(e.CallID, call{seq: r.Seq, started: true, answered: s.calls[e.CallID].answered})
	case ToolResult:
		s.foldResult(e)
	case StepEnd:
		s.closeStep()
	case TurnEnd:
		s.turnOpen = false
		s.account.turnEnded(r.Seq, e, s.stepped, s.claimed)
	case EndSeed:
		s.attach()
	}
}

// place puts a message on the surface.
func (s *State) place(r Record) {
	if !r.Surface.Replace {
		s.surface.append(r)
		return
	}
	first, _ := s.surface.find(r.Surface.Start)
	last, _ := s.surface.find(r.Surface.End)
	for n := range s.surface.span(first, last) {
		s.rewritten = s.rewritten || n.Seq < s.sentBefore // §8.5
	}
	s.surface.replace(r, first, last)
}

// built notes that the request of an attempt was made of everything before seq. See spec §8.5.
func (s *State) built(seq int64) {
	if !s.streaming {
		s.sentBefore, s.rewritten = seq, false
	}
}

// settled ends the attempt; one without chunks was built nonetheless.
func (s *State) settled(seq int64) {
	s.built(seq)
	s.streaming = false
}

// attach begins an incarnation: everything present counts as sent. See spec §8.5.
func (s *State) attach() {
	s.headerHere, s.streaming, s.rewritten = false, false, false
	s.sentBefore = s.count
}

func (s *State) foldSplice(seq int64, e InboxSpliced) {
	removes, inserts := e.RemovedCount > 0, len(e.Inserted) > 0
	if removes && e.Outcome == "" {
		s.claimed = true
	}
	if removes && !inserts && e.Outcome == OutcomeCanceled {
		s.account.DroppedUnrun = true // §7.4
	}
	if seq >= s.seedLength {
		s.inbox.splice(e)
	}
}

// foldResult notes that a call was answered; a replacement answers nothing.
func (s *State) foldResult(e ToolResult) {
	block, _ := resultBlock(e)
	if !s.stepOpen || e.Turn != s.turn || e.Step != s.step {
		return
	}
	c := s.calls[block.ToolCallID]
	c.answered = true
	s.setCall(block.ToolCallID, c)
}

func (s *State) setCall(id string, c call) {
	if s.calls == nil {
		s.calls = make(map[string]call)
	}
	s.calls[id] = c
}

func (s *State) closeStep() {
	s.stepOpen, s.streaming = false, false
	s.calls, s.blocks = nil, nil
}
