package workflows

import (
	"encoding/json"
	"fmt"

	"github.com/everturn/everturn/internal/driver"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"
)

// An item is one thing that came in, in order: a signal, an update's act, or an input.
type item struct {
	name  string          // of a signal or update
	raw   json.RawMessage // its payload
	err   error           // the payload could not be read
	slot  *slot           // an update waits for its receipt
	input driver.Input    // instead of the above: an answer
}

// A slot is where an update's receipt arrives.
type slot struct {
	ref     string
	receipt driver.Receipt
	err     error
	done    bool
}

// queue holds what came in and was not fed to the driver yet. See architecture A3.1.
type queue struct {
	items   []item
	signals int // that the run has got
	tap     Tap
}

func (q *queue) push(i item) { q.items = append(q.items, i) }

// pushFirst puts an item before everything that waits.
func (q *queue) pushFirst(i item) { q.items = append([]item{i}, q.items...) }

// pop takes the oldest item; with answersOnly, the oldest answer.
func (q *queue) pop(answersOnly bool) (item, bool) {
	for n, i := range q.items {
		if !answersOnly || i.input != nil {
			q.items = append(q.items[:n:n], q.items[n+1:]...)
			return i, true
		}
	}
	return item{}, false
}

// ready reports whether pop would find something.
func (q *queue) ready(answersOnly bool) bool {
	for _, i := range q.items {
		if !answersOnly || i.input != nil {
			return true
		}
	}
	return false
}

// holds reports whether an act of the name waits.
func (q *queue) holds(name string) bool {
	for _, i := range q.items {
		if i.input == nil && i.name == name {
			return true
		}
	}
	return false
}

// A Tap receives notifications as they happen; it is not called during replay and returns nothing. See architecture
// A3.14. What it is told is a hint: a workflow task may not commit.
type Tap func(session, name string, data json.RawMessage)

// Options configure an [Interceptor].
type Options struct {
	Tap       Tap                     // nil: nobody listens
	Converter converter.DataConverter // the client's; nil means the default
}

// Interceptor is what makes the order between signals of different names deterministic. Pass it to worker.Options and
// to a replayer.
func Interceptor(o Options) interceptor.WorkerInterceptor {
	if o.Converter == nil {
		o.Converter = converter.GetDefaultDataConverter()
	}
	return &workerInterceptor{options: o}
}

type workerInterceptor struct {
	interceptor.WorkerInterceptorBase
	options Options
}

func (w *workerInterceptor) InterceptWorkflow(ctx workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	if workflow.GetInfo(ctx).WorkflowType.Name != WorkflowType {
		return next
	}
	i := &inbound{converter: w.options.Converter, queue: &queue{tap: w.options.Tap}}
	i.Next = next
	return i
}

type inbound struct {
	interceptor.WorkflowInboundInterceptorBase
	converter converter.DataConverter
	queue     *queue
}

type queueKey struct{}

func (i *inbound) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	return i.Next.ExecuteWorkflow(workflow.WithValue(ctx, queueKey{}, i.queue), in)
}

// HandleSignal appends the signal to the one queue; no channel of its own ever sees it.
func (i *inbound) HandleSignal(_ workflow.Context, in *interceptor.HandleSignalInput) error {
	raw, err := i.payload(in.Arg)
	i.queue.signals++
	i.queue.push(item{name: in.SignalName, raw: raw, err: err})
	return nil
}

// payload reads the first argument as JSON.
func (i *inbound) payload(args *commonpb.Payloads) (json.RawMessage, error) {
	if len(args.GetPayloads()) == 0 {
		return nil, nil
	}
	var raw json.RawMessage
	if err := i.converter.FromPayload(args.Payloads[0], &raw); err != nil {
		return nil, fmt.Errorf("the payload is not JSON: %w", err)
	}
	return raw, nil
}

// queueOf returns the queue the interceptor made.
func queueOf(ctx workflow.Context) *queue {
	q, _ := ctx.Value(queueKey{}).(*queue)
	if q == nil {
		panic("workflows: the worker lacks workflows.Interceptor: add it to worker.Options.Interceptors")
	}
	return q
}
