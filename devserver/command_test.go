package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWrongCallsAreRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		want string
		args []string
	}{
		{"use --db PATH", nil},
		{"exclude each other", []string{"--db", "x", "--ephemeral"}},
		{"unknown flag", []string{"--ephemeral", "--no-such-flag"}},
		{"unexpected argument", []string{"--ephemeral", "serve"}},
		{"is not an IP address", []string{"--ephemeral", "--ip", "localhost"}},
		{"invalid argument", []string{"--ephemeral", "--port", "70000"}},
		{"invalid argument", []string{"--ephemeral", "--ui-port", "-1"}},
		{"choose two ports", []string{"--ephemeral", "--port", "7000", "--ui-port", "7000"}},
		{"--sync", []string{"--db", "x", "--sync", "sometimes"}},
		{"has no meaning", []string{"--ephemeral", "--sync", "full"}},
		{"--log-level", []string{"--ephemeral", "--log-level", "loud"}},
		{"not a process id", []string{"--ephemeral", "--parent-pid", "-3"}},
		{"not of the form key=value", []string{"--ephemeral", "--dynamic-config", "limit.blobSize.error"}},
		{"not of the form key=value", []string{"--ephemeral", "--dynamic-config", "=1"}},
		{"unregistered key", []string{"--ephemeral", "--dynamic-config", "limit.blobsize=1"}},
		{"validation failed", []string{"--ephemeral", "--dynamic-config", "limit.blobSize.error=many"}},
	} {
		p := launch(t, c.args...)
		require.Contains(t, p.fail(exitUsage), c.want, "%v", c.args)
	}
}

func TestVersionAndHelpNeedNothingElse(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitOK, execute([]string{"--version"}, &stdout, &stderr, nil))
	require.Regexp(t, `^devserver .*temporal server \d+\.\d+\.\d+, web ui \d+\.\d+\.\d+\)\n$`, stdout.String())
	require.Equal(t, exitOK, execute([]string{"--help"}, &stdout, &stderr, nil))
	require.Contains(t, stdout.String(), "--exit-with-parent")
	require.Empty(t, stderr.String())
}
