package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/openai"
)

// A speech is what a user asks the voice for: so many tokens.
type speech struct {
	Tokens int `json:"tokens"`
}

func (s speech) asked() string {
	raw, _ := json.Marshal(s) // a number always marshals
	return string(raw)
}

// The pace of a real model.
const (
	firstTokenAfter = 300 * time.Millisecond
	tokenEvery      = 20 * time.Millisecond
)

// A voice is a model behind HTTP, as the providers see one. It notes when it wrote each token of the last stream, and when
// a stream was given up.
type voice struct {
	url    string
	server *http.Server
	gone   chan time.Time

	mu      sync.Mutex
	written []time.Time
}

func newVoice() (*voice, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	v := &voice{url: "http://" + l.Addr().String() + "/v1", gone: make(chan time.Time, 1)}
	v.server = &http.Server{Handler: v}
	go func() { _ = v.server.Serve(l) }() // until it is closed
	return v, nil
}

func (v *voice) close() { _ = v.server.Close() }

// provider reaches the voice the way a real model is reached.
func (v *voice) provider() (llm.Provider, error) {
	return openai.New(openai.Config{Name: voiceName, BaseURL: v.url, Dialect: openai.Compatible})
}

const voiceName = "voice"

// ServeHTTP speaks.
func (v *voice) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, err := tokensOf(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	v.mu.Lock()
	v.written = nil
	v.mu.Unlock()
	w.Header().Set("Content-Type", "text/event-stream")
	if v.speak(r.Context(), w, n) != nil {
		v.gone <- time.Now()
	}
}

// tokensOf reads how much is asked for: by the last message.
func tokensOf(r *http.Request) (int, error) {
	var body struct {
		Messages []struct {
			Content string `json:"content"`
		} `json:"messages"`
	}
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return 0, err
	}
	var s speech
	if len(body.Messages) == 0 {
		return 0, fmt.Errorf("no message")
	}
	return s.Tokens, json.Unmarshal([]byte(body.Messages[len(body.Messages)-1].Content), &s)
}

func (v *voice) speak(ctx context.Context, w http.ResponseWriter, n int) error {
	due := time.Now().Add(firstTokenAfter)
	for i := range n {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Until(due)):
		}
		due = due.Add(tokenEvery)
		v.mu.Lock()
		v.written = append(v.written, time.Now())
		v.mu.Unlock()
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

// times are when the tokens of the last stream were written.
func (v *voice) times() []time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]time.Time(nil), v.written...)
}
