package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/plugin"
	"github.com/everturn/everturn/signals"
)

func TestWebhooksOnTheCommandLine(t *testing.T) {
	t.Parallel()
	hooks, err := webhooksOf([]string{"ops=https://hooks.example/a?b=c", "ci@turn.ended,error=https://ci.example"})
	require.NoError(t, err)
	require.Equal(t, []signals.Webhook{
		{URL: "https://hooks.example/a?b=c", Secret: "ops"},
		{URL: "https://ci.example", Secret: "ci", Events: []string{"turn.ended", "error"}},
	}, hooks)
	d := &plugin.Definition{Name: "d"}
	require.NoError(t, (&webhookFlags{hooks: []string{"ops=https://hooks.example"}}).hook([]*plugin.Definition{d}))
	require.Equal(t, []plugin.Webhook{{URL: "https://hooks.example", Secret: "ops"}}, d.Webhooks)
	for _, bad := range []string{"https://hooks.example", "ops", "@error=https://x.example", "ops@=https://x.example", "ops@turn=https://x.example", "a b=https://x.example", "ops="} {
		_, err := webhooksOf([]string{bad})
		require.ErrorContains(t, err, "--webhook", bad)
	}
}

func TestWhatWebhooksMayCall(t *testing.T) {
	require.Empty(t, (&webhookFlags{}).rules().Allow)
	t.Setenv(allowVariable, "10.0.0.0/8,hooks.internal")
	require.Equal(t, []string{"10.0.0.0/8", "hooks.internal"}, (&webhookFlags{}).rules().Allow)
	require.Equal(t, []string{"::1"}, (&webhookFlags{allow: []string{"::1"}}).rules().Allow)
}
