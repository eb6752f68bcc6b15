package stream

import (
	"context"
	"iter"
	"sync"
)

// A Broker passes frames from those who run an agent to those who watch it.
type Broker interface {
	// Publish hands a frame to the session's subscribers. It never blocks and never fails.
	Publish(Frame)
	// Subscribe begins to collect the session's frames at once and yields them. The subscription ends when ctx ends or
	// the loop is left; the sequence can be used once.
	Subscribe(ctx context.Context, session string) iter.Seq[Frame]
}

// DefaultBuffer is how many frames a subscriber may lag behind.
const DefaultBuffer = 1024

// Memory is a [Broker] within one process. The zero value is ready. It keeps nothing for a session nobody watches.
type Memory struct {
	Buffer int // frames a subscriber may lag behind, default DefaultBuffer

	mu       sync.Mutex
	topics   map[string]*topic
	revision int64 // highest ever given, so that a session's revisions rise even after its topic was dropped
	hints    map[hintKey][]chan struct{}
}

// topic is what the broker knows of a session somebody watches.
type topic struct {
	revision    int64
	subscribers []*subscriber
}

var _ Broker = (*Memory)(nil)

// Publish stamps the frame with the session's next revision and hands it to every subscriber. The slow ones lose their
// oldest frames and are told so by a gap.
func (m *Memory) Publish(f Frame) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.topics[f.Session]
	if t == nil {
		return
	}
	t.revision++
	m.revision = max(m.revision, t.revision)
	f.Revision = t.revision
	for _, s := range t.subscribers {
		s.push(f)
	}
}

// Subscribe implements [Broker].
func (m *Memory) Subscribe(ctx context.Context, session string) iter.Seq[Frame] {
	s := m.add(session)
	stop := context.AfterFunc(ctx, func() { m.remove(session, s) })
	return func(yield func(Frame) bool) {
		defer m.remove(session, s)
		defer stop()
		for {
			f, ok := s.pop()
			if !ok {
				select {
				case <-s.ready:
					continue
				case <-ctx.Done():
					return
				case <-s.closed:
					return
				}
			}
			if ctx.Err() != nil || !yield(f) {
				return
			}
		}
	}
}

func (m *Memory) add(session string) *subscriber {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.topics[session]
	if t == nil {
		t = &topic{revision: m.revision}
		if m.topics == nil {
			m.topics = map[string]*topic{}
		}
		m.topics[session] = t
	}
	s := newSubscriber(session, m.Buffer)
	t.subscribers = append(t.subscribers, s)
	return s
}

// remove ends a subscription, and forgets a session that lost its last one.
func (m *Memory) remove(session string, s *subscriber) {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := m.topics[session]
	if t == nil {
		return
	}
	for i, other := range t.subscribers {
		if other == s {
			t.subscribers = append(t.subscribers[:i:i], t.subscribers[i+1:]...)
			s.close()
			break
		}
	}
	if len(t.subscribers) == 0 {
		delete(m.topics, session)
	}
}
