package session

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
