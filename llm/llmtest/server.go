package llmtest

import (
	"io"
	"net/http"
	"strings"
	"sync"
)

// A Server plays a vendor. It answers every call in the same way.
type Server struct {
	Wire   Wire
	Status int               // 0 means 200
	Header map[string]string // of the response
	Body   string            // of a response that is no stream
	Frames []string          // of a stream
	Then   func(r *http.Request)

	mu     sync.Mutex
	bodies []string
	keys   []string
}

// ServeHTTP answers a call. "$KEY" in what it says is replaced by the caller's key, as a careless vendor would.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.note(r)
	if r.URL.Path != s.Wire.Path() {
		http.Error(w, "no such path: "+r.URL.Path, http.StatusNotFound)
		return
	}
	for name, value := range s.Header {
		w.Header().Set(name, value)
	}
	if s.Status != 0 || s.Frames == nil {
		s.refuse(w, r)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	flush(w)
	for _, frame := range s.Frames {
		s.write(w, r, frame)
	}
	if s.Then != nil {
		s.Then(r)
	}
}

func (s *Server) refuse(w http.ResponseWriter, r *http.Request) {
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(max(s.Status, http.StatusOK))
	s.write(w, r, s.Body)
}

func (s *Server) write(w http.ResponseWriter, r *http.Request, text string) {
	_, _ = io.WriteString(w, strings.ReplaceAll(text, "$KEY", s.Wire.Key(r.Header)))
	flush(w)
}

func flush(w http.ResponseWriter) {
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

func (s *Server) note(r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bodies = append(s.bodies, string(body))
	s.keys = append(s.keys, s.Wire.Key(r.Header))
}

// calls returns the bodies and the keys of the calls so far.
func (s *Server) calls() (bodies, keys []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.bodies...), append([]string(nil), s.keys...)
}

// Cut breaks the connection in the middle of the answer.
func Cut(*http.Request) { panic(http.ErrAbortHandler) }

// Hang keeps the connection open until the caller gives up.
func Hang(r *http.Request) { <-r.Context().Done() }
