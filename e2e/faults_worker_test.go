package e2e

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"github.com/everturn/everturn/internal/log"
	"github.com/everturn/everturn/internal/store"
	"github.com/everturn/everturn/internal/store/storetest"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/tools"
	"github.com/everturn/everturn/worker"
)

// The test program is also the worker of the fault matrix. It is one when this variable names the server.
const beVictim = "EVERTURN_E2E_VICTIM"

// The definitions that a victim knows.
const (
	acting = "acting" // calls a tool of every effect class, then says what they said
	gated  = "gated"  // the same, with gates
	wordy  = "wordy"  // the same, and one of the tools says so much that its words are a body of their own
)

// victim starts this program as a worker that can be trapped.
func (s *scene) victim() *process {
	s.t.Helper()
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	x := s.command(exec.Command(self), append(append([]string(nil), s.env...), beVictim+"="+s.proxy.address, "EVERTURN_E2E_QUEUE="+s.queue))
	s.workers = append(s.workers, x)
	return x
}

// runVictim is the program of a victim. It comes up whenever its server and its store do, and ends with whoever started it.
func runVictim() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		suicide()
	}()
	home := os.Getenv("EVERTURN_HOME")
	x := &traps{home: home, passed: map[string]int{}}
	w, err := newVictim(ctx, home, x)
	for ; err != nil; w, err = newVictim(ctx, home, x) {
		fmt.Fprintln(os.Stderr, err)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(200 * time.Millisecond):
		}
	}
	fmt.Println("worker polls")
	<-ctx.Done()
	w.Stop()
	return nil
}

func newVictim(ctx context.Context, home string, x *traps) (*worker.Worker, error) {
	dialing, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	c, err := client.DialContext(dialing, client.Options{HostPort: os.Getenv(beVictim), Logger: log.Silent(),
		ConnectionOptions: client.ConnectionOptions{DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(x.rpc)}}})
	if err != nil {
		return nil, err
	}
	s, err := store.Open(ctx, filepath.Join(home, "store"), store.Options{Wrap: func(o store.Objects) store.Objects { return weathered{o, x} }})
	if err != nil {
		return nil, err
	}
	bench := workbench{home: home, traps: x, takes: 60 * time.Millisecond}
	long := bench
	long.words = 6 << 10
	w, err := worker.New(ctx, worker.Config{
		Client: c, TaskQueue: os.Getenv("EVERTURN_E2E_QUEUE"), Store: s, Profile: worker.Embedded, Drain: 5 * time.Second,
		Providers: []llm.Provider{scripted.New(scripted.Config{Default: scripted.Model{Respond: respond, Pace: 25 * time.Millisecond}})},
		Definitions: []*plugin.Definition{
			{Name: acting, Provider: scripted.Name, Model: "acts", Tools: bench.tools()},
			{Name: wordy, Provider: scripted.Name, Model: "acts", Tools: long.tools()},
			{Name: gated, Provider: scripted.Name, Model: "acts", Tools: bench.tools(), PreStep: []plugin.PreStepGate{bench.preStep},
				ToolPreExecute: []plugin.ToolPreGate{bench.preExecute}, ToolPostExecute: []plugin.ToolPostGate{bench.postExecute}},
		},
		Probe: func(_ context.Context, point, session string, _, _, _ int) error {
			x.at(point, session)
			return nil
		},
	})
	if err != nil {
		return nil, err
	}
	return w, w.Start()
}

// rpc traps what the worker says to the server.
func (x *traps) rpc(ctx context.Context, method string, req, reply any, cc *grpc.ClientConn, invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
	name := path.Base(method)
	if done, ok := req.(*workflowservice.RespondWorkflowTaskCompletedRequest); ok && rolls(done) {
		name = "rollover"
	}
	x.at(name+" before", "")
	err := invoke(ctx, method, req, reply, cc, opts...)
	x.at(name+" after", "")
	return err
}

func rolls(r *workflowservice.RespondWorkflowTaskCompletedRequest) bool {
	for _, c := range r.GetCommands() {
		if c.GetContinueAsNewWorkflowExecutionCommandAttributes() != nil {
			return true
		}
	}
	return false
}

// A weather is what the victims' store suffers from. It is written into the file "weather".
type weather string

// The weathers.
const (
	away weather = "unavailable"
	full weather = "disk full"
	slow weather = "slow"
)

// weathered is a store's driver with traps and a weather.
type weathered struct {
	store.Objects
	traps *traps
}

func (o weathered) suffer(ctx context.Context, writes bool) error {
	raw, err := os.ReadFile(filepath.Join(o.traps.home, "weather"))
	if err != nil {
		return nil
	}
	switch weather(raw) {
	case away:
		return storetest.ErrDown
	case full:
		if writes {
			return fmt.Errorf("write object: %w", syscall.ENOSPC)
		}
	case slow:
		select {
		case <-time.After(300 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Create implements [store.Objects].
func (o weathered) Create(ctx context.Context, key string, data []byte) error {
	if err := o.suffer(ctx, true); err != nil {
		return err
	}
	if o.traps.at("create "+kindOf(key)+" before", key) {
		_ = o.Objects.Create(ctx, key, data[:len(data)/2])
		suicide()
	}
	err := o.Objects.Create(ctx, key, data)
	o.traps.at("create "+kindOf(key)+" after", key)
	return err
}

// Get implements [store.Objects].
func (o weathered) Get(ctx context.Context, key string) ([]byte, error) {
	if err := o.suffer(ctx, false); err != nil {
		return nil, err
	}
	return o.Objects.Get(ctx, key)
}

// kindOf is the first part of a key; of the effect ledger two.
func kindOf(key string) string {
	kind, rest, _ := strings.Cut(key, "/")
	if kind == "effects" {
		entry, _, _ := strings.Cut(rest, "/")
		return kind + "/" + entry
	}
	return kind
}

// A workbench has the gates and tools of victims. What the tools do to the world is in the folder "world": an effect is one
// file, made once or not at all.
type workbench struct {
	home  string
	traps *traps
	takes time.Duration // the time of a body
	words int           // bytes that the pure tool adds
}

// padding makes a result long.
const padding = "~"

// brief is a result without it.
func brief(result string) string { return strings.TrimRight(result, padding) }

// An effect is what a tool did to the world.
type effect struct {
	Key   string
	Value string
}

// errands are the tools that the model calls for a word of the user. A tool has the name of its effect class.
var errands = map[string][]string{"act": {"once", "keyed", "reconcile", "pure"}, "pay": {"once"}}

func (w workbench) tools() (all []*tools.Tool) {
	for class, option := range map[string]tools.Option{"once": tools.WithEffect(tools.Once), "keyed": tools.WithEffect(tools.Keyed),
		"pure": tools.WithEffect(tools.Pure), "reconcile": tools.WithReconcile(w.look)} {
		all = append(all, tools.Must(tools.New(class, "Acts.", w.body(class), option, tools.ParallelSafe(), tools.KeepWhole())))
	}
	return all
}

type errand struct {
	N string `json:"n"`
}

func (w workbench) body(class string) func(context.Context, errand) (string, error) {
	return func(ctx context.Context, in errand) (string, error) {
		call, _ := tools.CallFrom(ctx)
		select {
		case <-time.After(w.takes):
		case <-ctx.Done():
			return "", ctx.Err()
		}
		w.traps.at("body before", class)
		if class == "pure" {
			return "pure " + in.N + strings.Repeat(padding, w.words), nil
		}
		value, err := w.act(class, call.Session, in.N, call.Key)
		w.traps.at("body after", class)
		return value, err
	}
}

// act does something to the world. What is done twice is noted.
func (w workbench) act(class, session, n, key string) (string, error) {
	file := w.fileOf(class, session, n)
	mine := effect{Key: key, Value: fmt.Sprintf("%s %s by %d at %d", class, n, os.Getpid(), time.Now().UnixNano())}
	raw, err := json.Marshal(mine)
	if err != nil {
		return "", err
	}
	temp := fmt.Sprintf("%s.%d.%d", file, os.Getpid(), time.Now().UnixNano())
	if err := os.WriteFile(temp, raw, 0o600); err != nil {
		return "", err
	}
	defer os.Remove(temp)
	if err := os.Link(temp, file); !errors.Is(err, fs.ErrExist) {
		return mine.Value, err
	}
	theirs, err := readEffect(file)
	if err != nil || class == "keyed" && theirs.Key == key {
		return theirs.Value, err
	}
	if class == "reconcile" && theirs.Key == key {
		return theirs.Value, os.WriteFile(file+".again", raw, 0o600)
	}
	return mine.Value, os.WriteFile(file+".twice", raw, 0o600)
}

// look says what became of an effect, by its key.
func (w workbench) look(_ context.Context, key string) (tools.Result, bool, error) {
	files, err := filepath.Glob(w.fileOf("reconcile", "*", "*"))
	if err != nil {
		return tools.Result{}, false, err
	}
	for _, file := range files {
		if e, err := readEffect(file); err == nil && e.Key == key {
			return tools.TextResult(e.Value), true, nil
		}
	}
	return tools.Result{}, false, nil
}

func (w workbench) fileOf(class, session, n string) string {
	return filepath.Join(w.home, "world", class+"-"+session+"-"+n)
}

func readEffect(file string) (e effect, err error) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return e, err
	}
	return e, json.Unmarshal(raw, &e)
}

func (w workbench) preStep(ctx context.Context, in plugin.PreStep, next func(context.Context, plugin.PreStep) (plugin.Decision, error)) (plugin.Decision, error) {
	w.traps.at("gate pre-step", in.View.Session)
	return next(ctx, in)
}

func (w workbench) preExecute(ctx context.Context, in plugin.ToolCall, next func(context.Context) (plugin.Verdict, error)) (plugin.Verdict, error) {
	w.traps.at("gate pre-execute", in.Name)
	return next(ctx)
}

func (w workbench) postExecute(ctx context.Context, in plugin.ToolOutcome, next func(context.Context) (plugin.PostDecision, error)) (plugin.PostDecision, error) {
	w.traps.at("gate post-execute", in.Call.Name)
	return next(ctx)
}

// respond is the model: a function of the conversation. "act N" and "pay N" make it call tools and say what they
// answered, "note N" makes it say that it heard.
func respond(req llm.Request) scripted.Answer {
	var heard []string
	var results []outcome
	for _, m := range req.Messages {
		switch m.Role {
		case session.RoleAssistant:
			heard, results = nil, nil
		case session.RoleUser:
			heard, results = append(heard, m.Text()), append(results, outcomes(m)...)
		}
	}
	return answerTo(heard, results)
}

// An outcome is the result of a call that was made for an errand.
type outcome struct{ errand, text string }

func outcomes(m session.Message) (out []outcome) {
	for _, b := range m.Content {
		if r, ok := b.(session.ToolResultBlock); ok {
			n, _, _ := strings.Cut(r.ToolCallID, "-")
			out = append(out, outcome{n, brief(r.Content.Text())})
		}
	}
	return out
}

// answerTo is what the model says to what it heard, and to what its calls came to. It hears of two errands at once if the
// turn of the first one failed.
func answerTo(heard []string, results []outcome) scripted.Answer {
	var says, calls []string
	for len(results) > 0 {
		n, texts := results[0].errand, []string(nil)
		for ; len(results) > 0 && results[0].errand == n; results = results[1:] {
			texts = append(texts, results[0].text)
		}
		says = append(says, report(n, texts))
	}
	for _, text := range heard {
		verb, n, _ := strings.Cut(text, " ")
		switch verb {
		case "note":
			says = append(says, "noted "+n+".")
		default:
			for _, class := range errands[verb] {
				calls = append(calls, fmt.Sprintf(`tool %s-%s %s {"n":%q}`, n, class, class, n))
			}
		}
	}
	line := strings.Join(calls, " ")
	if len(says) > 0 || len(calls) == 0 {
		text := strings.Join(append(says, "Over."), " ")
		quoted, _ := json.Marshal(text) // a string always marshals
		line = fmt.Sprintf("text %s chunks=%d %s", quoted, min(16, len(text)), line)
	}
	answer, err := scripted.ParseAnswer(line)
	if err != nil {
		panic(err)
	}
	return answer
}

// report is the answer to an errand.
func report(n string, results []string) string {
	return fmt.Sprintf("%s came to: %s.", n, strings.Join(results, "; "))
}
