package stream

import "slices"

// hintKey names a running effect of an agent.
type hintKey struct{ session, effect string }

// A Hinter passes on that a running effect should look after itself.
type Hinter interface {
	// Hint tells whoever runs the effect to heartbeat at once and to obey the server's answer. It never blocks; a hint
	// nobody waits for is lost, which only costs time.
	Hint(session, effectID string)
	// OnHint returns a channel that gets a value per hint, several hints in a row being one. Call stop when the effect ends.
	OnHint(session, effectID string) (hints <-chan struct{}, stop func())
}

var _ Hinter = (*Memory)(nil)

// Hint implements [Hinter].
func (m *Memory) Hint(session, effectID string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, c := range m.hints[hintKey{session, effectID}] {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// OnHint implements [Hinter].
func (m *Memory) OnHint(session, effectID string) (hints <-chan struct{}, stop func()) {
	key, c := hintKey{session, effectID}, make(chan struct{}, 1)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hints == nil {
		m.hints = map[hintKey][]chan struct{}{}
	}
	m.hints[key] = append(m.hints[key], c)
	return c, func() { m.forgetHint(key, c) }
}

func (m *Memory) forgetHint(key hintKey, c chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	rest := slices.DeleteFunc(m.hints[key], func(other chan struct{}) bool { return other == c })
	if len(rest) == 0 {
		delete(m.hints, key)
		return
	}
	m.hints[key] = rest
}
