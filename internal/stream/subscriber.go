package stream

import "sync"

// subscriber is a bounded ring of frames between the publisher and one reader.
type subscriber struct {
	session string
	ready   chan struct{} // holds a token when there is something to pop
	closed  chan struct{}

	mu     sync.Mutex
	max    int
	ring   []Frame // grows up to max, then wraps around
	start  int
	count  int
	lost   int   // frames dropped since the last gap was told
	lostTo int64 // revision of the last of them
}

func newSubscriber(session string, buffer int) *subscriber {
	if buffer <= 0 {
		buffer = DefaultBuffer
	}
	return &subscriber{session: session, max: buffer, ready: make(chan struct{}, 1), closed: make(chan struct{})}
}

// push adds a frame and drops the oldest when the ring is full.
func (s *subscriber) push(f Frame) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.count == s.max {
		s.lost, s.lostTo = s.lost+1, s.ring[s.start].Revision
		s.take()
	}
	if s.count == len(s.ring) {
		s.grow()
	}
	s.ring[(s.start+s.count)%len(s.ring)] = f
	s.count++
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// grow doubles the ring.
func (s *subscriber) grow() {
	ring := make([]Frame, min(s.max, max(8, 2*len(s.ring))))
	n := copy(ring, s.ring[s.start:])
	copy(ring[n:], s.ring[:s.start])
	s.ring, s.start = ring, 0
}

// take removes the oldest frame.
func (s *subscriber) take() Frame {
	f := s.ring[s.start]
	s.ring[s.start] = Frame{}
	s.start = (s.start + 1) % len(s.ring)
	s.count--
	return f
}

// pop returns the next frame, or first the gap before it.
func (s *subscriber) pop() (Frame, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lost > 0 {
		gap := Frame{Session: s.session, Kind: KindGap, Revision: s.lostTo, N: s.lost}
		s.lost = 0
		return gap, true
	}
	if s.count == 0 {
		return Frame{}, false
	}
	return s.take(), true
}

// close ends the reader's loop and lets go of the frames. The broker calls it once.
func (s *subscriber) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.closed)
	s.ring, s.start, s.count, s.lost = nil, 0, 0, 0
}
