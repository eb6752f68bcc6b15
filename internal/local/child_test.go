package local

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/activities"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
	"github.com/everturn/everturn/tools"
)

// A family is a world whose agents do what their last message says, a line of a script, and may call the tool delegate.
type family struct {
	*world
	mu    sync.Mutex
	ended []string // agents, in the order in which their end was told
	asked int
}

func newFamily(t *testing.T, options ...option) *family {
	t.Helper()
	f := &family{}
	f.world = newWorld(t, "", append([]option{func(c *Config, acts *activities.Config, m *scripted.Model) {
		m.Script, m.Respond = nil, obey
		tap := c.Tap
		c.Tap = func(id, name string, data json.RawMessage) { f.hear(id, name); tap(id, name, data) }
		def := acts.Definitions[0]
		def.Tools = append(def.Tools, f.delegate())
	}}, options...)...)
	return f
}

// obey plays the last message as a line of a script, and ends the turn after a tool.
func obey(req llm.Request) scripted.Answer {
	last := req.Messages[len(req.Messages)-1]
	if _, ok := last.Content[0].(session.ToolResultBlock); ok {
		return scripted.MustParse(`text "done"`)[0]
	}
	return scripted.MustParse(last.Text())[0]
}

func (f *family) hear(id, name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if name == "agent/disposed" {
		f.ended = append(f.ended, id)
	}
}

func (f *family) ends() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.ended, " ")
}

type delegateArgs struct {
	ID         string `json:"id,omitempty"`
	Definition string `json:"definition,omitempty"`
	Prompt     string `json:"prompt"`
	Keep       bool   `json:"keep,omitempty"`
	Seconds    int    `json:"seconds,omitempty"`
}

func (f *family) delegate() *tools.Tool {
	body := func(ctx context.Context, in delegateArgs) (tools.Result, error) {
		call, _ := tools.CallFrom(ctx)
		f.bodies.add(call.ID)
		if err := At(ctx, "tool/body"); err != nil {
			return tools.Result{}, err
		}
		return tools.Result{Delegate: &tools.Child{ID: in.ID, Definition: in.Definition, Prompt: in.Prompt, Keep: in.Keep,
			Deadline: time.Duration(in.Seconds) * time.Second}}, nil
	}
	return tools.Must(tools.New("delegate", "Hands the call to a child agent.", body, tools.WithEffect(tools.Pure), tools.ParallelSafe()))
}

// to is a script line that calls delegate.
func to(id, prompt string, more ...string) string {
	return fmt.Sprintf(`tool c-%s delegate %s`, id, args(id, prompt, more...))
}

func args(id, prompt string, more ...string) string {
	raw, err := json.Marshal(prompt)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"id":%q,"prompt":%s%s}`, id, raw, strings.Join(append([]string{""}, more...), ","))
}

// do sends the agent "a" a line of a script.
func (f *family) do(line string) {
	f.t.Helper()
	f.asked++
	f.signal(signals.Followup, signals.Send{ID: fmt.Sprintf("m%d", f.asked), Text: line})
}

func (f *family) until(id string, cond func(signals.State) bool) {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	require.NoError(f.t, f.WaitUntil(ctx, id, cond))
}

// waits waits until a call of the agent waits for its child.
func (f *family) waits(id string) {
	f.t.Helper()
	f.until(id, func(s signals.State) bool { return strings.Contains(s.WaitingFor, "child agent") })
}

func (f *family) rolled(id string) {
	f.t.Helper()
	n := f.Runs(id)
	require.NoError(f.t, f.AskRollover(id))
	require.NoError(f.t, f.wait(f.t.Context(), func() bool { return f.agents[id].Run > n && f.agents[id].task == nil }))
}

func (f *family) open(id string) bool {
	f.t.Helper()
	run, err := f.Describe(f.t.Context(), id)
	require.NoError(f.t, err)
	return run.Open
}

func (f *family) traceOf(id string) string {
	f.t.Helper()
	return session.Trace(logOf(f.t, f.Engine, f.objects, id), nil)
}

// resultOf is the text of the result of a call of "a", as the model is shown it.
func (f *family) resultOf(call string) (text string) {
	f.t.Helper()
	for _, r := range f.log() {
		e, ok := r.Event.(session.ToolResult)
		if !ok {
			continue
		}
		if block := e.Message.Content[0].(session.ToolResultBlock); block.ToolCallID == call {
			text = block.Content.Text()
		}
	}
	return text
}

func (f *family) spawn(parent string, s signals.Spawn) signals.Receipt {
	f.t.Helper()
	var r signals.Receipt
	require.NoError(f.t, f.Update(f.t.Context(), parent, signals.SpawnChild, s, &r))
	return r
}

func firstly(line string) *signals.Send { return &signals.Send{ID: "p", Text: line} }

// See architecture A3.7, A3.13: a worker that dies, or is cut off, anywhere, and rollovers as often as possible.
func TestADelegatedCallSurvivesACrashAnywhere(t *testing.T) {
	t.Parallel()
	for _, how := range []struct {
		name   string
		roll   int
		strike func(*family, int)
	}{
		{"kill", 0, func(f *family, n int) { f.KillAt(Point{}, n) }},
		{"cut off", 0, func(f *family, n int) { f.CutOffAt(Point{}, n) }},
		{"kill and roll over", 1, func(f *family, n int) { f.KillAt(Point{}, n) }},
		{"cut off and roll over", 2, func(f *family, n int) { f.CutOffAt(Point{}, n) }},
		{"kill in a task that takes one input, and roll over", 1, func(f *family, n int) { f.cfg.Batch = 1; f.KillAt(Point{}, n) }},
	} {
		t.Run(how.name, func(t *testing.T) {
			t.Parallel()
			n := 1
			for ; ; n++ {
				f := newFamily(t, withRollover(how.roll))
				how.strike(f, n)
				f.start()
				f.idle2()
				f.do(to("k", `text "the answer"`) + ` tool e1 echo {"text":"x"}`)
				f.idle2()
				missed := len(f.rules) > 0
				require.Equal(t, "IS+(next-turn:m1) TS1 IS-(next-turn:1) SS1.1 UM(m1) RH(initial) RC AM TC(c-k) TC(e1) TR(c-k) TR(e1) SE SS1.2 AM SE TE(completed)",
					essence(f.log()), "struck at pass %d", n)
				require.Equal(t, "the answer", f.resultOf("c-k"), "struck at pass %d", n)
				require.True(t, strings.HasSuffix(f.traceOf("k"), "SE TE(completed)"), "struck at pass %d", n)
				require.False(t, f.open("k"), "it has done what it was started for; struck at pass %d", n)
				require.Equal(t, "k", f.ends(), "struck at pass %d", n)
				f.until("a", func(s signals.State) bool { return len(s.Children) == 0 })
				require.NoError(t, f.Close())
				if missed {
					break
				}
			}
			require.Greater(t, n, 60)
			t.Logf("%d points", n-1)
		})
	}
}

// What the parent's call comes to when the child ends in another way. See spec §6.4, architecture A3.13.
func TestAChildThatEndsBeforeItAnswers(t *testing.T) {
	t.Parallel()
	for _, how := range []struct {
		name string
		do   func(*family)
		want string
	}{
		{"it is terminated", func(f *family) { require.NoError(f.t, f.Terminate("k")) }, "Error: the child agent ended before it answered"},
		{"somebody else disposes of it", func(f *family) {
			require.NoError(f.t, f.Signal(f.t.Context(), "k", signals.DisposeAgent, signals.Dispose{}))
		}, "Error: the child agent was disposed of before it answered"},
		{"it is cancelled", func(f *family) {
			require.NoError(f.t, f.Signal(f.t.Context(), "k", signals.CancelTurn, signals.Cancel{}))
		}, "Error: the child agent k gave no answer: it was cancelled (user)"},
		{"it is cancelled natively", func(f *family) { require.NoError(f.t, f.NativeCancel("k", "")) }, "Error: the child agent was disposed of before it answered"},
	} {
		for _, roll := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, after a rollover of its parent: %t", how.name, roll), func(t *testing.T) {
				t.Parallel()
				f := newFamily(t, manual)
				hold := f.HoldAt(Point{Session: "k", Name: "chunk"})
				f.start()
				f.do(to("k", long))
				require.NoError(t, hold.Wait(t.Context(), 1))
				f.waits("a")
				if roll {
					f.rolled("a")
				}
				how.do(f)
				f.settled()
				require.NoError(t, f.Advance(t.Context(), time.Minute), "looks")
				f.idle()
				require.Contains(t, f.resultOf("c-k"), how.want)
				require.Contains(t, f.trace(), "TR!(c-k,CHILD_AGENT) SE SS1.2")
				require.False(t, f.open("k"))
				f.until("a", func(s signals.State) bool { return len(s.Children) == 0 && s.LastError == nil })
			})
		}
	}
}

func TestAChildThatIsNotBorn(t *testing.T) {
	t.Parallel()
	for _, roll := range []int{0, 1} {
		f := newFamily(t, withRollover(roll))
		f.start()
		f.do(to("k", `text "hi"`, `"definition":"nobody"`))
		f.settled()
		require.Contains(t, f.resultOf("c-k"), "Error: the child agent ended before it answered")
		require.True(t, strings.HasSuffix(f.trace(), "TR!(c-k,CHILD_AGENT) SE SS1.2 CH×4 AM SE TE(completed)"), f.trace())
		require.Equal(t, agentsOf(f), []string{"a"})
	}
}

// agentsOf are the agents that are there.
func agentsOf(f *family) (out []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.Engine.mu.Lock()
	defer f.Engine.mu.Unlock()
	for _, a := range f.runs {
		if a.End == nil {
			out = append(out, a.ID)
		}
	}
	return out
}

// A parent that is terminated leaves its children alone: they are nobody's. See architecture A3.13.
func TestAParentThatIsTerminated(t *testing.T) {
	t.Parallel()
	f := newFamily(t, manual)
	hold := f.HoldAt(Point{Session: "k", Name: "chunk"})
	f.start()
	f.do(to("k", long))
	require.NoError(t, hold.Wait(t.Context(), 1))
	f.waits("a")
	run, err := f.Describe(t.Context(), "a")
	require.NoError(t, err)
	require.NoError(t, f.Terminate("a"))
	hold.Release()
	require.NoError(t, f.WaitIdle(t.Context(), "k"))
	f.settled()
	require.True(t, strings.HasSuffix(f.traceOf("k"), "SE TE(completed)"), "it goes on")

	require.NoError(t, f.Start(t.Context(), "a", signals.Create{Definition: "test", Resume: &signals.Resume{RunID: run.ID}}))
	f.idle()
	require.True(t, strings.HasSuffix(f.trace(), "TR!(c-k,TOOL_OUTCOME_UNKNOWN) SE TE(interrupted) ES"), f.trace())
	f.until("a", func(s signals.State) bool { return len(s.Children) == 0 })
	f.signal(signals.DisposeAgent, signals.Dispose{})
	f.settled()
	require.False(t, f.open("a"))
	require.True(t, f.open("k"), "it is nobody's")
	require.NoError(t, f.Signal(t.Context(), "k", signals.DisposeAgent, signals.Dispose{}))
	f.settled()
	require.False(t, f.open("k"))
}

// A former child that was resumed is a root: whoever owned it does not end it. See spec §6.2.
func TestAChildThatWasTerminatedAndResumedIsARoot(t *testing.T) {
	t.Parallel()
	for _, roll := range []bool{false, true} {
		t.Run(fmt.Sprintf("after a rollover of its parent: %t", roll), func(t *testing.T) {
			t.Parallel()
			f := newFamily(t, manual)
			f.start()
			f.idle()
			require.Equal(t, signals.Done, f.spawn("a", signals.Spawn{ID: "k", Create: signals.Create{First: firstly(`text "hi"`)}, Follows: true}).Disposition)
			require.NoError(t, f.WaitIdle(t.Context(), "k"))
			if roll {
				f.rolled("a") // it does not learn of the end
			}
			run, err := f.Describe(t.Context(), "k")
			require.NoError(t, err)
			require.NoError(t, f.Terminate("k"))
			require.NoError(t, f.Start(t.Context(), "k", signals.Create{Definition: "test", Resume: &signals.Resume{RunID: run.ID}}))
			require.NoError(t, f.WaitIdle(t.Context(), "k"))
			hold := f.HoldAt(Point{Session: "k", Name: "chunk"})
			require.NoError(t, f.Signal(t.Context(), "k", signals.Followup, signals.Send{Text: long}))
			require.NoError(t, hold.Wait(t.Context(), 1))

			aHold := f.HoldAt(Point{Session: "a", Name: "chunk"})
			f.do(long)
			require.NoError(t, aHold.Wait(t.Context(), 1))
			f.signal(signals.CancelTurn, signals.Cancel{})
			f.signal(signals.DisposeAgent, signals.Dispose{})
			f.settled()
			require.NoError(t, f.Advance(t.Context(), time.Minute), "looks")
			f.settled()
			require.False(t, f.open("a"))
			require.True(t, f.open("k"))
			hold.Release()
			require.NoError(t, f.WaitIdle(t.Context(), "k"))
			require.True(t, strings.HasSuffix(f.traceOf("k"), "SE TE(completed)"), "nobody cancelled it: %s", f.traceOf("k"))
		})
	}
}

// See spec §6.4, C-295.
func TestACancelReachesTheGrandchildren(t *testing.T) {
	t.Parallel()
	for _, roll := range []int{0, 1} {
		t.Run(fmt.Sprintf("rollover every %d", roll), func(t *testing.T) {
			t.Parallel()
			f := newFamily(t, withRollover(roll), manual)
			hold := f.HoldAt(Point{Session: "g", Name: "chunk"})
			f.start()
			f.do(to("k", to("g", long)))
			require.NoError(t, hold.Wait(t.Context(), 1))
			f.waits("k")
			f.signal(signals.CancelTurn, signals.Cancel{})
			f.settled()
			require.NoError(t, f.Advance(t.Context(), time.Minute), "looks")
			f.settled()
			require.True(t, strings.HasSuffix(f.trace(), "TR!(c-k,ABORTED) SE TE(aborted user)"), f.trace())
			require.Contains(t, f.traceOf("k"), "TR!(c-g,ABORTED) SE TE(aborted parent)")
			require.Contains(t, f.traceOf("g"), "SE TE(aborted parent)")
			require.Equal(t, "g k", f.ends(), "who was started for the call goes with it, children first")
			require.Equal(t, []string{"a"}, agentsOf(f))
		})
	}
}

// See spec §6.3.2, §6.4.
func TestThreeGenerationsAreDisposedDeepestFirst(t *testing.T) {
	t.Parallel()
	for _, roll := range []int{0, 1, 2} {
		t.Run(fmt.Sprintf("rollover every %d", roll), func(t *testing.T) {
			t.Parallel()
			f := newFamily(t, withRollover(roll))
			require.NoError(t, f.Start(t.Context(), "a", signals.Create{Definition: "test", CWD: "/srv"}))
			f.idle()
			for _, pair := range [][2]string{{"a", "k"}, {"k", "g"}, {"a", "l"}} {
				require.Equal(t, signals.Done, f.spawn(pair[0], signals.Spawn{ID: pair[1]}).Disposition)
				require.NoError(t, f.WaitIdle(t.Context(), pair[1]))
			}
			st, err := OpenStore(f.objects)
			require.NoError(t, err)
			for depth, id := range []string{"a", "k", "g"} {
				h, err := st.Header(t.Context(), id)
				require.NoError(t, err)
				require.Equal(t, depth, h.DelegationDepth)
				require.Equal(t, "/srv", h.CWD)
				require.Equal(t, []string{"", "a", "k"}[depth], h.ParentSession)
			}
			require.NoError(t, f.Update(t.Context(), "a", signals.DisposeAgent, signals.Dispose{}, nil))
			ends := strings.Fields(f.ends())
			require.Len(t, ends, 4)
			require.Equal(t, "a", ends[3], "%v", ends)
			require.Less(t, at(ends, "g"), at(ends, "k"), "%v", ends)
		})
	}
}

func at(list []string, s string) int {
	for i, o := range list {
		if o == s {
			return i
		}
	}
	return -1
}

func TestWhoAsksForAChildIsAnswered(t *testing.T) {
	t.Parallel()
	f := newFamily(t)
	f.start()
	f.idle()
	ask := func(s signals.Spawn) string {
		r := f.spawn("a", s)
		return string(r.Disposition) + " " + r.Code
	}
	require.Equal(t, "done ", ask(signals.Spawn{RequestID: "r", ID: "k"}))
	require.Equal(t, "duplicate ", ask(signals.Spawn{RequestID: "r", ID: "k2"}), "the same request")
	require.Equal(t, "refused DUPLICATE_ID", ask(signals.Spawn{ID: "k"}))
	require.Equal(t, "refused DUPLICATE_ID", ask(signals.Spawn{ID: "a"}))
	require.NoError(t, f.Start(t.Context(), "b", signals.Create{Definition: "test"}))
	require.Equal(t, "refused SESSION_ALREADY_EXISTS", ask(signals.Spawn{ID: "b"}), "somebody else's")
	for n := range 63 {
		require.Equal(t, "done ", ask(signals.Spawn{ID: fmt.Sprintf("k%d", n+10)}))
	}
	require.Equal(t, "refused INBOX_FULL", ask(signals.Spawn{ID: "one-too-many"}))
	f.do(to("late", `text "hi"`))
	f.settled()
	require.Contains(t, f.resultOf("c-late"), "INBOX_FULL: the agent has 64 children: dispose of some")

	hold := f.PinAt(Point{Session: "k", Name: "chunk"})
	require.NoError(t, f.Signal(t.Context(), "k", signals.Followup, signals.Send{Text: long}))
	require.NoError(t, hold.Wait(t.Context(), 1))
	f.signal(signals.DisposeAgent, signals.Dispose{})
	f.until("a", func(s signals.State) bool { return len(s.Children) == 1 })
	require.Equal(t, "refused CLOSED", ask(signals.Spawn{ID: "late"}))
	hold.Release()
	f.settled()
	require.False(t, f.open("a"))
	require.Equal(t, []string{"b"}, agentsOf(f))
}

// A signal by hand, from the Temporal UI for example.
func TestASpawnByHand(t *testing.T) {
	t.Parallel()
	f := newFamily(t)
	f.start()
	f.idle()
	for _, bad := range []any{7, []string{"x"}, map[string]any{"create": map[string]any{"parent": "p"}}, map[string]any{"id": strings.Repeat("x", 300)}, "",
		map[string]any{"create": map[string]any{"first": map[string]any{}}}} {
		f.signal(signals.SpawnChild, bad)
		require.ErrorContains(t, f.Update(t.Context(), "a", signals.SpawnChild, bad, nil), "spawn: ")
	}
	f.settled()
	require.Equal(t, []string{"a"}, agentsOf(f), "nothing has changed")
	require.Empty(t, f.trace())
	f.signal(signals.SpawnChild, `text "hi"`)
	f.settled()
	all := agentsOf(f)
	require.Len(t, all, 2)
	require.True(t, strings.HasSuffix(f.traceOf(all[1]), "SE TE(completed)"))
	f.until("a", func(s signals.State) bool { return len(s.Children) == 1 && s.Children[0] == all[1] })
}

// Whoever is not the child is not heard.
func TestAStrangerSpeaksForAChild(t *testing.T) {
	t.Parallel()
	f := newFamily(t, manual)
	hold := f.HoldAt(Point{Session: "k", Name: "chunk"})
	require.NoError(t, f.Start(t.Context(), "b", signals.Create{Definition: "test"}))
	require.NoError(t, f.Signal(t.Context(), "b", signals.Followup, signals.Send{Text: `text "secret"`}))
	require.NoError(t, f.WaitIdle(t.Context(), "b"))
	f.settled()
	f.mu.Lock()
	head := f.agents["b"].state().Log.Head
	f.mu.Unlock()
	f.start()
	f.do(to("k", long))
	require.NoError(t, hold.Wait(t.Context(), 1))
	f.waits("a")
	for _, news := range []signals.ChildNews{{ID: "k", Hash: head.Hash, Count: head.Count}, {ID: "k", Closed: true}, {ID: "b", Bond: "1.child-1", Hash: head.Hash, Count: head.Count}, {ID: "k", Bond: "2.child-1"}} {
		f.signal(signals.ChildSays, news)
	}
	f.signal(signals.ChildSays, "k")
	f.settled()
	f.waits("a")
	hold.Release()
	f.idle()
	require.Contains(t, f.resultOf("c-k"), "a long answer")
}

func TestADeadlineOfADelegatedCall(t *testing.T) {
	t.Parallel()
	for _, roll := range []bool{false, true} {
		t.Run(fmt.Sprintf("after a rollover: %t", roll), func(t *testing.T) {
			t.Parallel()
			f := newFamily(t, manual)
			hold := f.HoldAt(Point{Session: "k", Name: "chunk"})
			f.start()
			f.do(to("k", long, `"seconds":90`))
			require.NoError(t, hold.Wait(t.Context(), 1))
			f.waits("a")
			require.NoError(t, f.Advance(t.Context(), 60*time.Second))
			if roll {
				f.rolled("a")
			}
			require.NoError(t, f.Advance(t.Context(), 29*time.Second))
			f.waits("a")
			require.NoError(t, f.Advance(t.Context(), 2*time.Second))
			f.idle()
			require.Equal(t, "Error: the child agent did not answer in time", f.resultOf("c-k"))
			f.settled()
			require.NoError(t, f.Advance(t.Context(), time.Minute), "looks")
			require.True(t, strings.HasSuffix(f.traceOf("k"), "TE(aborted disposed)"), f.traceOf("k"))
			require.Equal(t, []string{"a"}, agentsOf(f))
		})
	}
}

// See spec §9.4, architecture A3.4.
func TestALargePromptAndALargeAnswer(t *testing.T) {
	t.Parallel()
	f := newFamily(t, withRollover(1))
	answer := strings.Repeat("word ", 30000)
	f.start()
	f.do(to("k", `text "`+answer+`"`))
	f.settled()
	require.Contains(t, f.trace(), "TC(c-k) TR(c-k)")
	require.NotContains(t, f.trace(), "TR!")
	for _, r := range f.log() {
		if e, ok := r.Event.(session.ToolResult); ok && r.Surface != nil && !r.Surface.Replace {
			require.Equal(t, answer, e.Message.Content[0].(session.ToolResultBlock).Content.Text(), "the fact is the whole answer")
		}
	}
	require.Less(t, len(f.resultOf("c-k")), len(answer), "the model sees less")
	require.Equal(t, 1, f.bodies.of("c-k"))
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range f.runs {
		require.Less(t, len(raw(a.Create)), 4<<10, "what %s was created with", a.ID)
	}
}

func TestAChildThatIsKept(t *testing.T) {
	t.Parallel()
	f := newFamily(t, withRollover(2))
	f.start()
	f.do(to("k", `text "hi"`, `"keep":true`))
	f.settled()
	require.Equal(t, "hi", f.resultOf("c-k"))
	require.True(t, f.open("k"))
	require.NoError(t, f.Signal(t.Context(), "k", signals.Followup, signals.Send{Text: `text "again"`}))
	require.NoError(t, f.WaitIdle(t.Context(), "k"))
	f.signal(signals.DisposeAgent, signals.Dispose{})
	f.settled()
	require.Equal(t, "k a", f.ends())
}
