package driver

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/work"
	"github.com/everturn/everturn/session"
)

// showNews shows what the world was told.
func showNews(news []work.TellIn) string {
	var out []string
	for _, in := range news {
		text := in.Kind
		switch {
		case in.Wait != nil:
			text += ":" + in.Wait.ID
		case in.Ended != nil:
			text += ":" + in.Ended.ID + ":" + in.Ended.Outcome
		case in.Reason != nil:
			text += fmt.Sprintf(":%d:%s", in.Turn, in.Reason.Kind)
		case in.Failure != nil:
			text += ":" + in.Failure.Code
		case in.Spent != nil:
			text += fmt.Sprintf(":%d/%d", in.Spent.Tokens, in.Spent.Budget)
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}

// checkNews: no two things have one name, and what ends has begun.
func (w *world) checkNews(in work.TellIn) {
	for _, before := range w.news {
		if before.ID == in.ID {
			w.failf("%s is told twice", in.ID)
		}
	}
	if in.Ended != nil && !slices.ContainsFunc(w.news, func(o work.TellIn) bool { return o.Wait != nil && o.Wait.ID == in.Ended.ID }) && len(w.news) > 0 {
		w.failf("%s waits no longer, and it was not told that it did", in.Ended.ID)
	}
	w.news = append(w.news, in)
}

// TestWhatTheWorldIsTold: what the manifest asks for is told, in the order in which it happens, and nothing else.
func TestWhatTheWorldIsTold(t *testing.T) {
	t.Parallel()
	for _, s := range []script{
		{"an approval that is granted", `
			born tells=approval.asked,approval.decided
			followup a
			step calls c1?
			gate c1 ask
			news approval.asked:1.1.c1
			grant 1.1.c1
			news approval.decided:1.1.c1:granted
		`},
		{"an approval that nobody gives in time", `
			born tells=approval.asked,approval.decided,turn.ended
			followup a
			step calls c1?
			gate c1 ask deadline=50
			timer approval
			news approval.asked:1.1.c1 approval.decided:1.1.c1:expired
		`},
		{"a cancel ends the wait, and the turn", `
			born tells=approval.asked,approval.decided,turn.ended
			followup a
			step calls c1?
			gate c1 ask
			cancel user
			news approval.asked:1.1.c1 approval.decided:1.1.c1:cancelled turn.ended:1:aborted
		`},
		{"the end of a turn that failed is told as both", `
			born tells=turn.ended,error
			followup a
			step fail BROKEN
			news turn.ended:1:error error:BROKEN
		`},
		{"what nobody asks for is not told", `
			followup a
			step calls c1?
			gate c1 ask
			grant 1.1.c1
			tool c1 ok
			step ok
			news
		`},
	} {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			playUnlogged(t, s.text)
		})
	}
}

// playUnlogged carries out a script whose log is other tests' business.
func playUnlogged(t *testing.T, text string) *world {
	w := unborn(t)
	if !strings.Contains(text, "born") {
		w.born(0)
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" && !w.look(line) {
			w.act(line)
		}
	}
	return w
}

// TestWhatIsToldHasItsOwnName: two things never have one name, not even after a reset, and what waits then is told once
// more.
func TestWhatIsToldHasItsOwnName(t *testing.T) {
	t.Parallel()
	w := playUnlogged(t, `
		born tells=approval.asked,turn.ended
		followup a
		step ok
		followup b
		step calls c1?
		gate c1 ask
	`)
	before := w.news
	require.Equal(t, "turn.ended:1:completed approval.asked:2.1.c1", showNews(before))
	w.news = nil
	w.reset(false, false)
	require.Equal(t, "approval.asked:2.1.c1", showNews(w.news))
	seen := map[string]bool{}
	for _, in := range append(before, w.news...) {
		require.False(t, seen[in.ID], in.ID)
		require.True(t, strings.HasPrefix(in.ID, "s/tell/"), in.ID)
		seen[in.ID] = true
	}
	require.EqualValues(t, w.state().Epoch, w.news[0].Ident.Epoch)
}

// TestARecordedWebhookIsTold: an agent may have webhooks of its own.
func TestARecordedWebhookIsTold(t *testing.T) {
	t.Parallel()
	w := unborn(t)
	w.bornAs(work.SetupOut{Recorded: &work.Recorded{Spec: "spec", Tells: []string{session.ToldTurnEnded}}})
	w.act("followup a")
	w.stepDone(answer{outcome: work.StepMessage, finish: session.FinishStop, chunks: 1})
	require.Equal(t, "turn.ended:1:completed", showNews(w.news))
	require.Equal(t, []string{"a"}, w.news[0].Ids)
	require.NotNil(t, w.news[0].Head)
}

// TestABudgetIsTold: each multiple once; the agent's own takes the place of the definition's.
func TestABudgetIsTold(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		declared, recorded int64
		want               []string
	}{
		"none":         {want: []string{"", "", "", ""}},
		"declared":     {declared: 100, want: []string{"", "budget:120/100", "", "budget:460/100"}},
		"the agent's":  {declared: 100, recorded: 450, want: []string{"", "", "", "budget:460/450"}},
		"of the agent": {recorded: 1000, want: []string{"", "", "", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := Restore(State{Session: "s", Epoch: 1, Budget: test.recorded, Manifest: work.Manifest{Tells: []string{session.ToldBudget}, Budget: test.declared}})
			for i, u := range []session.Usage{{InputTokens: 50, OutputTokens: 10}, {InputTokens: 20, CacheReadTokens: 20, CacheWriteTokens: 10, ReasoningTokens: 10}, {OutputTokens: 30}, {InputTokens: 310}} {
				d.spent(&u)
				_, effects := d.take()
				var news []work.TellIn
				for _, e := range effects {
					news = append(news, e.(Tell).In)
				}
				require.Equal(t, test.want[i], showNews(news))
			}
			d.spent(nil)
			require.Empty(t, d.effects)
		})
	}
}

// TestQuestionsAndCallsOfProgramsAreTold: how they wait, and how that ends.
func TestQuestionsAndCallsOfProgramsAreTold(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string][2]string{
		work.WaitQuestion: {"question.asked:1.1.c1.answer", "question.answered:1.1.c1.answer"},
		work.WaitClient:   {"client.called:1.1.c1.result", "client.answered:1.1.c1.result"},
	} {
		for _, expires := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, expires %t", kind, expires), func(t *testing.T) {
				t.Parallel()
				d := Restore(State{Session: "s", Epoch: 1, Phase: Tools, Turn: 1, Step: 1, TurnOpen: true, StepOpen: true,
					Manifest: work.Manifest{Rules: work.Rules, Tells: session.ToldWaits()},
					Calls:    []Call{{Call: work.Call{ID: "c1", Name: "ask"}, State: CallRunning, Effect: "tool-1"}}})
				news := func(in Input) (out []work.TellIn) {
					_, effects := d.Handle(5, in)
					for _, e := range effects {
						if e, ok := e.(Tell); ok {
							out = append(out, e.In)
						}
					}
					return out
				}
				began := news(ToolDone{ID: "tool-1", Out: work.ToolOut{DeadlineMS: 1000, Defer: &work.Deferral{Kind: kind}}})
				require.Equal(t, want[0], showNews(began))
				require.Equal(t, kind, began[0].Wait.Kind)
				require.EqualValues(t, 1005, began[0].Wait.DueMS)
				c := &d.State().Calls[0]
				if expires {
					require.Equal(t, want[1]+":expired", showNews(news(TimerFired{ID: c.Ask.Timer})))
					return
				}
				require.Empty(t, news(Answered{ID: c.Ask.ID, By: "ann", Said: work.Said{Kind: kind}}), "it is being checked")
				ended := news(ToolDone{ID: c.Effect, Out: work.ToolOut{Verdict: work.Allow, Content: session.TextContent("yes")}})
				require.Equal(t, want[1]+":answered", showNews(ended))
				require.Equal(t, "ann", ended[0].Ended.By)
			})
		}
	}
}
