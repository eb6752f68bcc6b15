package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/everturn/everturn/session"
)

// current makes a version of the workers the current one of the place's deployment.
func (p *place) current(build string) {
	p.t.Helper()
	until(p.t, "the server knows version "+build, func() bool {
		_, err := p.sdk.WorkerDeploymentClient().GetHandle(p.queue).SetCurrentVersion(p.t.Context(), client.WorkerDeploymentSetCurrentVersionOptions{BuildID: build})
		return err == nil
	})
}

// versioned starts a worker of a version of the place's deployment.
func (p *place) versioned(build string) *process {
	p.t.Helper()
	return p.workerWith(nil, "--drain", "5s", "--deployment", p.queue, "--build-id", build)
}

// version is the one that an agent's run is pinned to.
func (p *place) version(id string) string {
	p.t.Helper()
	d, err := p.sdk.DescribeWorkflow(p.t.Context(), id, "")
	require.NoError(p.t, err)
	return d.RawResponse.GetWorkflowExecutionInfo().GetVersioningInfo().GetDeploymentVersion().GetBuildId()
}

func TestAgentsMoveToTheCurrentWorkers(t *testing.T) { // A3.15
	p := here(t)
	old := p.versioned("v1")
	p.current("v1")
	busy, lazy, asleep := p.create("busy"), p.create("lazy"), p.create("asleep")
	require.Equal(t, "The echo tool says: one", ask(t, lazy, "please echo one").Text)
	idle(t, lazy)
	id := send(t, busy, "count to 30")
	streams(t, busy, 2)

	p.versioned("v2")
	p.current("v2")
	require.Equal(t, "v1", p.version(busy.ID()))
	require.Equal(t, session.TurnCompleted, said(t, busy, id).Outcome.Kind, "its turn ends where it began")
	until(t, "it moves when its turn has ended", func() bool { return p.version(busy.ID()) == "v2" })

	require.Equal(t, "v1", p.version(asleep.ID()), "nobody woke it")
	until(t, "the listing shows who is left", func() bool {
		return p.listed(asleep.ID()).Version == p.queue+":v1" && p.listed(busy.ID()).Version == p.queue+":v2"
	})
	require.Contains(t, p.ok("roll", "--from", p.queue+":v1", "--rate", "50"), "asked 2 agents to roll")
	for _, a := range []string{asleep.ID(), lazy.ID()} {
		until(t, a+" moves", func() bool { return p.version(a) == "v2" })
	}
	until(t, "nobody is left on the old version", func() bool {
		d, err := p.sdk.WorkerDeploymentClient().GetHandle(p.queue).DescribeVersion(t.Context(), client.WorkerDeploymentDescribeVersionOptions{BuildID: "v1"})
		return err == nil && d.Info.DrainageInfo != nil && d.Info.DrainageInfo.DrainageStatus == client.WorkerDeploymentVersionDrainageStatusDrained
	})
	old.kill()
	require.Equal(t, "The echo tool says: two", ask(t, lazy, "please echo two").Text)
	require.Equal(t, "The echo tool says: three", ask(t, asleep, "please echo three").Text)
	idle(t, lazy)
	for _, a := range []string{busy.ID(), lazy.ID(), asleep.ID()} {
		p.records(a)
	}
	require.Contains(t, p.fails(2, "roll", "--rate", "0"), "--rate 0")
	require.Contains(t, p.fails(2, "roll", "x", "--from", "y:z"), "not both")
	require.Contains(t, p.fails(2, "worker", "--build-id", "v3"), "go together")
}
