package llm_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/llm"
)

func TestDelay(t *testing.T) {
	t.Parallel()
	normal, always := llm.RetryPolicy{}, llm.RetryPolicy{Mode: llm.Always}
	steady := llm.RetryPolicy{Jitter: -1}
	for name, c := range map[string]struct {
		policy     llm.RetryPolicy
		code       llm.Code
		retryAfter time.Duration
		n          int
		random     float64
		want       time.Duration
		retry      bool
	}{
		"the first retry":                      {steady, llm.Server, 0, 1, 0, 500 * time.Millisecond, true},
		"each one doubles":                     {steady, llm.Timeout, 0, 3, 0, 2 * time.Second, true},
		"up to the cap":                        {llm.RetryPolicy{Jitter: -1, Retries: 99}, llm.Transport, 0, 50, 0, 10 * time.Second, true},
		"jitter shortens":                      {normal, llm.RateLimit, 0, 1, 0, 450 * time.Millisecond, true},
		"jitter lengthens":                     {normal, llm.EmptyResponse, 0, 1, 0.75, 525 * time.Millisecond, true},
		"the fifth is the last":                {steady, llm.Server, 0, 5, 0, 8 * time.Second, true},
		"no sixth":                             {normal, llm.Server, 0, 6, 0, 0, false},
		"none at all":                          {llm.RetryPolicy{Retries: -1}, llm.Server, 0, 1, 0, 0, false},
		"not what will fail again":             {normal, llm.Auth, 0, 1, 0, 0, false},
		"a demanded delay has no jitter":       {normal, llm.RateLimit, 7 * time.Second, 1, 0, 7 * time.Second, true},
		"a demand beyond the cap ends it":      {normal, llm.RateLimit, time.Minute, 1, 0, 0, false},
		"always retries everything":            {always, llm.Auth, 0, 1, 0.5, 500 * time.Millisecond, true},
		"always has no end":                    {always, llm.Server, 0, 1000, 0.5, 10 * time.Second, true},
		"always ignores a demand beyond a cap": {always, llm.RateLimit, time.Minute, 1, 0.5, 500 * time.Millisecond, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, retry := c.policy.Delay(c.code, c.retryAfter, c.n, c.random)
			require.Equal(t, c.retry, retry)
			require.Equal(t, c.want, got)
		})
	}
}

func TestAPolicyIsKnownByItsContent(t *testing.T) {
	t.Parallel()
	require.Equal(t, llm.RetryPolicy{}.Key(), llm.RetryPolicy{Retries: 5, Cap: 10 * time.Second}.Key(), "defaults count as written")
	require.NotEqual(t, llm.RetryPolicy{}.Key(), llm.RetryPolicy{Retries: 6}.Key())
}
