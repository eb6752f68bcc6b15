package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
)

func TestItServesAndSaysWhere(t *testing.T) {
	t.Parallel()
	database, addressFile := databaseIn(t), filepath.Join(t.TempDir(), "address.json")
	p := launch(t, "--db", database, "--address-file", addressFile)
	s, line := p.servingLine()

	require.Equal(t, database, s.Database)
	require.Equal(t, "default", s.Namespace)
	require.Equal(t, p.cmd.Process.Pid, s.PID)
	file, err := os.ReadFile(addressFile)
	require.NoError(t, err)
	require.Equal(t, line, string(file))

	resp, err := dial(t, s).WorkflowService().DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: "default"})
	require.NoError(t, err)
	require.Equal(t, retention, resp.Config.WorkflowExecutionRetentionTtl.AsDuration())
	requirePage(t, s.UIAddress)
	requirePage(t, s.UIAddress+"/namespaces/default/workflows")
	requirePage(t, s.UIAddress+"/api/v1/namespaces/default") // the UI reaches the server

	p.signal(syscall.SIGTERM)
	p.exit(exitOK)
	require.NoFileExists(t, addressFile)
	require.Empty(t, p.stderr.String())
}

func requirePage(t *testing.T, url string) {
	t.Helper()
	resp, err := http.Get(url)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, "%s: %s", url, body)
}

func TestInMemoryItLeavesNoFiles(t *testing.T) {
	t.Parallel()
	p := launch(t, "--ephemeral", "--headless")
	p.cmd.Dir = t.TempDir()
	s, line := p.servingLine()
	require.Equal(t, "memory", s.Database)
	require.NotContains(t, line, "uiAddress")
	startWorkflow(t, dial(t, s), "w", "input")

	p.signal(os.Interrupt)
	p.exit(exitOK)
	files, err := os.ReadDir(p.cmd.Dir)
	require.NoError(t, err)
	require.Empty(t, files)
}

func TestLogsGoToStandardErrorOnly(t *testing.T) {
	t.Parallel()
	p := launch(t, "--ephemeral", "--log-level", "debug")
	p.serving()
	p.signal(syscall.SIGTERM)
	p.exit(exitOK) // and nothing more on standard output
	require.Contains(t, p.stderr.String(), `"level":"debug"`)
}

func TestASecondSignalKills(t *testing.T) {
	t.Parallel()
	addressFile := filepath.Join(t.TempDir(), "address.json")
	p := launch(t, "--ephemeral", "--headless", "--address-file", addressFile)
	p.serving()
	p.signal(syscall.SIGTERM)
	until(t, func() bool { return !fileExists(addressFile) }) // removing it is the first thing that a clean exit does
	until(t, func() bool { return p.cmd.Process.Signal(syscall.SIGTERM) != nil || hasEnded(p.cmd.Process.Pid) })
	p.end()
	status := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
	require.True(t, status.Signaled(), "it ended in its own time: %v", p.cmd.ProcessState)
	require.Equal(t, syscall.SIGTERM, status.Signal())
}

func TestASignalWhileItStartsIsACleanExit(t *testing.T) {
	t.Parallel()
	database, addressFile := databaseIn(t), filepath.Join(t.TempDir(), "address.json")
	for _, sign := range []string{".lock", "-wal"} { // early and late
		p := launch(t, "--db", database, "--address-file", addressFile)
		until(t, func() bool { return fileExists(database + sign) })
		p.signal(syscall.SIGTERM)
		p.end() // it may have come as far as the serving line
		require.Equal(t, exitOK, p.cmd.ProcessState.ExitCode())
		require.Empty(t, p.stderr.String())
		require.NoFileExists(t, addressFile)
	}
}

// until waits for a condition, at most as long as the test may last.
func until(t *testing.T, condition func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !condition() {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("the condition did not come true")
		}
	}
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
