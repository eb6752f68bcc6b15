// Order is a workflow of yours that works with two agents and waits for a person.
//
// The workflow starts a clerk and an auditor, asks the one for an offer and the other whether it is right, waits until
// somebody approves or rejects the order, be it a week, and lets the clerk write to the customer. The program plays the customer; you are the person. Kill it whenever you like and
// start it again with the id of the order, and the order goes on.
//
// It needs a Temporal server: `make run` in another terminal, or TEMPORAL_ADDRESS. The model is a script.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"
	"strings"

	"github.com/everturn/everturn/agents"
	"github.com/everturn/everturn/agents/inworkflow"
	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/signals"
	"github.com/everturn/everturn/worker"
	"github.com/google/uuid"
	"go.temporal.io/sdk/client"
	sdkworker "go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// The task queues: agents have workers of their own, orders too. Here both are in one process.
const (
	agentQueue = "order-agents"
	orderQueue = "orders"
)

// A Decision is what a person says about an order: the payload of the signal "decide".
type Decision struct {
	By string `json:"by"`
	OK bool   `json:"ok"`
}

// Order is the workflow.
func Order(ctx workflow.Context, text string) (letter string, err error) {
	ctx = inworkflow.Listen(ctx)
	offer := ""
	if err := workflow.SetUpdateHandler(ctx, "offer", func(ctx workflow.Context) (string, error) {
		err := workflow.Await(ctx, func() bool { return offer != "" })
		return offer, err
	}); err != nil {
		return "", err
	}
	clerk, err := hire(ctx, "clerk")
	if err != nil {
		return "", err
	}
	defer clerk.Release(ctx) // an order that is cancelled takes its agents with it
	auditor, err := hire(ctx, "auditor")
	if err != nil {
		return "", err
	}
	defer auditor.Release(ctx)

	answer, err := clerk.Ask(ctx, "Make an offer for this order: "+text)
	if err != nil {
		return "", err
	}
	checked, err := auditor.Ask(ctx, "Is this offer right? "+answer.Text)
	if err != nil {
		return "", err
	}
	offer = answer.Text + " " + checked.Text
	var decision Decision
	if err := person(ctx, &decision); err != nil {
		return "", err
	}
	verdict := "rejected"
	if decision.OK {
		verdict = "approved"
	}
	answer, err = clerk.Ask(ctx, fmt.Sprintf("The order was %s by %s. Write to the customer.", verdict, decision.By))
	if err != nil {
		return "", err
	}
	if err := auditor.Dispose(ctx); err != nil {
		return "", err
	}
	return answer.Text, clerk.Dispose(ctx)
}

// hire starts an agent of the order's own.
func hire(ctx workflow.Context, definition string) (inworkflow.Agent, error) {
	return inworkflow.Start(ctx, inworkflow.Options{
		TaskQueue: agentQueue, WhenCancelled: inworkflow.EndIt, Create: signals.Create{Definition: definition}})
}

// person waits for the decision, as long as it takes.
func person(ctx workflow.Context, d *Decision) error {
	decided := workflow.GetSignalChannel(ctx, "decide")
	if err := workflow.Await(ctx, func() bool { return decided.Len() > 0 }); err != nil {
		return err // the order was cancelled
	}
	decided.Receive(ctx, d)
	return nil
}

func main() {
	ctx := context.Background()
	c := must(agents.Dial(ctx, agents.DialOptions{TaskQueue: agentQueue}))
	defer c.Close()
	stop := work(ctx, c)
	defer stop()

	id := "order-" + uuid.NewString()[:8]
	if len(os.Args) > 1 {
		id = os.Args[1]
	}
	order := must(c.Temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: orderQueue}, Order, "12 red chairs"))
	fmt.Println("order: ", id)
	made := must(c.Temporal.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{WorkflowID: id, UpdateName: "offer", WaitForStage: client.WorkflowUpdateStageCompleted}))
	var offer, letter string
	check(made.Get(ctx, &offer))
	fmt.Println("offer: ", offer)
	fmt.Print("approve it? (y/n) ")
	line, err := bufio.NewReader(os.Stdin).ReadString('\n')
	if err != nil {
		fmt.Println("\nthe order waits for a decision: start the program with its id")
		return
	}
	check(c.Temporal.SignalWorkflow(ctx, id, "", "decide", Decision{By: "ann", OK: strings.HasPrefix(line, "y")}))
	check(order.Get(ctx, &letter))
	fmt.Println("letter:", letter)
}

// work starts both workers. That of orders is an ordinary one: it needs nothing of agents.
func work(ctx context.Context, c *agents.Connection) (stop func()) {
	clerks := must(worker.New(ctx, worker.Config{Client: c.Temporal, Store: c.Store, TaskQueue: agentQueue,
		Providers: []llm.Provider{model()}, Definitions: []*plugin.Definition{clerk(), auditor()}}))
	check(clerks.Start())
	orders := sdkworker.New(c.Temporal, orderQueue, sdkworker.Options{})
	orders.RegisterWorkflow(Order)
	check(orders.Start())
	return func() { orders.Stop(); clerks.Stop() }
}

func clerk() *plugin.Definition {
	return &plugin.Definition{Name: "clerk", Provider: scripted.Name, Model: "demo",
		Sections: []plugin.Section{{Name: "identity", Text: "You are the clerk of a furniture shop."}}}
}

func auditor() *plugin.Definition {
	return &plugin.Definition{Name: "auditor", Provider: scripted.Name, Model: "strict",
		Sections: []plugin.Section{{Name: "identity", Text: "You check the offers of a furniture shop."}}}
}

// model plays two scripts: an offer and a letter, and the word of the auditor.
func model() llm.Provider {
	return scripted.New(scripted.Config{Models: map[string]scripted.Model{
		"demo": {Position: scripted.ByHistory, Script: scripted.MustParse(`
			text "12 red chairs for 1,188 €, in two weeks."
			text "Dear customer, your chairs are on their way."
		`)},
		"strict": {Position: scripted.ByHistory, Script: scripted.MustParse(`text "(The price is right.)"`)},
	}})
}

func must[T any](v T, err error) T {
	check(err)
	return v
}

// check ends the program, not the order: it goes on with the next workers.
func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
