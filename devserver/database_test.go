package main

import (
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	serverlog "go.temporal.io/server/common/log"
	"go.temporal.io/server/common/metrics"
	persistencesql "go.temporal.io/server/common/persistence/sql"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	"go.temporal.io/server/common/resolver"
)

func TestConnectionsUseTheWriteAheadLogAndTheChosenSync(t *testing.T) {
	t.Parallel()
	path := databaseIn(t)
	require.NoError(t, createDatabase(t.Context(), path))
	for mode, level := range map[string]string{syncNormal: "1", syncFull: "2"} { // SQLite's numbers
		want := []string{"wal", level, "10000"}
		db, err := openDatabase(path, connectAttributes(mode))
		require.NoError(t, err)
		require.Equal(t, want, rowOf(t, db, "SELECT * FROM pragma_journal_mode, pragma_synchronous, pragma_busy_timeout"))

		// The server's own connection can be told to do something, but not asked: it writes down what it sees.
		server, err := persistencesql.NewSQLAdminDB(sqlplugin.DbKindMain, sqlConfig(path, mode),
			resolver.NewNoopResolver(), serverlog.NewNoopLogger(), metrics.NoopMetricsHandler)
		require.NoError(t, err)
		require.NoError(t, server.Exec("CREATE TABLE seen AS SELECT * FROM pragma_journal_mode, pragma_synchronous, pragma_busy_timeout"))
		require.Equal(t, want, rowOf(t, db, "SELECT * FROM seen"))
		require.NoError(t, server.Exec("DROP TABLE seen"))
		require.NoError(t, db.Close())
	}
}

func TestARunningServerKeepsAWriteAheadLog(t *testing.T) {
	t.Parallel()
	for _, mode := range syncModes {
		// The name has characters that mean something in a URI.
		path := filepath.Join(filepath.Dir(databaseIn(t)), "a b%20c?d#e.db")
		p := launch(t, "--db", path, "--headless", "--sync", mode)
		require.Equal(t, path, p.serving().Database)
		require.FileExists(t, path+"-wal")
		db, err := openDatabase(path, map[string]string{"mode": "ro"}) // sets no pragma of its own
		require.NoError(t, err)
		var journal string
		require.NoError(t, db.QueryRowContext(t.Context(), "PRAGMA journal_mode").Scan(&journal))
		require.NoError(t, db.Close())
		require.Equal(t, "wal", journal)

		for _, file := range []string{path, path + "-wal", path + ".lock"} {
			info, err := os.Stat(file)
			require.NoError(t, err)
			require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), file)
		}
	}
}

// rowOf returns the three columns of the only row.
func rowOf(t *testing.T, db *sql.DB, query string) []string {
	t.Helper()
	var a, b, c string
	require.NoError(t, db.QueryRowContext(t.Context(), query).Scan(&a, &b, &c))
	return []string{a, b, c}
}

func TestAHalfBuiltDatabaseIsNeverFound(t *testing.T) {
	t.Parallel()
	path := databaseIn(t)
	require.NoError(t, os.WriteFile(path+".new", []byte("what a killed start left"), 0o600))
	require.NoError(t, os.WriteFile(path, nil, 0o600)) // an empty file is no database yet
	require.NoError(t, prepareDatabase(t.Context(), path, syncNormal))
	require.NoFileExists(t, path+".new")
	require.NoError(t, prepareDatabase(t.Context(), path, syncNormal))
}

func TestAKilledServerFindsItsWorkflowsAgain(t *testing.T) {
	t.Parallel()
	database, addressFile := databaseIn(t), filepath.Join(t.TempDir(), "address.json")
	first := launch(t, "--db", database, "--address-file", addressFile)
	run := startWorkflow(t, dial(t, first.serving()), "w", "input")
	first.kill()
	require.FileExists(t, addressFile) // nobody could remove it

	second := launch(t, "--db", database, "--address-file", addressFile)
	s, line := second.servingLine()
	file, err := os.ReadFile(addressFile)
	require.NoError(t, err)
	require.Equal(t, line, string(file))
	c := dial(t, s)
	requireRunning(t, c, "w", run)

	// And it is more than a record: a worker that comes now can go on with it.
	w := worker.New(c, "nobody", worker.Options{})
	w.RegisterWorkflowWithOptions(func(_ workflow.Context, input string) (string, error) { return input, nil },
		workflow.RegisterOptions{Name: "Workflow"})
	require.NoError(t, w.Start())
	defer w.Stop()
	var output string
	require.NoError(t, c.GetWorkflow(t.Context(), "w", run).Get(t.Context(), &output))
	require.Equal(t, "input", output)
}

func TestManyKillsWhileItStarts(t *testing.T) {
	t.Parallel()
	database := databaseIn(t)
	for range 5 {
		p := launch(t, "--db", database, "--headless")
		for !fileExists(database+"-wal") && !fileExists(database+".new") {
		}
		p.kill()
	}
	launch(t, "--db", database).serving()
}

func startWorkflow(t *testing.T, c client.Client, id string, input any) (runID string) {
	t.Helper()
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: "nobody"}, "Workflow", input)
	require.NoError(t, err)
	return run.GetRunID()
}

func requireRunning(t *testing.T, c client.Client, id, runID string) {
	t.Helper()
	resp, err := c.DescribeWorkflowExecution(t.Context(), id, "")
	require.NoError(t, err)
	require.Equal(t, runID, resp.WorkflowExecutionInfo.Execution.RunId)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, resp.WorkflowExecutionInfo.Status)
}

func TestSearchAttributesAreRegistered(t *testing.T) {
	t.Parallel()
	database := databaseIn(t)
	first := launch(t, "--db", database, "--headless")
	c := dial(t, first.serving())
	requireSearchAttributes(t, c)

	// A database made by an older devserver lacks some; the next start adds them.
	_, err := c.OperatorService().RemoveSearchAttributes(t.Context(), &operatorservice.RemoveSearchAttributesRequest{
		Namespace: "default", SearchAttributes: []string{"AgentTurn", "AgentModel"},
	})
	require.NoError(t, err)
	first.kill()
	requireSearchAttributes(t, dial(t, launch(t, "--db", database, "--headless").serving()))
}

func TestSearchAttributesFindWorkflows(t *testing.T) {
	t.Parallel()
	c := dial(t, launch(t, "--ephemeral", "--headless").serving())
	_, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: "w", TaskQueue: "nobody",
		TypedSearchAttributes: temporal.NewSearchAttributes(
			temporal.NewSearchAttributeKeyKeyword("AgentStatus").ValueSet("running"),
			temporal.NewSearchAttributeKeyInt64("AgentTurn").ValueSet(3),
		),
	}, "Workflow", "input")
	require.NoError(t, err)
	until(t, func() bool { // visibility follows a moment later
		resp, err := c.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{
			Query: `AgentStatus = "running" AND AgentTurn > 2`,
		})
		require.NoError(t, err)
		return resp.Count == 1
	})
}

func requireSearchAttributes(t *testing.T, c client.Client) {
	t.Helper()
	list, err := c.OperatorService().ListSearchAttributes(t.Context(), &operatorservice.ListSearchAttributesRequest{Namespace: "default"})
	require.NoError(t, err)
	require.Equal(t, map[string]enumspb.IndexedValueType{
		"AgentStatus":     enumspb.INDEXED_VALUE_TYPE_KEYWORD,
		"AgentDefinition": enumspb.INDEXED_VALUE_TYPE_KEYWORD,
		"AgentModel":      enumspb.INDEXED_VALUE_TYPE_KEYWORD,
		"AgentParent":     enumspb.INDEXED_VALUE_TYPE_KEYWORD,
		"AgentWaiting":    enumspb.INDEXED_VALUE_TYPE_KEYWORD,
		"AgentTurn":       enumspb.INDEXED_VALUE_TYPE_INT,
	}, list.CustomAttributes)
}
