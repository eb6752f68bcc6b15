package builtin_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/tools"
	"github.com/everturn/everturn/tools/builtin"
)

func TestEchoReturnsItsText(t *testing.T) {
	t.Parallel()
	echo := builtin.Echo()
	require.Equal(t, "你好 <&>", text(t, echo, `{"text":"你好 <&>"}`))
	require.Equal(t, tools.Pure, echo.Effect)
	require.True(t, echo.ParallelWith(`{"text":"x"}`))
	_, err := echo.Invoke(t.Context(), "")
	require.ErrorContains(t, err, `field "text": required`)
}

func TestNowTellsTheTime(t *testing.T) {
	t.Parallel()
	now := builtin.Now(func() time.Time { return time.Date(2026, 1, 31, 23, 30, 0, 5, time.UTC) })
	require.Equal(t, "2026-01-31T23:30:00Z", text(t, now, ""))
	require.Equal(t, "2026-02-01T08:30:00+09:00", text(t, now, `{"zone":"Asia/Tokyo"}`))
	require.True(t, now.ParallelWith("{}"))
	for _, zone := range []string{"Local", "Middle/Earth", "../../etc/passwd", "/etc/localtime"} {
		_, err := now.Invoke(t.Context(), `{"zone":"`+zone+`"}`)
		requireCode(t, err, "UNKNOWN_ZONE")
	}
}

func TestAll(t *testing.T) {
	t.Parallel()
	all, err := builtin.All(t.TempDir())
	require.NoError(t, err)
	set, err := tools.NewSet(all...)
	require.NoError(t, err)
	var names []string
	for _, tool := range set.All() {
		names = append(names, tool.Name)
	}
	require.Equal(t, []string{"echo", "list_files", "now", "read_file", "write_file"}, names)

	few, err := builtin.All("")
	require.NoError(t, err)
	require.Len(t, few, 2)

	_, err = builtin.All(t.TempDir() + "/none")
	require.ErrorContains(t, err, "create the folder first")
}

func text(t *testing.T, tool *tools.Tool, args string) string {
	t.Helper()
	result, err := tool.Invoke(t.Context(), args)
	require.NoError(t, err)
	return result.Content.Text()
}

func requireCode(t *testing.T, err error, code string) {
	t.Helper()
	_, got, _ := tools.ErrorOf(err)
	require.Equal(t, code, got, "error: %v", err)
}
