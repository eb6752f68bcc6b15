package session

// An Account says what became of the input given so far. See spec §7.4.
type Account struct {
	// Last is the latest end of a turn that had a step, or that claimed input and ended other than completed.
	Last *TurnEnd `json:"lastAccount,omitempty"`
	Seq  int64    `json:"seq"` // of Last; 0 when there is none
	// DroppedUnrun: after Last, something was discarded from the inbox with nothing inserted in its place.
	DroppedUnrun bool `json:"droppedUnrun"`
}

func (a *Account) turnEnded(seq int64, e TurnEnd, stepped, claimed bool) {
	if stepped || claimed && e.Reason.Kind != TurnCompleted {
		*a = Account{Last: &e, Seq: seq}
	}
}

// Account is the fold of consumed work. See spec §7.4.
func (s *State) Account() Account { return s.account }
