package activities

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/store/storetest"
	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
)

const longAnswer = 1600 // characters: 400 tokens

// compacting is a definition that compacts, on a model of 1000 tokens that answers at length. ask answers what is no
// summary, sum what is one; empty: the usual.
func compacting(options plugin.Compaction, ask, sum string) setting {
	return func(_ *bench, d *plugin.Definition, m *scripted.Model) {
		d.Compaction = &options
		m.ContextWindow = 1000
		m.Respond = func(req llm.Request) scripted.Answer {
			text := `text "` + strings.Repeat("word", longAnswer/4) + `"`
			switch {
			case summary(req) && sum != "":
				text = sum
			case summary(req):
				text = `text "in short"`
			case ask != "":
				text = ask
			}
			return must(scripted.ParseAnswer(text))
		}
	}
}

// bracket is the data of the compaction events.
func (b *bench) bracket() (kinds []string, data []map[string]any) {
	b.t.Helper()
	for _, e := range events[session.Feature](b) {
		if strings.HasPrefix(e.Kind, "compaction/") {
			var d map[string]any
			require.NoError(b.t, json.Unmarshal(e.Data, &d))
			kinds, data = append(kinds, strings.TrimPrefix(e.Kind, "compaction/")), append(data, d)
		}
	}
	return kinds, data
}

func TestPressureCompactsBeforeTheStep(t *testing.T) { // §9.3, C-098
	t.Parallel()
	b := newBench(t, compacting(plugin.Compaction{}, "", ""))
	b.turnOf("a")
	b.turnOf("b")
	kinds, _ := b.bracket()
	require.Empty(t, kinds) // below the threshold nothing is touched
	b.turnOf("c")
	require.Equal(t, "TS3 IS-(next-turn:1) compaction/start compaction/summary UM(sum24)~ compaction/end "+
		"SS3.1 UM(c) RH(series) CH×4 AM SE TE(completed)", anonymous(b.own()))
	_, data := b.bracket()
	require.Equal(t, map[string]any{"turn": 3.0, "reason": "pressure"}, data[0])
	require.Equal(t, "in short", data[1]["text"])
	require.Equal(t, 3.0, data[1]["replaced"])
	require.Equal(t, "test", data[1]["model"])
	require.Equal(t, map[string]any{"turn": 3.0}, data[2])
	last := b.requests()[3].Messages
	require.Equal(t, framed("in short"), last[0].Text())
	require.Equal(t, session.Source{Kind: session.SourcePlugin, Plugin: compactionPlugin}, last[0].Source)
	require.Len(t, last, 3) // the latest answer stays, and what was just said
	b.reconstructed()

	asked := b.requests()[2]
	require.Equal(t, 8192, asked.Config.MaxTokens)
	require.Empty(t, asked.Tools)
	require.Contains(t, asked.Messages[0].Text(), "[user]\nsay a\n\n[assistant]\nword")

	b.turnOf("d") // the next summary merges the first one
	b.turnOf("e")
	requests := slices.DeleteFunc(b.requests(), func(r llm.Request) bool { return !summary(r) })
	require.GreaterOrEqual(t, len(requests), 2)
	require.Contains(t, requests[1].Messages[0].Text(), "<compacted-summary>\nin short\n</compacted-summary>")
}

// anonymous leaves out the seq in the id of a summary.
func anonymous(trace string) string {
	before, after, ok := strings.Cut(trace, "UM(sum")
	if !ok {
		return trace
	}
	_, after, _ = strings.Cut(after, ")")
	return before + "UM(sum24)" + after
}

func TestWhatKeepsPressureFromCompacting(t *testing.T) { // §9.3
	t.Parallel()
	for name, c := range map[string]setting{
		"no compaction":  compactingOff,
		"only on demand": compacting(plugin.Compaction{ManualOnly: true}, "", ""),
		"higher bound":   compacting(plugin.Compaction{ThresholdRatio: 1}, "", ""),
		"unknown window": func(b *bench, d *plugin.Definition, m *scripted.Model) {
			compacting(plugin.Compaction{}, "", "")(b, d, m)
			m.ContextWindow = -1
		},
		"a gate that answers itself": func(b *bench, d *plugin.Definition, m *scripted.Model) {
			compacting(plugin.Compaction{}, "", "")(b, d, m)
			d.PreStep = []plugin.PreStepGate{func(_ context.Context, in plugin.PreStep, _ nextPreStep) (plugin.Decision, error) {
				return plugin.Decision{Messages: in.Messages}, nil
			}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, c)
			for _, id := range []string{"a", "b", "c"} {
				require.Equal(t, work.StepMessage, b.turnOf(id).Outcome)
			}
			kinds, _ := b.bracket()
			require.Empty(t, kinds)
			require.Len(t, b.requests(), 3)
		})
	}
}

func compactingOff(b *bench, d *plugin.Definition, m *scripted.Model) {
	compacting(plugin.Compaction{}, "", "")(b, d, m)
	d.Compaction = nil
}

func TestAFailedSummaryIsAWarning(t *testing.T) { // §9.3: the turn goes on with the whole history
	t.Parallel()
	for name, c := range map[string]struct {
		sum   string
		error string
		calls int
	}{
		"a refusal":       {`error AUTH "no key"`, "summary: AUTH: no key", 1},
		"a passing fault": {`error SERVER "busy"`, "summary: SERVER: busy", 1 + summaryRetries},
		"nothing":         {`text "  "`, "summary: the model answered without text", 1},
		"cut":             {`text "in" max-tokens`, "summary: it was cut at 8192 tokens", 1},
		"no gain":         {`text "` + strings.Repeat("long", 500) + `"`, "the summary has about", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, compacting(plugin.Compaction{}, "", c.sum))
			b.turnOf("a")
			b.turnOf("b")
			require.Equal(t, work.StepMessage, b.turnOf("c").Outcome)
			require.Equal(t, "TS3 IS-(next-turn:1) compaction/start compaction/end SS3.1 UM(c) CH×4 AM SE TE(completed)", b.own())
			_, data := b.bracket()
			require.Contains(t, data[1]["error"], c.error)
			require.Len(t, slices.DeleteFunc(b.requests(), func(r llm.Request) bool { return !summary(r) }), c.calls)
			b.reconstructed()
		})
	}
}

func TestACompactionSurvivesItsWorker(t *testing.T) { // A3.6
	t.Parallel()
	for point, summaries := range map[string]int{"step/start": 2, "request/committed": 1, "chunk": 1, "assistant/message": 1} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, compacting(plugin.Compaction{}, "", ""))
			b.turnOf("a")
			b.turnOf("b")
			b.say("c")
			in := b.in()
			b.dies(point, in)
			require.Equal(t, work.StepMessage, b.run(in).Outcome)
			kinds, _ := b.bracket()
			require.Equal(t, []string{"start", "summary", "end"}, kinds)
			require.Len(t, slices.DeleteFunc(b.requests(), func(r llm.Request) bool { return !summary(r) }), summaries)
			require.Contains(t, b.own(), "compaction/end SS3.1 UM(c) RH(series) ")
		})
	}
}

func TestACompactionNobodyEnteredIsLogged(t *testing.T) {
	t.Parallel()
	b := newBench(t, compacting(plugin.Compaction{}, "", ""), define(func(d *plugin.Definition) {
		d.PreStep = []plugin.PreStepGate{func(ctx context.Context, in plugin.PreStep, next nextPreStep) (plugin.Decision, error) {
			out, err := next(ctx, in)
			out.Reject = in.View.Turn == 3
			return out, err
		}}
	}))
	b.turnOf("a")
	b.turnOf("b")
	require.Equal(t, work.StepRejected, b.turnOf("c").Outcome)
	require.Equal(t, "TS3 IS-(next-turn:1) compaction/start compaction/summary UM(sum24)~ compaction/end TE(completed)", anonymous(b.own()))
}

func TestACancelEndsTheCompaction(t *testing.T) { // X3
	t.Parallel()
	b := newBench(t, compacting(plugin.Compaction{}, "", `text "in" hold summary text "short"`))
	b.turnOf("a")
	b.turnOf("b")
	b.say("c")
	go func() {
		_ = b.probes.Wait(b.ctx, "summary")
		b.cancel()
	}()
	out := b.next()
	require.Equal(t, work.StepCancelled, out.Outcome)
	require.False(t, out.Entered)
	require.Equal(t, "TS3 IS-(next-turn:1) compaction/start compaction/end", b.own())
}

func TestASnapshotThatWasCompactedIsToldAgain(t *testing.T) { // C-109
	t.Parallel()
	b := newBench(t, compacting(plugin.Compaction{}, "", ""), facts("A", "A", "A", "A"))
	b.turnOf("a")
	b.turnOf("b")
	b.turnOf("c")
	require.Contains(t, b.own(), "compaction/end SS3.1 UM(c) UM(ctx3.1) RH(series)")
	b.reconstructed()
}

func TestAnOpenBracketIsALock(t *testing.T) { // §9.3
	t.Parallel()
	open := session.Feature{Kind: compactionStart, Data: json.RawMessage(`{"turn":null}`)}
	for name, c := range map[string]struct {
		events []session.Event
		busy   bool
	}{
		"open":           {[]session.Event{open}, true},
		"closed":         {[]session.Event{open, session.Feature{Kind: compactionEnd}}, false},
		"stale":          {[]session.Event{open, session.EndSeed{}}, false},
		"open again":     {[]session.Event{open, session.EndSeed{}, open}, true},
		"nothing at all": {nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, compacting(plugin.Compaction{}, "", ""))
			b.turnOf("a")
			b.turnOf("b")
			b.log(c.events...)
			in := b.maintenance()
			in.Task = plugin.CompactTask
			out := b.maintain(in)
			if c.busy {
				require.Equal(t, CodeCompactionBusy, out.Failure.Code)
				require.Equal(t, in.Head, out.Head)
				return
			}
			require.Nil(t, out.Failure)
			require.Contains(t, string(out.Result), `"compacted":true`)
		})
	}
}

func TestCompactionOnDemand(t *testing.T) { // §3.6.7, §9.3
	t.Parallel()
	b := newBench(t, compacting(plugin.Compaction{ManualOnly: true}, "", ""))
	require.Equal(t, []string{plugin.CompactTask}, b.a.kinds[agent].manifest.Tasks)
	demand := func() work.MaintainOut {
		in := b.maintenance()
		in.Task = plugin.CompactTask
		return b.maintain(in)
	}
	require.JSONEq(t, `{"compacted":false}`, string(demand().Result))
	require.Empty(t, b.tail)
	b.turnOf("a")
	require.JSONEq(t, `{"compacted":false}`, string(demand().Result)) // a summary could not be shorter
	b.turnOf("b")
	out := demand()
	require.Nil(t, out.Failure)
	require.JSONEq(t, `{"compacted":true,"replaced":3,"tokensBefore":404,"tokensAfter":39}`, string(out.Result))
	_, data := b.bracket()
	require.Equal(t, map[string]any{"turn": nil, "reason": "manual"}, data[0])
	require.Equal(t, map[string]any{"turn": nil}, data[2])
	require.JSONEq(t, `{"compacted":false}`, string(demand().Result)) // only the latest answer is left
	b.turnOf("c")
	require.Contains(t, b.own(), "SS3.1 UM(c) RH(series)")
	b.reconstructed()
}

func TestAFailureOnDemandReachesTheCaller(t *testing.T) {
	t.Parallel()
	b := newBench(t, compacting(plugin.Compaction{}, "", `error AUTH "no key"`))
	b.turnOf("a")
	b.turnOf("b")
	in := b.maintenance()
	in.Task = plugin.CompactTask
	out := b.maintain(in)
	require.Equal(t, &session.Failure{Code: CodeCompactionSummary, Message: "not compacted: summary: AUTH: no key"}, out.Failure)
	kinds, _ := b.bracket()
	require.Equal(t, []string{"start", "end"}, kinds)
}

// overflowing is a model that finds every request of more than most messages too long.
func overflowing(options plugin.Compaction, most int, sum string) setting {
	return func(b *bench, d *plugin.Definition, m *scripted.Model) {
		compacting(options, "", sum)(b, d, m)
		m.ContextWindow = 100_000
		usual := m.Respond
		m.Respond = func(req llm.Request) scripted.Answer {
			if !summary(req) && len(req.Messages) > most {
				return must(scripted.ParseAnswer(`error CONTEXT_WINDOW_EXCEEDED "too long"`))
			}
			return usual(req)
		}
	}
}

func TestOverflowCompactsAndTriesAgain(t *testing.T) { // §4.7.6, C-141
	t.Parallel()
	b := newBench(t, overflowing(plugin.Compaction{}, 4, ""))
	b.turnOf("a")
	b.turnOf("b")
	b.say("c")
	in := b.in()
	out := b.run(in)
	require.Equal(t, work.StepAttempt, out.Outcome)
	require.Equal(t, &work.Recovery{}, out.Recovery)
	out = b.retry(in, out)
	require.Equal(t, work.StepMessage, out.Outcome)
	require.Equal(t, "TS3 IS-(next-turn:1) SS3.1 UM(c) CH×1 AA compaction/start compaction/summary UM(sum24)~ compaction/end RH(series) CH×4 AM", anonymous(b.own()))
	_, data := b.bracket()
	require.Equal(t, map[string]any{"turn": 3.0, "reason": "overflow"}, data[0])
	b.reconstructed()
}

func TestOverflowIsTheProvidersErrorIfNothingShrank(t *testing.T) { // C-142
	t.Parallel()
	for name, c := range map[string]struct {
		set   setting
		trace string
	}{
		"nothing to compact": {overflowing(plugin.Compaction{}, 0, ""), "SS1.1 UM(a) RH(initial) RC CH×1 AA"},
		"no compaction": {func(b *bench, d *plugin.Definition, m *scripted.Model) {
			overflowing(plugin.Compaction{}, 0, "")(b, d, m)
			d.Compaction = nil
		}, "SS1.1 UM(a) RH(initial) RC CH×1 AA"},
		"no retries":       {overflowing(plugin.Compaction{OverflowRetries: -1}, 2, ""), "SS2.1 UM(b) CH×1 AA"},
		"only on demand":   {overflowing(plugin.Compaction{ManualOnly: true}, 2, ""), "SS2.1 UM(b) CH×1 AA"},
		"a failed summary": {overflowing(plugin.Compaction{}, 2, `error AUTH "no key"`), "SS2.1 UM(b) CH×1 AA compaction/start compaction/end"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, c.set)
			ids := []string{"a", "b"}
			if strings.HasPrefix(c.trace, "SS1.1") {
				ids = ids[:1]
			}
			for _, id := range ids[1:] {
				b.turnOf("a")
				require.Equal(t, "b", id)
			}
			b.say(ids[len(ids)-1])
			out := b.next()
			require.Equal(t, work.StepAttempt, out.Outcome)
			require.Nil(t, out.Recovery)
			require.Equal(t, &session.Failure{Code: "CONTEXT_WINDOW_EXCEEDED", Message: "too long"}, out.Failure)
			require.True(t, strings.HasSuffix(b.own(), c.trace), b.own())
		})
	}
}

func TestOverflowHasABudget(t *testing.T) { // §4.7.6
	t.Parallel()
	b := newBench(t, overflowing(plugin.Compaction{}, 1, ""))
	b.say("a")
	b.next() // one message: it fits
	b.closeTurn()
	b.say("b")
	in := b.in()
	out := b.run(in)
	require.NotNil(t, out.Recovery)
	out = b.retry(in, out)
	require.Nil(t, out.Recovery) // still too long
	require.Equal(t, "CONTEXT_WINDOW_EXCEEDED", out.Failure.Code)
	kinds, _ := b.bracket()
	require.Equal(t, []string{"start", "summary", "end"}, kinds)
}

func TestACompactionThatCannotBeWrittenIsNoRecovery(t *testing.T) {
	t.Parallel()
	b := newBench(t, overflowing(plugin.Compaction{}, 2, `hold summary text "in short"`))
	b.turnOf("a")
	b.say("b")
	go func() {
		_ = b.probes.Wait(b.ctx, "summary")
		b.faults.Fail(storetest.Match{Op: storetest.Create, Prefix: "segments/"}, errors.New("disk full"), storetest.Always)
		b.probes.Release("summary")
	}()
	out := b.next()
	require.Nil(t, out.Recovery)
	require.Equal(t, "CONTEXT_WINDOW_EXCEEDED", out.Failure.Code)
	require.True(t, strings.HasSuffix(b.own(), "CH×1 AA"), b.own())
}

func TestASpanNeverSeparatesACallFromItsResult(t *testing.T) { // §9.3
	t.Parallel()
	user := func(n int) session.Event { return session.UserMessage{Message: msg("m", strings.Repeat("x", 4*n))} }
	says := func(n int, calls ...string) session.Event {
		content := session.TextContent(strings.Repeat("x", 4*n))
		for _, id := range calls {
			content = append(content, session.ToolCallBlock{ID: id})
		}
		return session.AssistantMessage{Message: session.Message{Role: session.RoleAssistant, Content: content}}
	}
	result := func(n int, id string) session.Event {
		return session.ToolResult{Message: session.Message{Content: session.Content{session.ToolResultBlock{ToolCallID: id, Content: session.TextContent(strings.Repeat("x", 4*n))}}}}
	}
	for name, c := range map[string]struct {
		surface []session.Event
		retain  int
		want    int
	}{
		"empty":                       {nil, 10, 0},
		"one":                         {[]session.Event{user(5)}, 0, 0},
		"the latest stays":            {[]session.Event{user(5), says(5)}, 0, 1},
		"as much as is to stay":       {[]session.Event{user(5), says(5), user(5), says(5)}, 10, 2},
		"all of it":                   {[]session.Event{user(5), says(5)}, 100, 1},
		"a pair stays":                {[]session.Event{user(5), says(5, "c"), result(5, "c")}, 5, 1},
		"a pair goes":                 {[]session.Event{user(5), says(5, "c"), result(5, "c"), says(5)}, 5, 3},
		"two calls":                   {[]session.Event{user(5), says(5, "c", "d"), result(5, "c"), result(5, "d"), says(5)}, 12, 4},
		"a call without any result":   {[]session.Event{user(5), says(5, "c"), user(5), says(5)}, 5, 1},
		"only a pair":                 {[]session.Event{says(5, "c"), result(5, "c")}, 0, 0},
		"a runaway turn is no shield": {[]session.Event{user(1), says(1, "c"), result(50, "c"), says(1, "d"), result(50, "d"), says(1, "e"), result(5, "e")}, 10, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var surface []session.Record
			for i, e := range c.surface {
				surface = append(surface, session.Record{Seq: int64(i), Event: e})
			}
			require.Equal(t, c.want, planSpan(surface, c.retain))
		})
	}
}

func TestATranscriptShowsWhatWasDone(t *testing.T) {
	t.Parallel()
	b := newBench(t, script("reasoning \"hm\" tool c1 t {\"text\":\"x\"}\n"+answers), large(session.Content{
		session.Text{Text: strings.Repeat("x", 2*maxTranscriptPart)}, session.Image{Attachment: "i"},
	}))
	b.say("a")
	b.answer(b.next().Calls[0])
	text := transcript(b.fold().Surface()[:2])
	require.Equal(t, "[user]\nsay a\n\n[assistant]\n(calls t {\"text\":\"x\"})\n\n", text)
	text = transcript(b.tailSurface())
	require.True(t, strings.HasPrefix(text, "[tool result]\nxxx"))
	require.Contains(t, text, "bytes left out]")
	require.True(t, strings.HasSuffix(text, "(an image)\n\n"))
	require.LessOrEqual(t, len(text), maxTranscriptPart+20)
}

// tailSurface are the results in the tail, with their bodies in place.
func (b *bench) tailSurface() []session.Record {
	b.t.Helper()
	records, err := b.store.Hydrate(b.t.Context(), b.tail)
	require.NoError(b.t, err)
	return slices.DeleteFunc(records, func(r session.Record) bool { _, ok := r.Event.(session.ToolResult); return !ok })
}

func TestCompactionOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for says, c := range map[string]plugin.Compaction{
		"ThresholdRatio is 1.5":    {ThresholdRatio: 1.5},
		"ThresholdRatio is -1":     {ThresholdRatio: -1},
		"RetainRatio is 0.9":       {RetainRatio: 0.9},
		"MaxTokens is -1":          {MaxTokens: -1},
		"either Provider or Model": {Model: "m"},
	} {
		d := plugin.Definition{Name: "d", Compaction: &c}
		require.ErrorContains(t, d.Validate(), "definition d: Compaction: "+says)
	}
	d := plugin.Definition{Name: "d", Compaction: &plugin.Compaction{}, Maintenance: map[string]plugin.MaintenanceTask{plugin.CompactTask: idleTask}}
	require.ErrorContains(t, d.Validate(), `maintenance task "compact" is the one that Compaction brings`)
}

func TestRandomSpansKeepCallsTogether(t *testing.T) { // §9.3
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 1))
		surface := randomSurface(r, 1+r.IntN(30))
		n := planSpan(surface, r.IntN(60))
		require.Less(t, n, len(surface), "seed %d", seed)
		open := map[string]bool{}
		for _, rec := range surface[:n] {
			switch e := rec.Event.(type) {
			case session.AssistantMessage:
				for _, b := range e.Message.Content.ToolCalls() {
					open[b.ID] = true
				}
			case session.ToolResult:
				delete(open, e.Message.Content[0].(session.ToolResultBlock).ToolCallID)
			}
		}
		require.Empty(t, open, "seed %d", seed)
	}
}

// randomSurface is a conversation of about n nodes in which every call is answered.
func randomSurface(r *rand.Rand, n int) (surface []session.Record) {
	add := func(e session.Event) { surface = append(surface, session.Record{Seq: int64(len(surface)), Event: e}) }
	text := func() session.Content { return session.TextContent(strings.Repeat("x", r.IntN(80))) }
	for len(surface) < n {
		if r.IntN(3) == 0 {
			add(session.UserMessage{Message: session.Message{Role: session.RoleUser, Content: text()}})
			continue
		}
		content, calls := text(), r.IntN(3)
		for i := range calls {
			content = append(content, session.ToolCallBlock{ID: string(rune('a' + i))})
		}
		add(session.AssistantMessage{Message: session.Message{Role: session.RoleAssistant, Content: content}})
		for i := range calls {
			add(session.ToolResult{Message: session.Message{Content: session.Content{session.ToolResultBlock{ToolCallID: string(rune('a' + i)), Content: text()}}}})
		}
	}
	return surface
}

// What the request will hold counts, the snapshot that is to be told included. See spec §9.3.
func TestASnapshotAddsToThePressure(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		told     string
		compacts bool
	}{
		"without one": {"", false},
		"a large one": {strings.Repeat("fact", longAnswer/8), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, compacting(plugin.Compaction{ThresholdRatio: 0.9}, "", ""), facts("", "", c.told))
			b.turnOf("a")
			b.turnOf("b")
			b.turnOf("c")
			kinds, _ := b.bracket()
			require.Equal(t, c.compacts, len(kinds) > 0)
		})
	}
}
