package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/openai"
)

// A speech is what a user asks the voice for: so many tokens.
type speech struct {
	Tokens int    `json:"tokens"`
	Of     string `json:"of,omitempty"` // names the request, where several agents speak
}

func (s speech) asked() string {
	raw, _ := json.Marshal(s) // a number and a text always marshal
	return string(raw)
}

// The pace of a real model.
const (
	firstTokenAfter = 300 * time.Millisecond
	tokenEvery      = 20 * time.Millisecond
)

// A voice is a model behind HTTP, as the providers see one. It remembers what became of every request.
type voice struct {
	url    string
	server *http.Server

	mu      sync.Mutex
	heard   map[string][]*hearing // by the name of the request
	changed chan struct{}         // closed when something is heard, written or given up
}

// A hearing is what became of one request.
type hearing struct {
	asked   time.Time
	written []time.Time // of each token
	gone    time.Time   // when it was given up; zero if it was not
}

func newVoice() (*voice, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	v := &voice{url: "http://" + l.Addr().String() + "/v1", heard: map[string][]*hearing{}, changed: make(chan struct{})}
	v.server = &http.Server{Handler: v}
	go func() { _ = v.server.Serve(l) }() // until it is closed
	return v, nil
}

func (v *voice) close() { _ = v.server.Close() }

// voiceAt reaches a voice the way a real model is reached.
func voiceAt(url string, ear *ear) (llm.Provider, error) {
	return openai.New(openai.Config{Name: voiceName, BaseURL: url, Dialect: openai.Compatible, HTTPClient: &http.Client{Transport: ear}})
}

const voiceName = "voice"

// An ear counts what a provider reads of answers.
type ear struct{ bytes atomic.Int64 }

// RoundTrip implements [http.RoundTripper].
func (e *ear) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		answer.Body = listening{answer.Body, e}
	}
	return answer, err
}

type listening struct {
	io.ReadCloser
	ear *ear
}

func (l listening) Read(p []byte) (int, error) {
	n, err := l.ReadCloser.Read(p)
	l.ear.bytes.Add(int64(n))
	return n, err
}

// ServeHTTP speaks.
func (v *voice) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s, err := speechOf(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	h := &hearing{asked: time.Now()}
	v.note(func() { v.heard[s.Of] = append(v.heard[s.Of], h) })
	w.Header().Set("Content-Type", "text/event-stream")
	if v.speak(r.Context(), w, h, s.Tokens) != nil {
		v.note(func() { h.gone = time.Now() })
	}
}

// speechOf reads what is asked for: by the last message.
func speechOf(r *http.Request) (s speech, err error) {
	var body struct {
		Messages []struct {
			Content string `json:"content"`
		} `json:"messages"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return s, err
	}
	if len(body.Messages) == 0 {
		return s, fmt.Errorf("no message")
	}
	return s, json.Unmarshal([]byte(body.Messages[len(body.Messages)-1].Content), &s)
}

func (v *voice) speak(ctx context.Context, w http.ResponseWriter, h *hearing, n int) error {
	due := time.Now().Add(firstTokenAfter)
	for i := range n {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Until(due)):
		}
		due = due.Add(tokenEvery)
		v.note(func() { h.written = append(h.written, time.Now()) })
		if err := say(w, fmt.Sprintf(`{"content":"t%d "}`, i), "null"); err != nil {
			return err
		}
	}
	if err := say(w, `{}`, `"stop"`); err != nil {
		return err
	}
	_, err := fmt.Fprint(w, "data: [DONE]\n\n")
	return err
}

// say writes one event of the stream at once.
func say(w http.ResponseWriter, delta, finish string) error {
	_, err := fmt.Fprintf(w, `data: {"id":"s","object":"chat.completion.chunk","created":1,"model":"voice","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`+"\n\n", delta, finish)
	if err == nil {
		err = http.NewResponseController(w).Flush()
	}
	return err
}

// note changes what is remembered, and wakes those who wait for it.
func (v *voice) note(change func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	change()
	close(v.changed)
	v.changed = make(chan struct{})
}

// requests is how often a speech of that name was asked for.
func (v *voice) requests(of string) int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return len(v.heard[of])
}

// wait returns the n-th request of a name, from 1, as soon as it is as wanted.
func (v *voice) wait(ctx context.Context, of string, n int, wanted func(hearing) bool) (hearing, error) {
	for {
		h, there, changed := v.look(of, n)
		if there && wanted(h) {
			return h, nil
		}
		select {
		case <-ctx.Done():
			return h, fmt.Errorf("request %d of %q: %w", n, of, ctx.Err())
		case <-changed:
		}
	}
}

func (v *voice) look(of string, n int) (h hearing, there bool, changed <-chan struct{}) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if there = len(v.heard[of]) >= n; there {
		h = *v.heard[of][n-1]
	}
	return h, there, v.changed
}

// What can be wanted of a request.
func asked(hearing) bool     { return true }
func begun(h hearing) bool   { return len(h.written) > 0 }
func givenUp(h hearing) bool { return !h.gone.IsZero() }

// times are when the tokens of the last stream without a name were written.
func (v *voice) times() []time.Time {
	h, _, _ := v.look("", v.requests(""))
	return h.written
}
