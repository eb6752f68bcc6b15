package session

// LastEvent is the default boundary of a fork.
const LastEvent int64 = -1

// ForkBoundary checks the inclusive boundary of a fork of a log of count events and returns how many events the child
// inherits. The boundary must exist ([RuleInvalidBoundary]) and must not lie inside an open turn ([RuleOpenTurn]).
// Forking an empty log at [LastEvent] inherits nothing. Of the records only the turn boundaries matter: chunks may be
// left out. See spec §7.3.
func ForkBoundary(records []Record, count, boundary int64) (seedLength int64, err error) {
	if boundary == LastEvent {
		boundary = count - 1
	} else if boundary < 0 || boundary >= count {
		return 0, &RuleError{boundary, RuleInvalidBoundary, "the session has no such event to fork at"}
	}
	for i := len(records) - 1; i >= 0; i-- {
		if records[i].Seq > boundary {
			continue
		}
		switch records[i].Event.(type) {
		case TurnEnd:
			return boundary + 1, nil
		case TurnStart:
			return 0, &RuleError{boundary, RuleOpenTurn, "cannot fork inside an open turn"}
		}
	}
	return boundary + 1, nil
}
