package plugin

import (
	"context"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/everturn/everturn/tools"
)

// ExitPlanTool is the tool by which the model presents its plan.
const ExitPlanTool = "exit_plan_mode"

// PlanFirst lets agents of the definition plan before they act, whenever somebody says so with act plan: the model is told
// to change nothing and to present a plan, people approve it or say what they want changed, and an approval ends plan mode.
// It is guidance and enforces nothing: gates and guards do, see [View.Plan] and [tools.Call]. The tools are the same in
// both modes, so that a provider's cache of the prompt stays good.
func (d *Definition) PlanFirst() {
	exit := tools.Must(tools.New(ExitPlanTool, "Presents your plan for approval. Only in plan mode, when the plan is complete.", presentPlan,
		tools.WithEffect(tools.Pure), tools.WithAnswered(planReviewed)))
	d.Tools = append(d.Tools, exit)
	d.Contexts = append(d.Contexts, RuntimeContext{Name: "plan-mode", Order: 100, Render: func(_ context.Context, v View) (string, error) {
		if !v.Plan {
			return "", nil
		}
		return textPlanning, nil
	}})
}

const textPlanning = "Plan mode is on. Look at whatever you need, but change nothing: no writes, no commands with effects, no messages to others. " +
	"When you know what to do, present the plan with the tool " + ExitPlanTool + " and wait for the decision."

type planArgs struct {
	Plan string `json:"plan" jsonschema:"the whole plan, in Markdown: what will be done, in which order, and how it is checked"`
}

// The answers to a plan.
const (
	planApproved = "Approve"
	planRejected = "Change it"
)

// shownPlan bounds what the question repeats of a plan, in bytes; the call has all of it.
const shownPlan = 3000

func presentPlan(ctx context.Context, in planArgs) (tools.Result, error) {
	switch call, _ := tools.CallFrom(ctx); {
	case !call.Plan:
		return tools.Result{}, errors.New("plan mode is off: nothing has to be presented, go on")
	case strings.TrimSpace(in.Plan) == "":
		return tools.Result{}, errors.New("the plan is empty: say what will be done")
	}
	return tools.Result{Ask: &tools.Questions{Questions: []tools.Question{{
		ID: "plan", Header: "plan", Text: "Shall it be done like this?", Detail: shortened(in.Plan), Free: true,
		Options: []tools.Choice{
			{Label: planApproved, Detail: "leave plan mode and do it"},
			{Label: planRejected, Detail: "stay in plan mode; say what to change"},
		},
	}}}}, nil
}

func shortened(plan string) string {
	plan = strings.ToValidUTF8(plan, "\uFFFD")
	if len(plan) <= shownPlan {
		return plan
	}
	cut := shownPlan
	for !utf8.RuneStart(plan[cut]) {
		cut--
	}
	return plan[:cut] + "… (the arguments of the call have all of it)"
}

// planReviewed tells the model what people think of its plan.
func planReviewed(ctx context.Context, answers []tools.Answer) (tools.Result, error) {
	a := answers[0]
	said := ""
	if a.Text != "" {
		said = " They say: " + a.Text
	}
	switch {
	case a.Skipped:
		return tools.Result{Content: tools.TextResult("The plan was not decided about. Stay in plan mode and wait for the user.").Content, ConcludesTurn: true}, nil
	case len(a.Selected) == 1 && a.Selected[0] == planApproved:
		if agent := AgentFrom(ctx); agent != nil {
			agent.Plan(false)
		}
		return tools.TextResult("The plan is approved, and plan mode is off: carry it out." + said), nil
	default:
		return tools.TextResult("The plan is not approved. Stay in plan mode, change the plan and present it again." + said), nil
	}
}
