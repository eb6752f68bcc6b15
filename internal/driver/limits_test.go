package driver

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// uuid is an id of the length that most callers use.
func uuid(n int) string { return fmt.Sprintf("%08x-%04x-7000-8000-%012x", n*7919, n%65536, n) }

func (w *world) inject(id string, text int) Receipt {
	m := user(id, text)
	w.feed(Sent{Ref: w.ref(), Request: "send " + id, Message: m, Bytes: len(m.Text()), Target: session.NextStep})
	return w.receipt
}

func TestAStateWithAFullInboxIsSmall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i := range 200 { // what was discarded fills the list of endings
		w.inject(uuid(5000+i), 0)
		w.feed(Replaced{ID: uuid(5000 + i), Message: user(uuid(6000+i), 0)})
	}
	require.Equal(t, uuid(6199), w.state().Fate(uuid(5199)).ReplacedBy)
	require.Empty(t, w.state().Fate(uuid(5150)).Cause, "only the log knows")
	w.feed(Cleared{})
	for i := range MaxPending {
		require.Equal(t, Parked, w.inject(uuid(i), 4000).Disposition)
	}
	s := w.state()
	require.Len(t, s.NextStep, MaxPending)
	require.Len(t, s.Seen.IDs, RingSize)
	require.Len(t, s.Ended, endedLimit)
	require.Less(t, len(asJSON(t, s)), 64<<10)

	copied, err := s.Clone()
	require.NoError(t, err)
	require.Equal(t, asJSON(t, s), asJSON(t, copied))
	require.Equal(t, s.NextStep, copied.NextStep)
	require.Equal(t, s.Ended, copied.Ended)
	require.Equal(t, s.Seen, copied.Seen)
}

func TestAFullInboxRefuses(t *testing.T) {
	t.Parallel()
	t.Run("by count", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		for i := range MaxPending {
			w.inject(uuid(i), 0)
		}
		require.Equal(t, RefusedFull, w.inject("one more", 0).Code)
		w.feed(Sent{Message: user("a signal", 0), Target: session.NextStep}) // nobody waits: listeners are told
		require.Equal(t, "refused(INBOX_FULL)", w.notes[len(w.notes)-1])
		w.feed(Replaced{Ref: w.ref(), ID: uuid(0), Message: user("other", 0)})
		require.Equal(t, Done, w.receipt.Disposition, "a replacement takes no place")
		w.feed(Removed{ID: "other"})
		require.Equal(t, Parked, w.inject("one more", 0).Disposition, "a refused request may come again")
	})
	t.Run("by the bytes of the bodies", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		big := Sent{Ref: w.ref(), Message: user("big", 0), Bytes: MaxPendingBytes, Target: session.NextTurn}
		w.feed(big)
		require.Equal(t, Parked, w.receipt.Disposition)
		require.Equal(t, RefusedFull, w.inject("small", 0).Code)
		w.feed(Replaced{Ref: w.ref(), ID: "big", Message: user("big", 0), Bytes: MaxPendingBytes + 1})
		require.Equal(t, RefusedFull, w.receipt.Code)
		w.feed(Replaced{Ref: w.ref(), ID: "big", Message: user("big", 0), Bytes: 1})
		require.Equal(t, Done, w.receipt.Disposition)
		require.Equal(t, 1, w.state().PendingBytes)
		w.feed(Sent{Ref: w.ref(), Message: user("debt", 0), Bytes: -1, Target: session.NextTurn})
		require.Equal(t, RefusedInvalid, w.receipt.Code)
	})
	t.Run("by the length of the ids", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		for i := range MaxPendingIDs / 200 {
			require.Equal(t, Parked, w.inject(fmt.Sprintf("%0200d", i), 0).Disposition)
		}
		rest := fmt.Sprintf("%0*d", MaxPendingIDs%200, 0)
		require.Equal(t, RefusedFull, w.inject(rest+"0", 0).Code, "one byte too long")
		require.Equal(t, Parked, w.inject(rest, 0).Disposition, "it fits exactly")
		require.Equal(t, RefusedFull, w.inject("x", 0).Code)
		require.Less(t, len(asJSON(t, w.state())), 64<<10)
	})
}

func TestTheRingForgetsTheOldestRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	send := func(n int) Disposition {
		w.feed(Sent{Ref: w.ref(), Request: fmt.Sprint("request ", n), Message: user(fmt.Sprint("m", n), 0), Target: session.NextStep})
		w.feed(Cleared{})
		return w.receipt.Disposition
	}
	for n := range RingSize {
		require.Equal(t, Parked, send(n))
	}
	require.Equal(t, Duplicate, send(0))
	require.Equal(t, Parked, send(RingSize), "takes the place of the oldest")
	require.Equal(t, Duplicate, send(1))
	require.Equal(t, Duplicate, send(RingSize))
	w.restore()
	require.Equal(t, Duplicate, send(1))
	require.Equal(t, Parked, send(0), "was forgotten")
	require.Equal(t, Parked, send(1), "was forgotten then")
}

func TestRequestsOfEveryKindAreAcceptedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for i, in := range []Input{
		Cleared{Ref: "a", Request: "clear"},
		Removed{Ref: "a", Request: "remove", ID: "x"},
		Replaced{Ref: "a", Request: "replace", ID: "x", Message: user("y", 0)},
		CancelAsked{Ref: "a", Request: "cancel", Cause: session.Cause{Kind: session.CauseUser}},
		Batch{Ref: "a", Request: "batch", Acts: []Input{Sent{Request: "inner", Message: user("z", 0), Target: session.NextStep}}},
	} {
		w.feed(in)
		require.Equal(t, Done, w.receipt.Disposition, i)
		before := w.log.State().Count()
		w.feed(in)
		require.Equal(t, Duplicate, w.receipt.Disposition, i)
		require.Equal(t, before, w.log.State().Count())
	}
	w.feed(Sent{Ref: "a", Request: "inner", Message: user("z2", 0), Target: session.NextStep})
	require.Equal(t, Duplicate, w.receipt.Disposition, "acts of a batch are remembered too")
}

func TestABatchHoldsActsOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.feed(Batch{Ref: w.ref(), Acts: []Input{Batch{Acts: []Input{Cleared{}}}, TimerFired{ID: "x"}, nil, Cleared{}}})
	require.Len(t, w.receipt.Receipts, 4)
	for _, r := range w.receipt.Receipts[:3] {
		require.Equal(t, RefusedInvalid, r.Code)
	}
	require.Equal(t, Done, w.receipt.Receipts[3].Disposition)
	w.notes = nil
	w.feed(Batch{Acts: []Input{Sent{Message: session.Message{}, Target: session.NextStep}}}) // a signal: nobody waits
	require.Equal(t, []string{"refused(INVALID)"}, w.notes)
}

func TestWhatTheLogWouldRefuseNeverGetsThere(t *testing.T) {
	t.Parallel()
	bad := map[string]session.Message{
		"no id":            {Role: session.RoleUser, Content: session.TextContent("x")},
		"control in id":    {ID: "a\nb", Role: session.RoleUser},
		"another role":     {ID: "a", Role: session.RoleSystem},
		"not UTF-8":        {ID: "a", Role: session.RoleUser, Content: session.TextContent("\xff")},
		"an absent block":  {ID: "a", Role: session.RoleUser, Content: session.Content{nil}},
		"a pointer block":  {ID: "a", Role: session.RoleUser, Content: session.Content{&session.Text{Text: "x"}}},
		"a nested result":  {ID: "a", Role: session.RoleUser, Content: session.Content{session.ToolResultBlock{Content: session.Content{session.ToolResultBlock{}}}}},
		"a source in bits": {ID: "a", Role: session.RoleUser, Source: session.Source{Kind: session.SourcePlugin, Plugin: "\xff"}},
	}
	for name, m := range bad {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.feed(Sent{Ref: w.ref(), Message: m, Target: session.NextTurn, Wakeup: true})
			require.Equal(t, RefusedInvalid, w.receipt.Code)
			w.inject("ok", 0)
			w.feed(Replaced{Ref: w.ref(), ID: "ok", Message: m})
			require.Equal(t, RefusedInvalid, w.receipt.Code)
			require.Equal(t, Idle, w.state().Phase)

			w.feed(Sent{Message: user("a", 0), Target: session.NextTurn, Wakeup: true})
			w.stepDone(answer{outcome: work.StepMessage, calls: []work.Call{{ID: "c1", Name: "echo"}},
				acts: []work.Act{{Kind: work.ActSend, Message: &m, Target: session.NextStep}, {Kind: work.ActSend}, {Kind: "?"}, {Kind: work.ActCancel, Cause: &session.Cause{Kind: "?"}}}})
			require.Equal(t, []string{"refused(INVALID)", "refused(INVALID)"}, w.notes[len(w.notes)-2:])
			w.toolDone("c1", work.ToolOut{Content: session.TextContent("x"), Contexts: []session.Message{m}})
			require.Contains(t, w.notes[len(w.notes)-1], "refused(INVALID)")
		})
	}
	t.Run("an unknown list", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.feed(Sent{Ref: w.ref(), Message: user("a", 0), Target: "later", Wakeup: true})
		require.Equal(t, RefusedInvalid, w.receipt.Code)
	})
	t.Run("a result", func(t *testing.T) {
		t.Parallel()
		for _, out := range []work.ToolOut{
			{Content: session.TextContent("x"), Meta: json.RawMessage(`{"n":-0}`)},
			{Content: session.TextContent("x"), Meta: json.RawMessage(`{"n":1e999}`)},
			{Content: session.TextContent("x"), Meta: json.RawMessage(`{`)},
			{Content: session.Content{nil}},
			{Content: session.Content{session.ToolResultBlock{}}},
		} {
			w := newWorld(t)
			w.act("followup a")
			w.stepDone(answer{outcome: work.StepMessage, calls: []work.Call{{ID: "c1", Name: "echo"}}})
			out.Concludes = true
			w.toolDone("c1", out)
			require.Contains(t, session.Trace(w.log.Records(), nil), "TR!(c1,INVALID_TOOL_OUTPUT) SE")
			require.Equal(t, Stepping, w.state().Phase, "an error does not conclude")
		}
		w := newWorld(t) // what JSON mends is mended
		w.act("followup a")
		w.stepDone(answer{outcome: work.StepMessage, calls: []work.Call{{ID: "c1", Name: "echo"}}})
		w.toolDone("c1", work.ToolOut{Content: session.Content{session.Text{Text: "\xff"}, &session.Text{Text: "x"}}})
		require.Contains(t, session.Trace(w.log.Records(), nil), "TR(c1) SE")
	})
	t.Run("calls of a cut message", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.act("followup a")
		in := w.find("step").effect.(StartStep).In
		out := work.StepOut{Echo: work.EchoOf(in.Head.Count, in.Tail), Outcome: work.StepMessage, Finish: session.FinishMaxTokens, Calls: []work.Call{{ID: "c1"}}}
		w.write(in, answer{outcome: work.StepMessage}, &out)
		out.Head = w.head()
		w.feed(StepDone{ID: w.take("step").id, Out: out})
		require.Contains(t, session.Trace(w.log.Records(), nil), "AM SE TE(max-tokens)")
	})
	t.Run("texts of others", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		long := strings.Repeat("é", 100_000) + "\xff"
		w.feed(Sent{Message: user("a", 0), Target: session.NextTurn, Wakeup: true})
		w.feed(CancelAsked{Cause: session.Cause{Kind: session.CauseHook, Reason: long}, Via: ViaNative, By: long, Text: long})
		w.stepDone(answer{outcome: work.StepFailed, unwritten: true})
		w.feed(Sent{Message: user("b", 0), Target: session.NextTurn, Wakeup: true})
		w.stepDone(answer{outcome: work.StepFailed, failure: &session.Failure{Message: long}})
		w.feed(Sent{Message: user("c", 0), Target: session.NextTurn, Wakeup: true})
		w.feed(StepLost{ID: w.take("step").id, Message: long})
		w.feed(StepLost{ID: w.take("step").id, Message: long})
		for _, r := range w.log.Records() {
			require.Less(t, size(r), 4*work.InlineLimit)
		}
	})
}

func TestPersistsAreSlices(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.hold = true
	for i := range 12 { // the first is lent at once
		w.inject(fmt.Sprint(i), 30_000)
	}
	w.persisted(true)
	var sizes []int
	for w.find("persist") != nil {
		bytes := 0
		for _, r := range w.find("persist").effect.(StartPersist).In.Tail {
			bytes += size(r)
		}
		sizes = append(sizes, bytes)
		w.persisted(true)
	}
	require.Len(t, sizes, 3)
	for _, n := range sizes {
		require.LessOrEqual(t, n, work.LendLimit)
	}
	require.Empty(t, w.state().Log.Tail)
}

func TestManyContextsDoNotGrowTheState(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.feed(Sent{Message: user("prompt", 0), Target: session.NextTurn, Wakeup: true})
	for i := range 50 {
		call := fmt.Sprint("c", i)
		w.stepDone(answer{outcome: work.StepMessage, calls: []work.Call{{ID: call, Name: "echo"}}})
		var contexts []session.Message
		for j := range 20 {
			contexts = append(contexts, user(fmt.Sprintf("x%d.%d", i, j), 0))
		}
		w.toolDone(call, work.ToolOut{Content: session.TextContent("x"), Contexts: contexts})
	}
	require.Len(t, w.state().Claimed, endedLimit)
	require.Equal(t, "prompt", w.state().Claimed[0], "what opened the turn is remembered")
	w.stepDone(answer{outcome: work.StepMessage})
	require.Contains(t, w.state().Ended, Ended{ID: "prompt", Turn: 1, Kind: session.TurnCompleted})
	require.Contains(t, w.state().Ended, Ended{ID: "x49.19", Turn: 1, Kind: session.TurnCompleted})
}

func TestEndings(t *testing.T) {
	t.Parallel()
	w := runScript(t, `
		inject gone => IS+(next-step:gone)
		remove gone => ISx(next-step:1)
		followup a => IS+(next-turn:a) TS1 IS-(next-turn:1)
		step reject => TE(blocked)
		followup b => IS+(next-turn:b) TS2 IS-(next-turn:1)
		step ok => SS2.1 UM(b) RH(initial) RC CH×1 AM SE TE(completed)
	`, true)
	want := []Ended{
		{ID: "gone", Discarded: true},
		{ID: "a", Turn: 1, Kind: session.TurnBlocked, Dropped: true},
		{ID: "b", Turn: 2, Kind: session.TurnCompleted},
	}
	require.Equal(t, want, w.state().Ended)
}

func TestCompactFormsAreRead(t *testing.T) {
	t.Parallel()
	for _, p := range []Pending{{ID: "a"}, {ID: " two words ", Bytes: 12}, {ID: "1 2", Bytes: 1 << 40}} {
		var got Pending
		require.NoError(t, json.Unmarshal([]byte(asJSON(t, p)), &got))
		require.Equal(t, p, got)
	}
	for _, e := range []Ended{{ID: "a b", Discarded: true}, {ID: "a b", Turn: 3, Kind: session.TurnMaxTokens}, {ID: "-", Turn: 3, Kind: session.TurnAborted, Dropped: true}} {
		var got Ended
		require.NoError(t, json.Unmarshal([]byte(asJSON(t, e)), &got))
		require.Equal(t, e, got)
	}
	for _, bad := range []string{"", "a", "1", "x y", "1 "} {
		require.Error(t, new(Pending).UnmarshalText([]byte(bad)), bad)
	}
	for _, bad := range []string{"", "a", "1", "y z", "1 completed"} {
		require.Error(t, new(Ended).UnmarshalText([]byte(bad)), bad)
	}
	for _, bad := range []string{"", "a ", "0 abc"} {
		require.Error(t, new(Ring).UnmarshalText([]byte(bad)), bad)
	}
}

// A writer that was lent something else, or says it got somewhere else, must fail the task.
func TestDefects(t *testing.T) {
	t.Parallel()
	step := func(w *world) work.StepOut {
		in := w.find("step").effect.(StartStep).In
		return work.StepOut{Echo: work.EchoOf(in.Head.Count, in.Tail), Head: in.Head, Outcome: work.StepFailed}
	}
	bad := map[string]func(w *world) Input{
		"other events": func(w *world) Input {
			out := step(w)
			out.Echo.Hash = "other"
			return StepDone{ID: w.find("step").id, Out: out}
		},
		"another place": func(w *world) Input {
			out := step(w)
			out.Echo.FirstSeq++
			return StepDone{ID: w.find("step").id, Out: out}
		},
		"a head inside the loan": func(w *world) Input {
			out := step(w)
			out.Head = work.Head{Hash: "h", Count: 1}
			return StepDone{ID: w.find("step").id, Out: out}
		},
		"a message that was not written": func(w *world) Input {
			out := step(w)
			out.Outcome = work.StepMessage
			return StepDone{ID: w.find("step").id, Out: out}
		},
		"a step that was not written": func(w *world) Input {
			out := step(w)
			out.Entered = true
			return StepDone{ID: w.find("step").id, Out: out}
		},
	}
	for name, make := range bad {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.feed(Sent{Message: user("a", 0), Target: session.NextTurn, Wakeup: true})
			requireDefect(t, w, make(w))
		})
	}
	for name, change := range map[string]func(*work.PersistOut){
		"a persist that did nothing":  func(out *work.PersistOut) { out.Head = work.Head{} },
		"a persist that went further": func(out *work.PersistOut) { out.Head.Count++ },
		"a persist of other events":   func(out *work.PersistOut) { out.Echo.Hash = "other" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.hold = true
			w.inject("a", 0)
			id := w.find("persist").id
			out := w.persistOut(id)
			change(&out)
			requireDefect(t, w, Persisted{ID: id, Out: out})
		})
	}
	t.Run("an unknown input", func(t *testing.T) {
		t.Parallel()
		requireDefect(t, newWorld(t), nil)
	})
}

func requireDefect(t *testing.T, w *world, in Input) {
	before := asJSON(t, w.state())
	events, effects := w.d.Handle(w.now, in)
	require.Empty(t, events)
	require.Len(t, effects, 1)
	require.IsType(t, Defect{}, effects[0])
	require.Equal(t, before, asJSON(t, w.state()))
}

// Check must see what it claims to see: each change breaks one law.
func TestCheckFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	texts := map[string]string{"gating": gated, "asking": asking, "cleared": cleared, "posting": posting, "stopping": stopping,
		"starting": "born start\nfollowup a => IS+(next-turn:a)", "maintaining": "maintain t", "maintained": "maintain t\ntask ok",
		"idle": "", "birth": "", "step": opened, "tools": called, "retry": retried, "draining": ended,
		"claiming": "hold\ninject p => IS+(next-step:p)\nfollowup a => IS+(next-turn:a) TS1", "lent": "hold\ninject p => IS+(next-step:p)", "closed": "dispose"}
	for _, c := range []struct {
		where, law string
		spoil      func(s *State)
	}{
		{"idle", "unknown phase", func(s *State) { s.Phase = "?" }},
		{"idle", "opening passes on", func(s *State) { s.Phase = Opening }},
		{"idle", "latch", func(s *State) { s.Latch = true }},
		{"idle", "unflushed tail", func(s *State) { s.Log.Tail = []session.Record{{Seq: s.Log.Head.Count, Event: session.EndSeed{}}} }},
		{"idle", "disposing", func(s *State) { s.Disposing = true }},
		{"claiming", "nothing awaited", func(s *State) { s.Log.Lent, s.Log.LentN = "", 0 }},
		{"draining", "nothing awaited", func(s *State) { s.Log.Lent, s.Log.LentN = "", 0 }},
		{"idle", "turn open", func(s *State) { s.TurnOpen = true }},
		{"step", "turn closed", func(s *State) { s.TurnOpen = false }},
		{"step", "turn 0", func(s *State) { s.Turn = 0 }},
		{"step", "step 0 open", func(s *State) { s.StepOpen = true }},
		{"tools", "step closed", func(s *State) { s.StepOpen = false }},
		{"claiming", "step open", func(s *State) { s.StepOpen, s.Step = true, 1 }},
		{"idle", "flags", func(s *State) { s.Cut = true }},
		{"idle", "claimed", func(s *State) { s.Claimed = []string{"x"} }},
		{"tools", "first", func(s *State) { s.First = true }},
		{"step", "attempt", func(s *State) { s.Attempt = 0 }},
		{"idle", "normal", func(s *State) { s.Normal = true }},
		{"tools", "awaiting", func(s *State) { s.Awaiting = "x" }},
		{"retry", "awaits nothing", func(s *State) { s.Awaiting = "" }},
		{"step", "owed attempt", func(s *State) { s.Awaiting, s.Log.Lent, s.Log.LentN, s.Log.Appends = "", "", 0, false }},
		{"retry", "retry", func(s *State) { s.Retry = nil }},
		{"tools", "settling", func(s *State) { s.Settling = true }},
		{"idle", "cancelled", func(s *State) { s.Cancelled = &session.Cause{Kind: session.CauseUser} }},
		{"tools", "cause", func(s *State) { s.Cancelled = &session.Cause{Kind: session.CauseLegacy} }},
		{"step", "latch", func(s *State) { s.Latch = true }},
		{"birth", "latch while disposing", func(s *State) { s.Latch, s.Disposing = true, true }},
		{"step", "disposing goes on", func(s *State) { s.Disposing = true }},
		{"idle", "disposers", func(s *State) { s.Disposers = []string{"x"} }},
		{"closed", "closed undisposed", func(s *State) { s.Disposing = false }},
		{"idle", "native", func(s *State) { s.Native = true }},
		{"tools", "rolling", func(s *State) { s.Roll, s.Rolling = true, true }},
		{"idle", "rolling unasked", func(s *State) { s.Rolling = true }},
		{"lent", "rolling while lent", func(s *State) { s.Roll, s.Rolling = true, true }},
		{"lent", "seq", func(s *State) { s.Log.Tail[0].Seq++ }},
		{"lent", "bytes", func(s *State) { s.Log.Bytes++ }},
		{"lent", "head", func(s *State) { s.Log.Head.Hash = "h" }},
		{"lent", "broken", func(s *State) { s.Log.Broken = "x" }},
		{"lent", "loan too long", func(s *State) { s.Log.LentN = 2 }},
		{"lent", "loan of nothing", func(s *State) { s.Log.LentN = 0 }},
		{"lent", "appends", func(s *State) { s.Log.Appends = true }},
		{"lent", "waiting", func(s *State) { s.Log.Waiting = s.Log.Tail }},
		{"idle", "leftovers", func(s *State) { s.Log.LentN = 1 }},
		{"step", "another borrower", func(s *State) { s.Log.Lent = "x" }},
		{"tools", "persist among tools", func(s *State) { s.Log.Lent, s.Log.LentN = "persist-1", 1 }},
		{"idle", "pending twice", func(s *State) { s.NextStep, s.NextTurn = []Pending{{ID: "x"}}, []Pending{{ID: "x"}} }},
		{"idle", "pending bytes", func(s *State) { s.PendingBytes = 1 }},
		{"idle", "negative bytes", func(s *State) { s.NextStep, s.PendingBytes = []Pending{{ID: "x", Bytes: -1}}, -1 }},
		{"step", "batch unclaimed", func(s *State) { s.Batch = []string{"x"} }},
		{"tools", "batch kept", func(s *State) { s.Batch = []string{"a"} }},
		{"step", "dropped unclaimed", func(s *State) { s.Dropped = []string{"x"} }},
		{"tools", "no calls", func(s *State) { s.Calls = nil }},
		{"idle", "calls", func(s *State) { s.Calls = []Call{{}} }},
		{"tools", "call twice", func(s *State) { s.Calls[1].ID = s.Calls[0].ID }},
		{"tools", "call state", func(s *State) { s.Calls[1].State = "?" }},
		{"tools", "committed out of order", func(s *State) { s.Calls[1].State, s.Calls[1].Effect = CallCommitted, "" }},
		{"tools", "finished and not committed", func(s *State) {
			s.Calls[0].State, s.Calls[0].Effect, s.Calls[0].Out = CallFinished, "", &work.ToolOut{}
		}},
		{"tools", "started out of order", func(s *State) { s.Calls[0].State, s.Calls[0].Effect = CallWaiting, "" }},
		{"tools", "nothing runs", func(s *State) {
			for i := range s.Calls {
				s.Calls[i].State, s.Calls[i].Effect = CallWaiting, ""
			}
		}},
		{"tools", "effect", func(s *State) { s.Calls[0].Effect = "" }},
		{"tools", "outcome", func(s *State) { s.Calls[0].Out = &work.ToolOut{} }},
		{"tools", "seq of a call", func(s *State) { s.Calls[0].Seq = -1 }},
		{"gating", "gate of a call without one", func(s *State) { s.Calls[0].Gated = false }},
		{"gating", "two gates", func(s *State) {
			s.Calls[1].State, s.Calls[1].Effect, s.Calls[1].Gated = CallGating, "x", true
		}},
		{"asking", "nothing to ask", func(s *State) { s.Calls[0].Ask = nil }},
		{"asking", "no deadline", func(s *State) { s.Calls[0].Ask.Timer = "" }},
		{"asking", "a deadline of nothing", func(s *State) { s.Calls[1].Ask.Timer = "x" }},
		{"asking", "asked although cancelled", func(s *State) { s.Cancelled = &session.Cause{Kind: session.CauseUser} }},
		{"asking", "nobody is asked", func(s *State) {
			for i := range s.Calls {
				s.Calls[i].State, s.Calls[i].Ask = CallCleared, nil
			}
		}},
		{"cleared", "cleared although cancelled", func(s *State) { s.Cancelled = &session.Cause{Kind: session.CauseUser} }},
		{"cleared", "an exclusive call among others", func(s *State) { s.Calls[3].Parallel = false }},
		{"cleared", "an exclusive call after one that has not run", func(s *State) {
			s.Calls[3].State, s.Calls[3].Effect, s.Calls[3].Out = CallFinished, "", &work.ToolOut{}
			s.Calls[4].Parallel = false
		}},
		{"cleared", "executed without a post stage", func(s *State) { s.Calls[2].Posted = false }},
		{"posting", "out of turn", func(s *State) { s.Calls[1].State, s.Calls[1].Out = CallFinished, &work.ToolOut{} }},
		{"posting", "two posts", func(s *State) { s.Calls[3].State, s.Calls[3].Effect = CallPosting, "x" }},
		{"posting", "outcome lost", func(s *State) { s.Calls[2].Out = nil }},
		{"posting", "settled", func(s *State) { s.Calls[2].Settle = true }},
		{"stopping", "no hook", func(s *State) { s.Awaiting = "" }},
		{"stopping", "step open", func(s *State) { s.StepOpen = true }},
		{"stopping", "turn closed", func(s *State) { s.TurnOpen = false }},
		{"starting", "no hook", func(s *State) { s.Awaiting = "" }},
		{"starting", "not started", func(s *State) { s.Started = false }},
		{"maintaining", "nothing runs", func(s *State) { s.Awaiting, s.Log.Lent, s.Log.Appends = "", "", false }},
		{"maintaining", "no task", func(s *State) { s.Maintenance = nil }},
		{"maintaining", "done", func(s *State) { s.Maintenance.Done = true }},
		{"maintaining", "not lent", func(s *State) { s.Log.Lent, s.Log.Appends = "", false }},
		{"maintaining", "rolling", func(s *State) { s.Roll, s.Rolling = true, true }},
		{"maintained", "not done", func(s *State) { s.Maintenance.Done = false }},
		{"maintained", "a caller waits", func(s *State) { s.Maintenance.Ref = "x" }},
		{"idle", "stops", func(s *State) { s.Stops = 1 }},
		{"idle", "ring", func(s *State) { s.Seen.Next = 5 }},
		{"idle", "ring too long", func(s *State) { s.Seen.IDs = make([]string, RingSize+1) }},
		{"idle", "endings", func(s *State) { s.Ended = make([]Ended, endedLimit+1) }},
	} {
		t.Run(c.where+"/"+c.law, func(t *testing.T) {
			t.Parallel()
			w := unborn(t)
			if c.where != "birth" {
				if !strings.Contains(texts[c.where], "born") {
					w.born(0)
				}
				runLines(w, texts[c.where])
			}
			s, err := w.state().Clone()
			require.NoError(t, err)
			require.NoError(t, Check(&s))
			c.spoil(&s)
			require.Error(t, Check(&s))
		})
	}
}

// Every attempt costs, also those that fail; a rollover forgets nothing.
func TestTokensAreAddedUp(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.act("followup a")
	require.Nil(t, w.state().Usage)
	w.stepDone(answer{outcome: work.StepMessage, calls: []work.Call{{ID: "c1", Name: "echo"}}, usage: &session.Usage{InputTokens: 10, OutputTokens: 1, CacheReadTokens: 5}})
	first := w.state().Usage
	w.toolDone("c1", work.ToolOut{Content: session.TextContent("ok")})
	w.stepDone(answer{outcome: work.StepMessage, usage: &session.Usage{InputTokens: 20, OutputTokens: 2, CacheWriteTokens: 3, ReasoningTokens: 4}})
	w.act("followup b")
	w.stepDone(answer{outcome: work.StepMessage}) // it did not say
	w.restore()
	require.Equal(t, &session.Usage{InputTokens: 30, OutputTokens: 3, CacheReadTokens: 5, CacheWriteTokens: 3, ReasoningTokens: 4}, w.state().Usage)
	require.Equal(t, &session.Usage{InputTokens: 10, OutputTokens: 1, CacheReadTokens: 5}, first, "what was seen of the state does not change")
}
