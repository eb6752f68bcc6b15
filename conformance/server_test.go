package conformance_test

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"github.com/everturn/everturn/internal/conformance"
	"github.com/everturn/everturn/internal/log"
	"github.com/everturn/everturn/internal/servertest"
)

// cache is for a process of its own: the SDK has one cache.
var cache = flag.Int("cache", -1, "workflows that a worker keeps in memory; less than 0: the SDK's default")

func TestMain(m *testing.M) {
	flag.Parse()
	if *cache >= 0 {
		worker.SetStickyWorkflowCacheSize(*cache)
	}
	os.Exit(m.Run())
}

// The whole list on a Temporal server of its own, which EVERTURN_DEVSERVER names or which is built.
func TestServer(t *testing.T) {
	s := onServer(t)
	s.run()
	requireReplay(t, s.client, len(s.all))
	require.Equal(t, *cache != 0, s.keeps(), "a worker keeps workflows in memory unless it is told not to")
}

// The whole list on a server that lets agents move to a new run every few events. Nothing of it may be seen. See
// architecture A3.11.
func TestTinyLimits(t *testing.T) {
	s := onServer(t, conformance.TinyLimits...)
	s.run()
	requireReplay(t, s.client, len(s.all))
	n, err := s.target.Rollovers(t.Context())
	require.NoError(t, err)
	t.Logf("%d rollovers in %d scenarios", n, len(s.all))
	require.Greater(t, n, int64(len(s.all)/8), "agents move to new runs all the time, where a scenario lets them")
}

// The whole list with a worker that keeps nothing in memory: every workflow task replays its run from the start.
func TestNoCache(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a Temporal server")
	}
	t.Parallel()
	self, err := os.Executable()
	require.NoError(t, err)
	out, err := exec.CommandContext(t.Context(), self, "-test.run", "^TestServer$", "-test.v", "-cache", "0").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: TestServer/C-001")
}

// A served is the list of scenarios and a server for them.
type served struct {
	*testing.T
	all    []*conformance.Scenario
	client client.Client
	target *conformance.ServerTarget
}

// onServer starts a server with some dynamic config.
func onServer(t *testing.T, dynamic ...string) *served {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a Temporal server")
	}
	t.Parallel()
	all, err := conformance.Load(dir)
	require.NoError(t, err)
	var flags []string
	for _, d := range dynamic {
		flags = append(flags, "--dynamic-config", d)
	}
	c, err := client.Dial(client.Options{HostPort: servertest.Start(t, servertest.Built(t, filepath.Join("..", "devserver")), flags...), Logger: log.Silent()})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return &served{t, all, c, conformance.Server(c, client.DefaultNamespace)}
}

func (s *served) run() {
	for r := range conformance.Each(s.Context(), s.all, s.target, 0) {
		s.Run(r.ID, func(t *testing.T) {
			require.True(t, r.OK, "%s  %s\n%s", r.ID, r.Title, r.Error)
		})
	}
}

// keeps reports whether a worker asked for the tasks of a workflow that it has in memory.
func (s *served) keeps() bool {
	s.Helper()
	page, err := s.client.ListWorkflow(s.Context(), &workflowservice.ListWorkflowExecutionsRequest{Namespace: client.DefaultNamespace, PageSize: 50})
	require.NoError(s, err)
	require.NotEmpty(s, page.GetExecutions())
	for _, info := range page.GetExecutions() {
		e := info.GetExecution()
		events := s.client.GetWorkflowHistory(s.Context(), e.GetWorkflowId(), e.GetRunId(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			require.NoError(s, err)
			if event.GetWorkflowTaskScheduledEventAttributes().GetTaskQueue().GetKind() == enumspb.TASK_QUEUE_KIND_STICKY {
				return true
			}
		}
	}
	return false
}
