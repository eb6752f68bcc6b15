package explore

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/everturn/everturn/internal/local"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/tools"
)

// A plan is what a message leads to; it is a function of the message's number, so the model of a schedule knows it.
type plan int

const (
	planText   plan = iota
	planTool        // one call
	planPool        // two calls that run together
	planAlone       // three calls, the second of which runs alone
	planCut         // at the output ceiling
	planFail        // the model fails for good
	planReject      // the pre-step gate rejects the step
	planKept        // the gate keeps the message out
	planRetry       // the model fails once
	planPause       // the stream stands still in the middle
	plans
)

// planOf is the plan of a message with an id such as m17.
func planOf(id string) plan {
	n, err := strconv.Atoi(strings.TrimPrefix(id, "m"))
	if err != nil {
		return planText
	}
	return plan(n) % plans
}

// callsOf are the tools that a message makes the model call, in model order.
func callsOf(p plan) []string {
	switch p {
	case planTool:
		return []string{"t1"}
	case planPool:
		return []string{"t1", "t2"}
	case planAlone:
		return []string{"t1", "alone", "t2"}
	default:
		return nil
	}
}

// An author answers requests by the plan of their last message.
type author struct {
	failed sync.Map // messages whose first request has failed, by session
}

func (a *author) respond(req llm.Request) scripted.Answer {
	last := req.Messages[len(req.Messages)-1]
	line := `text "fine"`
	if _, ok := last.Content[0].(session.ToolResultBlock); !ok {
		line = a.line(req.Session, last.ID)
	}
	return scripted.MustParse(line)[0]
}

func (a *author) line(of, id string) string {
	switch p := planOf(id); p {
	case planTool, planPool, planAlone:
		var calls []string
		for _, name := range callsOf(p) {
			calls = append(calls, fmt.Sprintf(`tool %s-%s %s {}`, name, id, name))
		}
		return strings.Join(calls, " ")
	case planCut:
		return `text "too long" max-tokens`
	case planFail:
		return `error AUTH`
	case planRetry:
		if _, again := a.failed.LoadOrStore(of+" "+id, true); !again {
			return `error RATE_LIMIT`
		}
	case planPause:
		return `text "half" delay 1s text "rest"`
	}
	return `text "fine"`
}

// The points at which everything stands, in the order in which a step passes them.
const (
	atAssembled = "step/assembled"    // X3
	atPrepared  = "step/prepared"     // X4
	atCommitted = "request/committed" // X5
	atEnd       = "stream/end"        // X9
	atBody      = "tool/body"         // X10
	atHook      = "hook"              // X12
	atTask      = "task"              // §3.6
)

var points = []string{atAssembled, atPrepared, atCommitted, atEnd, atBody, atHook, atTask}

// stand is a body that does not listen: only what the agent does about a cancel counts.
func stand(ctx context.Context, point string) {
	if y := yardOf(ctx); y != nil {
		y.stand(ctx, point)
		return
	}
	_ = local.At(ctx, point)
}

// sleep waits until time passes.
func sleep(ctx context.Context, d time.Duration) error {
	if y := yardOf(ctx); y != nil {
		return y.sleep(ctx)
	}
	return local.Sleep(ctx, d)
}

// The names of the definitions.
const (
	plain  = "plain"
	hooked = "hooked" // at session-start and turn-stopping
)

// kinds of agents, made once: making them costs more than a schedule.
var agentKinds = sync.OnceValue(func() map[string]*plugin.Definition {
	return map[string]*plugin.Definition{plain: definition(plain), hooked: definition(hooked)}
})

// definition is the agent of all schedules.
func definition(name string) *plugin.Definition {
	type args struct{}
	body := func(ctx context.Context, _ args) (string, error) {
		stand(ctx, atBody)
		return "done", nil
	}
	d := &plugin.Definition{Name: name, Provider: scripted.Name, Model: string(onDemand),
		PreStep: []plugin.PreStepGate{gate},
		Tools: []*tools.Tool{
			tools.Must(tools.New("t1", "Runs beside others.", body, tools.WithEffect(tools.Pure), tools.ParallelSafe())),
			tools.Must(tools.New("t2", "Runs beside others.", body, tools.WithEffect(tools.Pure), tools.ParallelSafe())),
			tools.Must(tools.New("alone", "Runs alone.", body, tools.WithEffect(tools.Pure))),
		},
		Maintenance: map[string]plugin.MaintenanceTask{"tidy": func(ctx context.Context, _ plugin.Maintenance) (any, error) {
			stand(ctx, atTask)
			return "tidied", nil
		}},
	}
	if name == hooked {
		hook := func(ctx context.Context, _ plugin.Moment) error {
			stand(ctx, atHook)
			return nil
		}
		d.SessionStart, d.TurnStopping = []plugin.Hook{hook}, []plugin.Hook{hook}
	}
	return d
}

// gate rejects a step, or keeps messages out, by their plans.
func gate(ctx context.Context, in plugin.PreStep, next func(context.Context, plugin.PreStep) (plugin.Decision, error)) (plugin.Decision, error) {
	var kept []session.Message
	for _, m := range in.Messages {
		switch planOf(m.ID) {
		case planReject:
			return plugin.Decision{Reject: true, Reason: "so"}, nil
		case planKept:
		default:
			kept = append(kept, m)
		}
	}
	in.Messages = kept
	return next(ctx, in)
}
