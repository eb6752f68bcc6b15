package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/session"
	"golang.org/x/term"
)

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

func untilInterrupt(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}

// maxLine bounds a line of input, in bytes.
const maxLine = 1 << 20

// pipe sends each line of stdin as a followup and prints the answers, in order; it ends when stdin has and all answers
// are there.
func (a *app) pipe(ctx context.Context, agent *agents.Agent) error {
	ctx, stop := untilInterrupt(ctx)
	defer stop()
	go a.tellWaits(ctx, agent)
	ids := make(chan string, 1024)
	sent := make(chan error, 1)
	go func() {
		defer close(ids)
		sent <- a.sendLines(ctx, agent, ids)
	}()
	var failed error
	for id := range ids {
		answer, err := agent.Await(ctx, id)
		if err != nil {
			return err
		}
		if err := a.showAnswer(agent.ID(), answer); err != nil {
			a.note("starter: %v", err)
			failed = err
		}
	}
	if err := <-sent; err != nil {
		return err
	}
	if err := agent.WhenIdle(ctx); err != nil {
		return err
	}
	return failed
}

func (a *app) sendLines(ctx context.Context, agent *agents.Agent, ids chan<- string) error {
	in := bufio.NewScanner(a.in)
	in.Buffer(nil, maxLine)
	for in.Scan() {
		line := strings.TrimSpace(in.Text())
		if line == "" {
			continue
		}
		id, err := agent.Followup(ctx, agents.Text(line))
		if err != nil {
			return err
		}
		ids <- id
	}
	if errors.Is(in.Err(), bufio.ErrTooLong) {
		return fmt.Errorf("a line of input is longer than %d bytes, the most that is taken: put it into a file and send its name", maxLine)
	}
	return in.Err()
}

// talk is the interactive chat.
func (a *app) talk(ctx context.Context, agent *agents.Agent) error {
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	var readers sync.WaitGroup
	view := newView(a.out)
	readers.Go(func() { view.follow(ctx, agent) })
	readers.Go(func() { view.tail(ctx, agent) })
	a.note("type a message; while the agent works a line steers it, if it asks a line answers; " + commands)
	lines, prompt := a.lines(ctx), newPrompter(agent, view.say)
	_, err := prompt.look(ctx)
	a.report(err)
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	hit := false
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-interrupts:
			if hit {
				leave()
				break
			}
			hit = true
			a.note("(cancelling; Ctrl-C again leaves)")
			a.report(agent.Cancel(ctx, agents.CancelOptions{}))
		case <-view.asks:
			_, err := prompt.look(ctx)
			a.report(err)
		case line, ok := <-lines:
			hit = false
			if !ok || !a.typed(ctx, agent, prompt, line) {
				leave()
			}
		}
	}
	readers.Wait()
	return nil
}

// lines reads stdin line by line; the channel closes at its end.
func (a *app) lines(ctx context.Context) <-chan string {
	out := make(chan string)
	go func() {
		defer close(out)
		in := bufio.NewScanner(a.in)
		in.Buffer(nil, maxLine)
		for in.Scan() {
			select {
			case out <- strings.TrimSpace(in.Text()):
			case <-ctx.Done():
				return
			}
		}
	}()
	return out
}

// commands are what a line of a chat may begin with.
const commands = "/followup /steer /inject /plan /cancel /state /quit"

// typed takes a line as an answer to what the agent asks, or carries it out, and reports whether to go on.
func (a *app) typed(ctx context.Context, agent *agents.Agent, prompt *prompter, line string) bool {
	if !strings.HasPrefix(line, "/") {
		if took, err := prompt.take(ctx, line); took {
			a.report(err)
			_, err := prompt.look(ctx) // what did not fit is asked again, and what else waits
			a.report(err)
			return true
		}
	}
	return a.said(ctx, agent, line)
}

// said carries out one line and reports whether to go on.
func (a *app) said(ctx context.Context, agent *agents.Agent, line string) bool {
	command, rest, _ := strings.Cut(line, " ")
	var err error
	switch {
	case line == "":
	case command == "/quit":
		return false
	case command == "/cancel":
		err = agent.Cancel(ctx, agents.CancelOptions{})
	case command == "/followup":
		_, err = agent.Followup(ctx, agents.Text(rest))
	case command == "/steer":
		_, err = agent.Steer(ctx, agents.Text(rest))
	case command == "/inject":
		_, err = agent.Inject(ctx, agents.Text(rest))
	case command == "/plan":
		err = a.plan(ctx, agent, strings.TrimSpace(rest))
	case command == "/state":
		err = a.showState(ctx, agent)
	case strings.HasPrefix(command, "/"):
		a.note("unknown command %s: %s", command, commands)
	default:
		_, err = agent.Steer(ctx, agents.Text(line))
	}
	a.report(err)
	return true
}

func (a *app) report(err error) {
	if err != nil && !errors.Is(err, context.Canceled) {
		_, line := explain(err)
		a.note("starter: %s", line)
	}
}

func (a *app) showState(ctx context.Context, agent *agents.Agent) error {
	s, err := agent.State(ctx)
	if err != nil {
		return err
	}
	return a.print(s, stateText(s)+waitsText(s))
}

// A view prints a conversation: live text as it arrives, the rest from the log. Either may be ahead of the other; live text
// waits for what comes before its step.
type view struct {
	mu      sync.Mutex
	out     interface{ Write([]byte) (int, error) }
	step    [2]int            // turn and step of the text that the cursor is in or after
	shown   map[[2]int]string // live text of steps whose answer was not in the log yet
	settled [2]int            // the last turn and step whose answer was
	held    map[[2]int]string // live text of steps that the log has not come to
	ended   [2]int            // the last turn and step that is over in the log; step 0 of a turn when the one before is over
	dirty   bool              // the cursor is not at the start of a line
	asks    chan struct{}     // something may wait for people now, or no more
}

func newView(out interface{ Write([]byte) (int, error) }) *view {
	return &view{out: out, shown: map[[2]int]string{}, held: map[[2]int]string{}, ended: [2]int{1, 0}, asks: make(chan struct{}, 1)}
}

func (v *view) print(s string) {
	if s == "" {
		return
	}
	fmt.Fprint(v.out, s)
	v.dirty = !strings.HasSuffix(s, "\n")
}

func (v *view) line(format string, args ...any) {
	if v.dirty {
		v.print("\n")
	}
	v.print(fmt.Sprintf(format, args...) + "\n")
}

// say shows a text on lines of its own.
func (v *view) say(text string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.line("%s", text)
}

// tail shows text while it is made.
func (v *view) tail(ctx context.Context, agent *agents.Agent) {
	for d, err := range agent.Tail(ctx) {
		if err != nil {
			return // the log still comes
		}
		v.delta(d)
	}
}

func (v *view) delta(d agents.Delta) {
	v.mu.Lock()
	defer v.mu.Unlock()
	at := [2]int{d.Turn, d.Step}
	if slices.Compare(at[:], v.settled[:]) <= 0 {
		return // the log was faster
	}
	if d.Reset && v.shown[at] != "" {
		v.line("… (the answer starts again)")
		v.shown[at] = ""
	}
	text, ok := d.Chunk.(session.TextDelta)
	switch {
	case d.Reset:
		v.held[at] = ""
	case !ok:
	case slices.Compare(v.ended[:], []int{d.Turn, d.Step - 1}) < 0:
		v.held[at] += text.Text
	default:
		v.live(at, text.Text)
	}
}

func (v *view) live(at [2]int, text string) {
	v.write(at, text)
	v.shown[at] += text
}

// over lets go of the text of the step that comes next. What the log had before the view began is over, too.
func (v *view) over(r session.Record) {
	switch e := r.Event.(type) {
	case session.StepEnd:
		v.ended = [2]int{e.Turn, e.Step}
	case session.TurnEnd:
		v.ended = [2]int{e.Turn + 1, 0}
	default:
		return
	}
	next := [2]int{v.ended[0], v.ended[1] + 1}
	if text := v.held[next]; text != "" {
		v.live(next, text)
	}
	delete(v.held, next)
}

// write shows text of a step.
func (v *view) write(at [2]int, text string) {
	if at != v.step && v.dirty {
		v.print("\n")
	}
	v.step = at
	v.print(text)
}

// follow shows what is in the log, from now on.
func (v *view) follow(ctx context.Context, agent *agents.Agent) {
	from := int64(0)
	for r, err := range agent.Log(ctx, 0) {
		if err != nil {
			break
		}
		from = r.Seq + 1
		v.mu.Lock()
		v.over(r)
		v.mu.Unlock()
	}
	for r, err := range agent.Follow(ctx, from) {
		if err != nil {
			if ctx.Err() == nil {
				v.say(fmt.Sprintf("(%v)", err))
			}
			break
		}
		v.event(r)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ended = [2]int{math.MaxInt, 0} // what is live comes alone now
}

func (v *view) event(r session.Record) {
	v.mu.Lock()
	defer v.mu.Unlock()
	switch e := r.Event.(type) {
	case session.AssistantMessage:
		v.settle([2]int{e.Turn, e.Step}, e.Message.Text())
	case session.ToolCall:
		v.line("  → %s %s", e.Name, cut(e.Arguments, 120))
	case session.ToolResult:
		v.line("  ← %s", cut(resultText(e), 120))
	case session.LLMRetry:
		v.line("  (%s: retry %d in %d ms)", e.Failure.Code, e.Retry, e.DelayMS)
	case session.Feature:
		select {
		case v.asks <- struct{}{}:
		default:
		}
	case session.TurnEnd:
		if e.Reason.Kind != session.TurnCompleted {
			v.line("  (turn %d: %s)", e.Turn, reasonText(e.Reason))
		}
	}
	v.over(r)
}

// settle shows what is missing of an answer that is in the log.
func (v *view) settle(at [2]int, text string) {
	rest, ok := strings.CutPrefix(text, v.shown[at])
	if !ok {
		v.step = [2]int{} // on a line of its own
	}
	v.write(at, rest)
	if v.dirty {
		v.print("\n")
	}
	delete(v.shown, at)
	v.settled = at
}

func resultText(e session.ToolResult) string {
	for _, b := range e.Message.Content {
		if r, ok := b.(session.ToolResultBlock); ok {
			return r.Content.Text()
		}
	}
	return ""
}

func reasonText(r session.TurnReason) string {
	switch {
	case r.Error != nil:
		return fmt.Sprintf("%s %s: %s", r.Kind, r.Error.Code, r.Error.Message)
	case r.Aborted != nil:
		return fmt.Sprintf("%s by %s", r.Kind, r.Aborted.Kind)
	default:
		return string(r.Kind)
	}
}

// cut shortens a text to one line of at most n runes.
func cut(s string, n int) string {
	s = oneLine(s)
	if r := []rune(s); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return s
}
