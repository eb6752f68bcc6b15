package inworkflow

import (
	"fmt"

	"github.com/everturn/everturn/signals"
	"go.temporal.io/sdk/workflow"
)

// Listen returns the context by which agents reach the workflow. Call it once in every run, before everything else of this
// package; it adds nothing to the history.
func Listen(ctx workflow.Context) workflow.Context {
	d := &desk{run: workflow.GetInfo(ctx).OriginalRunID, heard: map[string]int{}}
	said := workflow.GetSignalChannel(ctx, signals.ChildSays)
	workflow.GoNamed(ctx, "what agents say", func(ctx workflow.Context) {
		for {
			var news signals.ChildNews
			said.Receive(ctx, &news)
			d.heard[news.ID]++
		}
	})
	return workflow.WithValue(ctx, deskKey{}, d)
}

// A desk is what one run of a workflow knows of its agents.
type desk struct {
	run   string         // a reset does not change it: what was sent before is recognised
	made  int            // message ids made up
	heard map[string]int // how often an agent said something; only looked up
}

type deskKey struct{}

func deskOf(ctx workflow.Context) *desk {
	d, _ := ctx.Value(deskKey{}).(*desk)
	if d == nil {
		panic("inworkflow: the context is not from inworkflow.Listen: begin the workflow with ctx = inworkflow.Listen(ctx)")
	}
	return d
}

// messageID makes up the id of a message, unique among all runs.
func (d *desk) messageID() string {
	d.made++
	return fmt.Sprintf("wf-%s-%d", d.run, d.made)
}
