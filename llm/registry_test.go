package llm_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/session"
)

// fake is a provider whose Prepare is a function.
type fake struct {
	name    string
	prepare func(session.CallConfig) (*llm.Prepared, error)
}

func (f fake) Name() string { return f.name }

func (f fake) Prepare(_ context.Context, config session.CallConfig) (*llm.Prepared, error) {
	return f.prepare(config)
}

func serves(name string) fake {
	return fake{name, func(config session.CallConfig) (*llm.Prepared, error) {
		return &llm.Prepared{Config: config, Stream: yields()}, nil
	}}
}

func TestRegistryRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		providers []llm.Provider
		want      string
	}{
		"two providers of one name": {[]llm.Provider{serves("a"), serves("a")}, `two providers are named "a"`},
		"a provider without a name": {[]llm.Provider{serves("")}, "has no name"},
		"a nil provider":            {[]llm.Provider{serves("a"), nil}, "provider 1 is nil"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := llm.NewRegistry(c.providers...)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestRegistryPreparesWithTheNamedProvider(t *testing.T) {
	t.Parallel()
	r, err := llm.NewRegistry(serves("b"), serves("a"))
	require.NoError(t, err)
	require.Equal(t, []string{"a", "b"}, r.Names())

	p, err := r.Prepare(t.Context(), session.CallConfig{Provider: "a", Model: "m"})
	require.NoError(t, err)
	require.Equal(t, "a", p.Config.Provider)
}

func TestRegistryPrepareFails(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	r, err := llm.NewRegistry(
		serves("b"), serves("a"),
		fake{"broken", func(session.CallConfig) (*llm.Prepared, error) { return nil, boom }},
		fake{"lazy", func(session.CallConfig) (*llm.Prepared, error) { return nil, nil }},
	)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		config session.CallConfig
		code   llm.Code
		want   []string
	}{
		"no provider":          {session.CallConfig{Model: "m"}, llm.InvalidRequest, []string{"provider", "model"}},
		"no model":             {session.CallConfig{Provider: "a"}, llm.InvalidRequest, []string{"provider", "model"}},
		"unknown provider":     {session.CallConfig{Provider: "x", Model: "m"}, llm.NoAdapter, []string{`"x"`, "a, b, broken, lazy", "register it"}},
		"the provider refuses": {session.CallConfig{Provider: "broken", Model: "m"}, llm.Unknown, []string{"boom"}},
		"nothing was prepared": {session.CallConfig{Provider: "lazy", Model: "m"}, llm.NoAdapter, []string{"lazy"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := r.Prepare(t.Context(), c.config)
			require.Error(t, err)
			f := llm.FailureOf(err)
			require.Equal(t, string(c.code), f.Code)
			for _, want := range c.want {
				require.Contains(t, f.Message, want)
			}
		})
	}
}

func TestAnEmptyRegistrySaysSo(t *testing.T) {
	t.Parallel()
	r, err := llm.NewRegistry()
	require.NoError(t, err)
	_, err = r.Prepare(t.Context(), session.CallConfig{Provider: "x", Model: "m"})
	require.ErrorContains(t, err, "this worker has none")
}
