package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/everturn/everturn/llm/llmtest"
	"github.com/everturn/everturn/session"
)

// A vendor speaks OpenAI's protocol: every call is answered by the next handler, the last one stays.
type vendor struct {
	*httptest.Server
	mu      sync.Mutex
	answers []http.Handler
	bodies  []string
	keys    []string
}

func newVendor(t *testing.T, answers ...http.Handler) *vendor {
	t.Helper()
	v := &vendor{answers: answers}
	v.Server = httptest.NewServer(v)
	t.Cleanup(v.Close)
	return v
}

func (v *vendor) ServeHTTP(w http.ResponseWriter, r *http.Request) { v.next(r).ServeHTTP(w, r) }

func (v *vendor) next(r *http.Request) http.Handler {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	v.mu.Lock()
	defer v.mu.Unlock()
	v.bodies = append(v.bodies, string(body))
	v.keys = append(v.keys, llmtest.OpenAI{}.Key(r.Header))
	h := v.answers[0]
	if len(v.answers) > 1 {
		v.answers = v.answers[1:]
	}
	return h
}

// heard returns the bodies and keys of the calls so far.
func (v *vendor) heard() (bodies, keys []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return append([]string(nil), v.bodies...), append([]string(nil), v.keys...)
}

// answer is a stream of OpenAI's protocol.
func answer(end string, blocks ...llmtest.Piece) *llmtest.Server {
	wire := llmtest.OpenAI{}
	return &llmtest.Server{Wire: wire, Frames: wire.Frames(llmtest.Answer{Blocks: blocks, End: end, Usage: session.Usage{InputTokens: 7, OutputTokens: 3}})}
}

func text(parts ...string) llmtest.Piece { return llmtest.Piece{Kind: llmtest.Said, Parts: parts} }

// refusal is a response that is no success and, as a careless vendor would, repeats the key.
func refusal(status int, code string) *llmtest.Server {
	return &llmtest.Server{Wire: llmtest.OpenAI{}, Status: status,
		Body: `{"error":{"message":"Incorrect API key provided: $KEY.","type":"invalid_request_error","code":"` + code + `"}}`}
}

// broken is a stream whose connection breaks in the middle.
func broken() *llmtest.Server {
	s := answer(llmtest.EndStop, text("one ", "two ", "three"))
	s.Frames, s.Then = s.Frames[:3], llmtest.Cut
	return s
}

func (v *vendor) env(key string) []string {
	return []string{"OPENAI_API_KEY=" + key, "EVERTURN_BASE_URL=" + v.URL + "/v1", "EVERTURN_MODEL=test-model"}
}

func TestATurnOverTheWire(t *testing.T) {
	p := here(t)
	v := newVendor(t,
		answer(llmtest.EndCalls, llmtest.Piece{Kind: llmtest.Called, ID: "call_1", Name: "echo", Parts: []string{`{"te`, `xt":"你好"}`}}),
		answer(llmtest.EndStop, llmtest.Piece{Kind: llmtest.Thought, Parts: []string{"so it is"}}, text("The tool ", "says 你好.")),
	)
	p.worker(v.env("sk-wire")...)
	a := p.create("a")
	require.Equal(t, "The tool says 你好.", ask(t, a, "please echo 你好").Text)
	idle(t, a)
	records := p.records(a.ID())
	require.Equal(t, "IS+(next-turn:please echo 你好) TS1 IS-(next-turn:1) SS1.1 UM(please echo 你好) RH(initial) RC CH AM TC(call_1) TR(call_1) SE SS1.2 CH AM SE TE(completed)",
		withoutCounts(trace(records)))
	last := all[session.AssistantMessage](records)[1]
	require.Equal(t, "openai", last.Message.Source.Provider)
	require.Equal(t, int64(7), last.Usage.InputTokens)

	bodies, keys := v.heard()
	require.Equal(t, []string{"sk-wire", "sk-wire"}, keys)
	var second struct {
		Model    string
		Stream   bool
		Messages []struct {
			Role       string
			ToolCallID string `json:"tool_call_id"`
			Content    any
		}
		Tools []any
	}
	require.NoError(t, json.Unmarshal([]byte(bodies[1]), &second))
	require.Equal(t, "test-model", second.Model)
	require.True(t, second.Stream)
	require.Len(t, second.Tools, 9)
	result := second.Messages[len(second.Messages)-1]
	require.Equal(t, "tool", result.Role)
	require.Equal(t, "call_1", result.ToolCallID)
	require.Contains(t, encode(t, result.Content), "你好")
}

// withoutCounts leaves out how many chunks a stream had.
func withoutCounts(trace string) string {
	words := strings.Split(trace, " ")
	for i, w := range words {
		if strings.HasPrefix(w, "CH×") {
			words[i] = "CH"
		}
	}
	return strings.Join(words, " ")
}

func TestAKeyAppearsNowhere(t *testing.T) {
	p, _ := alone(t)
	const key = "sk-5ECRET-e2e-Qm9vbSE"
	v := newVendor(t, refusal(http.StatusUnauthorized, "invalid_api_key"), broken(), refusal(http.StatusInternalServerError, "server_error"),
		answer(llmtest.EndStop, text("all ", "well")))
	env := append(v.env(key), "ANTHROPIC_API_KEY="+key, "DEEPSEEK_API_KEY="+key)
	w := p.workerWith(env, "--log-level", "debug")
	a := p.create("a")
	require.Equal(t, "AUTH", ask(t, a, "with a bad key").Outcome.Error.Code)
	require.Equal(t, "all well", ask(t, a, "with a cut stream, then an error, then an answer").Text)
	idle(t, a)
	cli := p.start(env, "ask", "--log-level", "debug", "--agent", a.ID(), "once more")
	require.Zero(t, cli.wait(), cli.err)

	_, keys := v.heard()
	require.Equal(t, key, keys[0], "the vendor gets the key")
	require.GreaterOrEqual(t, len(keys), 5)
	clean := func(what, data string) {
		t.Helper()
		require.NotContains(t, data, key, what)
		require.NotContains(t, data, key[3:], what)
	}
	clean("log", p.ok("log", a.ID(), "--json"))
	clean("state", p.ok("show", a.ID(), "--json"))
	raw, err := protojson.Marshal(p.history(a.ID()))
	require.NoError(t, err)
	clean("history", string(raw))
	for _, payload := range payloadsOf(p.history(a.ID())) {
		clean(payload.what, payload.data)
	}
	require.Zero(t, w.stop())
	require.Contains(t, w.err.String(), "\tdebug\t", "the logs are there to be looked at")
	for _, x := range []*process{w, cli} {
		clean("stdout", x.out.String())
		clean("stderr", x.err.String())
	}
	p.server.kill()
	for name, data := range filesOf(t, p.home) {
		clean(name, data)
	}
}

// filesOf returns the contents of every file in a folder, and what is compressed inside them.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	reader, err := zstd.NewReader(nil)
	require.NoError(t, err)
	defer reader.Close()
	out := map[string]string{}
	opened := 0
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		raw, err := os.ReadFile(path)
		out[path] = string(raw)
		if at := bytes.Index(raw, []byte{0x28, 0xB5, 0x2F, 0xFD}); at >= 0 {
			if inside, err := reader.DecodeAll(raw[at:], nil); err == nil {
				out[path+" (decompressed)"] = string(inside)
				opened++
			}
		}
		return err
	}))
	require.NotZero(t, opened, "the store's segments are compressed")
	return out
}
