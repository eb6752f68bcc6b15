package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/server/common/dynamicconfig"
)

func TestOverridesAreJSONOrElseText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]override{
		"a.b=1":             {"a.b", 1.0},
		"a.b=1.5":           {"a.b", 1.5},
		"a.b=true":          {"a.b", true},
		"a.b=10s":           {"a.b", "10s"},
		`a.b="10s"`:         {"a.b", "10s"},
		`a.b={"c":["d=e"]}`: {"a.b", map[string]any{"c": []any{"d=e"}}},
		"a.b=":              {"a.b", ""},
	} {
		got, err := parseOverride(text)
		require.NoError(t, err)
		require.Equal(t, want, got, text)
	}
}

func TestSettingsAreTypedAndLaterOnesWin(t *testing.T) {
	t.Parallel()
	client, err := settings(append(append([]override{}, defaultSettings...),
		override{"HISTORY.timerProcessorMaxPollRPS", 5.0}, override{"history.workflowIdReuseMinimalInterval", "3s"}))
	require.NoError(t, err)
	value := func(key string) any {
		values := client.GetValue(dynamicconfig.MakeKey(key))
		require.Len(t, values, 1, key)
		return values[0].Value
	}
	require.Equal(t, 2000, value("history.transferProcessorMaxPollRPS"))
	require.Equal(t, 5, value("history.timerProcessorMaxPollRPS"))
	require.Equal(t, 2000, value("history.visibilityProcessorMaxPollRPS"))
	require.Equal(t, "50ms", value("history.timerProcessorMaxTimeShift"))
	require.Equal(t, true, value("frontend.WorkerCommandsEnabled"))
	require.Equal(t, true, value("system.enableCancelActivityWorkerCommand"))
	require.Equal(t, "3s", value("history.workflowIdReuseMinimalInterval"))
}

func TestAnOverrideReachesTheServer(t *testing.T) {
	t.Parallel()
	input := strings.Repeat("x", 5000)
	start := func(args ...string) error {
		c := dial(t, launch(t, append([]string{"--ephemeral", "--headless"}, args...)...).serving())
		_, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: "w", TaskQueue: "q"}, "Workflow", input)
		return err
	}
	require.NoError(t, start())
	require.ErrorContains(t, start("--dynamic-config", "limit.blobSize.error=1000", "--dynamic-config", "limit.blobSize.warn=1000"),
		"exceeds limit") // the server looks at the one only beyond the other
}
