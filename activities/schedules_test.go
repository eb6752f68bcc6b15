package activities

import (
	"context"
	"fmt"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/work"
)

// points are where a worker can die, or a cancel can land, in the order a step passes them.
var points = []string{
	"step/assembled", "step/start", "step/prepared", "request/committed", "chunk", "stream/end", "assistant/message", "step/settled",
}

// wholeLog is what any schedule of deaths leads to: one step, its users once, a settlement per started call.
var wholeLog = regexp.MustCompile(`^TS1 IS-\(next-turn:1\) SS1\.1 UM\(a\) RH\(initial\) RC (CH×\d+ AA |AA )*CH×7 AM$`)

func TestAnyTwoDeathsLeadToAWholeLog(t *testing.T) {
	t.Parallel()
	for _, first := range points {
		for _, second := range points {
			t.Run(first+", "+second, func(t *testing.T) {
				t.Parallel()
				b := newBench(t, talks())
				b.say("a")
				in := b.in()
				b.dies(first, in)
				if first != "step/settled" { // else the second execution only gives the answer
					if _, err := b.tryDie(second, in); err == nil {
						t.Fatal("the second execution did not die")
					}
				}
				calls := len(b.requests())
				out := b.run(in)
				require.Equal(t, work.StepMessage, out.Outcome)
				require.Regexp(t, wholeLog, b.own())
				if second == "step/settled" || first == "step/settled" {
					require.Len(t, b.requests(), calls, "the model was paid twice")
				}
				b.fold()
			})
		}
	}
}

// tryDie is dies for a point that an execution may not pass: then it dies at the next one that every execution passes.
func (b *bench) tryDie(point string, in work.StepIn) (work.StepOut, error) {
	b.die = point
	resumed := b.passed("request/committed")
	if resumed && (point == "step/assembled" || point == "step/start" || point == "step/prepared") {
		b.die = "request/committed"
	}
	out, err := b.a.Step(b.ctx, in)
	b.die = ""
	b.exec++
	b.faults.Clear()
	return out, err
}

func (b *bench) passed(point string) bool {
	for _, p := range b.points {
		if p == point {
			return true
		}
	}
	return false
}

func TestACancelAfterADeathConverges(t *testing.T) {
	t.Parallel()
	for _, death := range points {
		for _, cancel := range points {
			t.Run(fmt.Sprintf("%s, then cancelled at %s", death, cancel), func(t *testing.T) {
				t.Parallel()
				b := newBench(t, talks())
				b.say("a")
				in := b.in()
				b.dies(death, in)
				calls := len(b.requests())
				b.at[cancel] = b.cancel
				out := b.run(in)
				b.fold()
				switch out.Outcome {
				case work.StepMessage:
					require.Regexp(t, ` AM!?$`, b.own())
				case work.StepCancelled:
					require.Regexp(t, `(^TS1 IS-\(next-turn:1\)| SS1\.1| RC| AA)$`, b.own())
				default:
					t.Fatalf("outcome %s", out.Outcome)
				}
				require.LessOrEqual(t, len(b.requests()), calls+1)
			})
		}
	}
}

func TestADeathThenASettlingConverges(t *testing.T) {
	t.Parallel()
	for _, death := range points {
		for _, lost := range []string{"cancelled", "exhausted"} {
			t.Run(death+", "+lost, func(t *testing.T) {
				t.Parallel()
				b := newBench(t, talks())
				b.say("a")
				in := b.in()
				b.dies(death, in)
				calls := len(b.requests())
				in.Mode, in.Lost = work.StepSettle, lost
				ctx, cancel := context.WithCancel(b.ctx)
				cancel() // a settling does its work whatever became of its context
				out, err := b.a.Step(ctx, in)
				require.NoError(t, err)
				b.take(in, out)
				b.fold()
				require.Len(t, b.requests(), calls)
				require.Equal(t, death == "step/settled", out.Outcome == work.StepMessage)
			})
		}
	}
}
