package llm_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/llm"
)

func TestASecretDoesNotPrint(t *testing.T) {
	t.Parallel()
	const text = "sk-very-secret"
	type config struct {
		Key    llm.Secret
		hidden llm.Secret
	}
	c := config{llm.NewSecret(text), llm.NewSecret(text)}
	require.Equal(t, text, c.hidden.Reveal())
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		require.NotContains(t, fmt.Sprintf(verb, c), text)
		require.NotContains(t, fmt.Sprintf(verb, c.Key), text)
		require.NotContains(t, fmt.Sprintf(verb, &c), fmt.Sprintf("%x", text))
	}
	raw, err := json.Marshal(c)
	require.NoError(t, err)
	require.JSONEq(t, `{"Key":"[secret]"}`, string(raw))
}

func TestNoSecret(t *testing.T) {
	t.Parallel()
	require.True(t, llm.NewSecret("").IsZero())
	require.Empty(t, llm.Secret{}.Reveal())
	require.Equal(t, "[no secret]", llm.Secret{}.String())
}
