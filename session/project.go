package session

// Messages is the model history: the messages of the surface in order, without those that have no content. It depends
// on nothing else. See spec §9.1.
func (s *State) Messages() []Message {
	out := make([]Message, 0, s.surface.live)
	for r := range s.surface.all() {
		if m, ok := modelMessage(r.Event); ok {
			out = append(out, m)
		}
	}
	return out
}

// modelMessage returns what a node contributes to the model history.
func modelMessage(e Event) (m Message, ok bool) {
	switch e := e.(type) {
	case UserMessage:
		return e.Message, true
	case ToolResult:
		return e.Message, true
	case AssistantMessage:
		return e.Message, len(e.Message.Content) > 0
	case SystemMessage:
		return e.Message, e.Message.Text() != ""
	default:
		return Message{}, false
	}
}
