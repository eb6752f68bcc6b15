package scripted

import (
	"sync"

	"github.com/everturn/everturn/llm"
)

// A Recorder keeps what a model was sent, in the order of arrival. It never forgets, so it is for tests. The zero value
// is ready to use.
type Recorder struct {
	mu       sync.Mutex
	requests []llm.Request
}

// Requests returns deep copies of all requests.
func (r *Recorder) Requests() []llm.Request { return r.filter(func(llm.Request) bool { return true }) }

// Session returns deep copies of the requests of one session.
func (r *Recorder) Session(id string) []llm.Request {
	return r.filter(func(req llm.Request) bool { return req.Session == id })
}

func (r *Recorder) filter(want func(llm.Request) bool) []llm.Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []llm.Request
	for _, req := range r.requests {
		if want(req) {
			out = append(out, copyRequest(req))
		}
	}
	return out
}

// add keeps a copy; the nil recorder keeps nothing.
func (r *Recorder) add(req llm.Request) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, copyRequest(req))
}
