package e2e

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/llm/llmtest"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// goesOn checks that an agent answers as if nothing had happened.
func goesOn(t *testing.T, p *place, a *agents.Agent) {
	t.Helper()
	require.Equal(t, "The echo tool says: still here", ask(t, a, "please echo still here").Text)
	idle(t, a)
	p.records(a.ID())
}

func TestAnUnknownAgent(t *testing.T) {
	p := here(t)
	p.worker()
	for _, args := range [][]string{
		{"show"}, {"followup", "x"}, {"steer", "x"}, {"inject", "x"}, {"inbox"}, {"cancel"}, {"wait"}, {"dispose"}, {"log"}, {"tail"}, {"request", "1.1"},
	} {
		line := p.fails(3, append([]string{args[0], p.id("nobody")}, args[1:]...)...)
		require.Contains(t, line, "no such agent", args)
		require.Contains(t, line, "starter list", args)
	}
	_, err := p.agents.Get(t.Context(), p.id("nobody"))
	require.ErrorIs(t, err, agents.ErrUnknownAgent)
}

func TestAnUnknownDefinition(t *testing.T) { // C-286
	p := here(t)
	p.worker()
	id := p.id("a")
	line := p.fails(6, "create", id, "--definition", "nosuch")
	require.Contains(t, line, `"nosuch" is not registered`)
	require.Contains(t, line, "assistant", "it names what there is")
	_, err := p.agents.Create(t.Context(), agents.CreateOptions{ID: id, Definition: "nosuch"})
	var create *agents.CreateError
	require.ErrorAs(t, err, &create)
	require.Equal(t, "UNKNOWN_DEFINITION", create.Code)
	goesOn(t, p, p.create("a")) // the id is free
	require.Contains(t, p.fails(6, "create", id), "live", "and now it is taken")
}

func TestAnUnknownProviderOrModel(t *testing.T) {
	p := here(t)
	v := newVendor(t, refusal(http.StatusNotFound, "model_not_found"), answer(llmtest.EndStop, text("found")))
	p.worker(v.env("sk-x")...)
	require.Contains(t, p.fails(6, "create", p.id("a"), "--provider", "nobody"), `provider "nobody" is not registered`)
	a := p.create("a", "--model", "nosuch")
	end := ask(t, a, "hello").Outcome
	require.Equal(t, session.TurnErrored, end.Kind)
	require.Equal(t, "INVALID_REQUEST", end.Error.Code)
	require.Equal(t, 404, end.Error.Status)
	require.Contains(t, p.ok("show", a.ID()), "INVALID_REQUEST")
	require.Equal(t, "found", ask(t, a, "and now?").Text)
}

func TestAMissingKey(t *testing.T) {
	p := here(t)
	first := p.worker()
	for provider, variable := range map[string]string{"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY", "deepseek": "DEEPSEEK_API_KEY"} {
		a := p.create(provider, "--provider", provider, "--model", "some-model")
		end := ask(t, a, "hello").Outcome
		require.Equal(t, "MISSING_CREDENTIAL", end.Error.Code, provider)
		require.Contains(t, end.Error.Message, variable)
	}
	id := p.id("openai")
	r := p.run("ask", "--agent", id, "hello")
	require.Equal(t, 8, r.code, r.err)
	require.Contains(t, r.err, "OPENAI_API_KEY")
	require.Zero(t, first.stop())
	v := newVendor(t, answer(llmtest.EndStop, text("thank you")))
	p.worker(v.env("sk-now")...)
	require.Equal(t, "thank you", ask(t, p.agent(id), "now there is one").Text, "the agent goes on")
}

func TestAMalformedMessage(t *testing.T) {
	p := here(t)
	p.worker()
	a := p.create("a")
	for what, c := range map[string]struct {
		args []string
		says string
	}{
		"no text":       {[]string{"followup", a.ID(), ""}, "exactly one of text"},
		"invalid UTF-8": {[]string{"steer", a.ID(), "caf\xe9"}, "not valid UTF-8"},
		"an invalid id": {[]string{"inject", a.ID(), "x", "--id", "a\tb"}, "control characters"},
		"a long id":     {[]string{"inject", a.ID(), "x", "--id", strings.Repeat("x", 201)}, "1–200 characters"},
	} {
		line := p.fails(6, c.args...)
		require.Contains(t, line, c.says, what)
		require.Contains(t, line, "INVALID", what)
	}
	require.Empty(t, p.records(a.ID()))
	goesOn(t, p, a)
}

func TestAnOversizedMessage(t *testing.T) {
	p := here(t)
	w := p.workerWith(nil, "--log-level", "warn")
	a := p.create("a")
	_, err := a.Followup(t.Context(), agents.Text(strings.Repeat("x", signals.MaxBody+1)))
	var refused *agents.RefusedError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "TOO_LARGE", refused.Code)
	require.Contains(t, refused.Message, fmt.Sprint(signals.MaxBody), "the limit is stated")

	raw := signals.Send{Text: strings.Repeat("x", signals.MaxRaw+1)}
	require.NoError(t, p.sdk.SignalWorkflow(t.Context(), a.ID(), "", signals.Followup, raw))
	w.says(fmt.Sprintf("at most %d fit into a signal", signals.MaxRaw))
	r := p.feed(strings.Repeat("x", 1<<20+1), "chat", a.ID())
	require.NotZero(t, r.code)
	require.Contains(t, r.err, "1048576", "the limit of a line is stated: %s", r.err)
	require.Empty(t, all[session.UserMessage](p.records(a.ID())))

	large := strings.Repeat("please echo x ", 100_000) // within the limits
	id := send(t, a, large)
	require.Equal(t, session.TurnCompleted, said(t, a, id).Outcome.Kind)
	require.Equal(t, large, all[session.UserMessage](p.records(a.ID()))[0].Text())
}

func TestAFullInbox(t *testing.T) {
	p := here(t)
	p.worker()
	a := p.create("a")
	for n := 0; n < 1000; n += signals.MaxBatch {
		var b signals.Batch
		for i := range signals.MaxBatch {
			b.Acts = append(b.Acts, signals.Act{Act: signals.Inject, Send: &signals.Send{ID: fmt.Sprintf("m%d", n+i), Text: "context"}})
		}
		_, err := a.Act(t.Context(), signals.BatchActs, b)
		require.NoError(t, err)
	}
	line := p.fails(6, "inject", a.ID(), "one too many")
	require.Contains(t, line, "INBOX_FULL")
	require.Contains(t, line, "1000 messages")
	require.Contains(t, line, "clear the inbox", "what to do")
	_, err := a.Receipt(t.Context(), signals.Followup, agents.Text("one too many"), "", false)
	var refused *agents.RefusedError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "INBOX_FULL", refused.Code)
	require.Equal(t, 1000, strings.Count(p.ok("inbox", a.ID()), "\n"))
	p.ok("inbox", "clear", a.ID())
	goesOn(t, p, a)
}

func TestADuplicateID(t *testing.T) { // C-039
	p := here(t)
	p.worker()
	a := p.create("a")
	require.Equal(t, "parked m1\n", p.ok("inject", a.ID(), "x", "--id", "m1", "--request-id", "r1"))
	require.Contains(t, p.fails(6, "inject", a.ID(), "y", "--id", "m1"), "DUPLICATE_ID")
	require.Contains(t, p.fails(6, "followup", a.ID(), "y", "--id", "m1"), "pending already")
	require.Equal(t, "duplicate m1\n", p.ok("inject", a.ID(), "x", "--id", "m1", "--request-id", "r1"), "the same request is applied once")
	require.Equal(t, "IS+(next-step:x)", trace(p.records(a.ID())))
	goesOn(t, p, a)
}

func TestGarbageSentByHand(t *testing.T) { // A5: a malformed signal never wedges the workflow
	p := here(t)
	w := p.workerWith(nil, "--log-level", "warn")
	a := p.create("a")
	jsonPayload := func(data string) *commonpb.Payloads { return payloads("json/plain", data) }
	for i, s := range []struct {
		name  string
		input *commonpb.Payloads
		says  string
	}{
		{signals.Followup, payloads("binary/plain", "\x00\xff\xfe"), "UTF-8"},
		{signals.Followup, payloads("some/encoding", "{}"), "not JSON"},
		{signals.Followup, payloads("", "{}"), "not JSON"},
		{signals.Followup, jsonPayload("{"), "not JSON"},
		{signals.Followup, jsonPayload("7"), "not what the act takes"},
		{signals.Followup, jsonPayload(`{"text":7}`), "not what the act takes"},
		{signals.Followup, jsonPayload("{\"text\":\"\xff\"}"), "UTF-8"},
		{signals.Followup, jsonPayload(`{"content":[{"type":"nosuch"}]}`), "nosuch"},
		{signals.Followup, nil, "exactly one of text"},
		{signals.SendTo, jsonPayload(`{"text":"x","target":"nowhere"}`), "nowhere"},
		{signals.CancelTurn, jsonPayload(`{"cause":{"kind":"nosuch"}}`), "nosuch"},
		{signals.InboxRemove, jsonPayload(`{}`), "id is missing"},
		{signals.InboxPromote, jsonPayload(`{"id":"m","target":"top"}`), "next-turn or next-step"},
		{signals.InboxReorder, jsonPayload(`["a","a"]`), "named once"},
		{signals.Followup, jsonPayload(`{"text":"x","overlap":"push"}`), "queue, steer, interrupt or reject"},
		{signals.Steer, jsonPayload(`{"text":"x","overlap":"queue"}`), "use followup"},
		{signals.DisposeAgent, jsonPayload(`[]`), "not what the act takes"},
		{signals.BatchActs, jsonPayload(`{"acts":[{"act":"followup"}]}`), "act 1"},
		{"nosuch", jsonPayload(`{}`), `unknown signal`},
	} {
		p.signalRaw(a.ID(), s.name, s.input)
		until(t, fmt.Sprintf("signal %d (%s) is logged as dropped: %s", i+1, s.name, s.says), func() bool {
			dropped := strings.Split(w.err.String(), "signal dropped")
			return len(dropped) == i+2 && strings.Contains(dropped[i+1], s.says)
		})
	}
	for _, garbage := range []any{[]byte{0, 0xff}, 7, "", map[string]int{"text": 7}} {
		h, err := p.sdk.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{WorkflowID: a.ID(), UpdateName: signals.Followup,
			Args: []any{garbage}, WaitForStage: client.WorkflowUpdateStageCompleted})
		if err == nil {
			err = h.Get(t.Context(), nil)
		}
		require.Error(t, err, "an update with %v is rejected", garbage)
	}
	require.Empty(t, p.records(a.ID()))
	p.signalRaw(a.ID(), signals.Followup, jsonPayload(`"please echo by hand"`))
	until(t, "the agent answers what is sent by hand", func() bool { return has[session.TurnEnd](t, a) })
	idle(t, a)
	require.Equal(t, "please echo by hand", all[session.UserMessage](p.records(a.ID()))[0].Text())
	goesOn(t, p, a)
}

// signalRaw sends a signal as the Temporal UI would.
func (p *place) signalRaw(id, name string, input *commonpb.Payloads) {
	p.t.Helper()
	_, err := p.sdk.WorkflowService().SignalWorkflowExecution(p.t.Context(), &workflowservice.SignalWorkflowExecutionRequest{
		Namespace: "default", WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: id}, SignalName: name, Input: input, Identity: "e2e"})
	require.NoError(p.t, err)
}

func payloads(encoding, data string) *commonpb.Payloads {
	one := &commonpb.Payload{Data: []byte(data)}
	if encoding != "" {
		one.Metadata = map[string][]byte{"encoding": []byte(encoding)}
	}
	return &commonpb.Payloads{Payloads: []*commonpb.Payload{one}}
}

func TestAWorkerThatIsDown(t *testing.T) {
	p := here(t)
	require.Contains(t, p.fails(4, "create", p.id("a")), "the agent was not created", "never started")
	first := p.worker()
	a, b := p.create("a"), p.create("b")
	require.Zero(t, first.stop())

	r := p.run("followup", a.ID(), "please echo later", "--id", "m1")
	require.Equal(t, 4, r.code, r.err)
	require.Equal(t, "accepted m1\n", r.out)
	require.Contains(t, r.err, "accepted and waits")
	require.Contains(t, r.err, "starter worker", "what to do")
	t.Run("other verbs", func(t *testing.T) {
		for _, verb := range []string{"wait", "tail", "dispose"} {
			t.Run(verb, func(t *testing.T) {
				t.Parallel()
				id := a.ID()
				if verb == "dispose" {
					id = b.ID()
				}
				require.Contains(t, p.in(t).fails(4, verb, id), "no worker")
			})
		}
		for _, verb := range []string{"log", "inbox", "show"} {
			t.Run(verb, func(t *testing.T) {
				t.Parallel()
				p.in(t).ok(verb, a.ID())
			})
		}
	})

	p.worker()
	require.Equal(t, "The echo tool says: later", said(t, a, "m1").Text, "it was delivered")
	goesOn(t, p, a)
	goesOn(t, p, b) // it was not disposed
}

// A server that is not on this machine takes a dead worker for one that polls, for about a minute.
func TestAWorkerThatDiedElsewhere(t *testing.T) {
	p := here(t)
	first := p.worker()
	a := p.create("a")
	first.kill()
	there := []string{"--address", p.server.Address} // named, so it may be anywhere
	t.Run("verbs", func(t *testing.T) {
		t.Run("followup", func(t *testing.T) {
			t.Parallel()
			r := p.in(t).run(append(there, "followup", a.ID(), "please echo later", "--id", "m1")...)
			require.Equal(t, 4, r.code, "%s %s", r.out, r.err)
			require.Equal(t, "accepted m1\n", r.out)
			require.Contains(t, r.err, "accepted and waits")
		})
		t.Run("wait", func(t *testing.T) {
			t.Parallel()
			require.Contains(t, p.in(t).fails(4, append(there, "wait", a.ID())...), "no worker")
		})
	})
	p.worker()
	require.Equal(t, "The echo tool says: later", said(t, a, "m1").Text)
	idle(t, a)
	require.Len(t, all[session.UserMessage](p.records(a.ID())), 1, "the message was delivered once")
}

func TestATemporalThatDoesNotAnswer(t *testing.T) {
	p := here(t)
	deaf, err := net.Listen("tcp", "127.0.0.1:0") // accepts and says nothing
	require.NoError(t, err)
	t.Cleanup(func() { _ = deaf.Close() })
	for what, address := range map[string]string{"nobody listens": "127.0.0.1:1", "nobody speaks": deaf.Addr().String()} {
		for _, args := range [][]string{{"list"}, {"followup", "a", "x"}, {"worker"}, {"ask", "x"}} {
			line := p.fails(5, append(args, "--address", address)...)
			require.Contains(t, line, address, what)
			require.Contains(t, line, "starter dev", "what to do")
		}
	}
}

func TestTheAddressFileOfADeadServer(t *testing.T) {
	p := here(t)
	dead := strings.Replace(string(p.server.line), fmt.Sprintf(`"pid":%d`, p.server.PID), `"pid":999999`, 1)
	require.NotEqual(t, string(p.server.line), dead)
	p.write("dev.json", dead)
	require.Contains(t, p.fails(5, "list"), "no Temporal server is known: start one with `starter dev`")
	p.write("dev.json", "{garbage")
	require.Contains(t, p.fails(1, "list"), "remove it")
}

func TestAStoreThatAWorkerDoesNotShare(t *testing.T) { // A3.3
	p := here(t)
	first := p.worker()
	a := p.create("a")
	goesOn(t, p, a)
	require.Zero(t, first.stop())

	stranger := p.worker("EVERTURN_STORE=" + p.path("elsewhere"))
	id := send(t, a, "please echo with another store")
	p.shows(a.ID(), "WRONG_STORE: this worker uses another store")
	require.Zero(t, stranger.stop())

	p.worker()
	require.Equal(t, "The echo tool says: with another store", said(t, a, id).Text, "it waited for a worker that fits")
	idle(t, a)
	goesOn(t, p, a)
}

func TestAStoreThatTheCallerDoesNotShare(t *testing.T) {
	p := here(t)
	p.worker()
	a := p.create("a")
	goesOn(t, p, a)
	r := p.run("log", a.ID(), "--store", p.path("elsewhere"))
	require.Equal(t, 7, r.code, "%s %s", r.out, r.err)
	require.Contains(t, r.err, "store")
	goesOn(t, p, a)
}

func TestTwoCreateTheSameAgent(t *testing.T) { // C-288
	p := here(t)
	p.worker()
	codes := make(chan int)
	for range 2 {
		x := p.start(nil, "create", p.id("a"))
		go func() { <-x.ended; codes <- x.cmd.ProcessState.ExitCode() }()
	}
	require.ElementsMatch(t, []int{0, 6}, []int{<-codes, <-codes}, "exactly one wins")
	goesOn(t, p, p.agent(p.id("a")))
}

func TestAnUnknownNamespace(t *testing.T) {
	p := here(t)
	for _, args := range [][]string{{"list"}, {"create", "a"}, {"worker"}, {"show", "a"}} {
		line := p.fails(5, append(args, "--namespace", "nosuch")...)
		require.Contains(t, line, "nosuch")
	}
}

func TestAStoreThatCannotBeOpened(t *testing.T) {
	p := here(t)
	file := p.write("file", "")
	for _, location := range []string{file, filepath.Join(file, "below"), "nosuch://bucket"} {
		line := p.fails(7, "list", "--store", location)
		require.Contains(t, line, location)
	}
}

func TestADamagedStore(t *testing.T) {
	p := here(t)
	w := p.worker()
	a := p.create("a")
	goesOn(t, p, a)
	require.Zero(t, w.stop())
	saved := map[string]string{}
	require.NoError(t, filepath.WalkDir(p.path("store"), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && strings.Contains(path, "segments") {
			raw, err := os.ReadFile(path)
			saved[path] = string(raw)
			return errors.Join(err, os.WriteFile(path, []byte("damaged"), 0o600))
		}
		return err
	}))
	require.NotEmpty(t, saved)
	line := p.fails(7, "log", a.ID())
	require.Contains(t, line, a.ID())
	p.worker()
	send(t, a, "please echo something")
	until(t, "the agent says that its log cannot be read", func() bool {
		s, err := a.State(t.Context())
		return err == nil && s.LastError != nil && strings.Contains(s.LastError.Message, "damaged")
	})
	for path, raw := range saved {
		require.NoError(t, os.WriteFile(path, []byte(raw), 0o600))
	}
	goesOn(t, p, a)
}
