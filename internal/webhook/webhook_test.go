package webhook_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
	"github.com/stretchr/testify/require"

	"github.com/everturn/everturn/internal/webhook"
)

const secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo="

func sender(t *testing.T, c webhook.Config) *webhook.Sender {
	t.Helper()
	s, err := webhook.New(c)
	require.NoError(t, err)
	return s
}

// send delivers to a handler and returns what the sender makes of it.
func send(t *testing.T, c webhook.Config, h http.HandlerFunc) *webhook.Error {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	c.Allow = append(c.Allow, "127.0.0.0/8")
	return failure(t, sender(t, c).Send(t.Context(), server.URL+"/in/s3cret", secret, "told_1", []byte(`{"a":1}`)))
}

func failure(t *testing.T, err error) *webhook.Error {
	t.Helper()
	if err == nil {
		return nil
	}
	var e *webhook.Error
	require.ErrorAs(t, err, &e)
	require.NotContains(t, e.Error(), "s3cret", "the path may be a secret")
	require.NotContains(t, e.Error(), "\n", "one line")
	return e
}

func TestADeliveryIsSigned(t *testing.T) {
	t.Parallel()
	var verified error
	var id, body string
	e := send(t, webhook.Config{}, func(_ http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		receiver, _ := standardwebhooks.NewWebhook(secret)
		verified = errors.Join(err, receiver.Verify(raw, r.Header))
		id, body = r.Header.Get("webhook-id"), string(raw)
	})
	require.Nil(t, e)
	require.NoError(t, verified)
	require.Equal(t, "told_1", id)
	require.JSONEq(t, `{"a":1}`, body)
}

func TestWhatAnAnswerMeans(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	answer := func(status int, header, value, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			if header != "" {
				w.Header().Set(header, value)
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, body)
		}
	}
	for name, tt := range map[string]struct {
		handler   http.HandlerFunc
		permanent bool
		after     time.Duration
		says      string
	}{
		"not there":        {answer(404, "", "", "no such hook\nat all"), true, 0, "404 Not Found: no such hook"},
		"gone":             {answer(410, "", "", ""), true, 0, "410 Gone"},
		"forbidden":        {answer(401, "", "", strings.Repeat("x", 1<<20)), true, 0, "401 Unauthorized: xxx"},
		"it redirects":     {answer(307, "Location", "https://other.example/s3cret", ""), true, 0, "redirects to other.example: redirects are not followed"},
		"too many":         {answer(429, "Retry-After", "90", ""), false, 90 * time.Second, "429"},
		"later, by date":   {answer(503, "Retry-After", now.Add(time.Hour).Format(http.TimeFormat), ""), false, time.Hour, "503"},
		"later, who knows": {answer(503, "Retry-After", "soon", ""), false, 0, "503"},
		"broken":           {answer(500, "", "", "\x1b[31moops"), false, 0, "500 Internal Server Error: [31moops"},
		"too early":        {answer(425, "", "", ""), false, 0, "425"},
		"timed out":        {answer(408, "", "", ""), false, 0, "408"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := send(t, webhook.Config{Now: func() time.Time { return now }}, tt.handler)
			require.NotNil(t, e)
			require.Equal(t, tt.permanent, e.Permanent)
			require.Equal(t, tt.after, e.After)
			require.Contains(t, e.Error(), tt.says)
			require.Less(t, len(e.Error()), 300)
		})
	}
}

func TestAReceiverThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	e := send(t, webhook.Config{Timeout: 20 * time.Millisecond}, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else the server does not notice that the caller left
		<-r.Context().Done()
	})
	require.NotNil(t, e)
	require.False(t, e.Permanent)
	require.Contains(t, e.Error(), "no answer within 20ms")
}

func TestAReceiverThatIsDown(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	e := failure(t, sender(t, webhook.Config{Allow: []string{"127.0.0.1"}}).Send(t.Context(), server.URL+"/s3cret", secret, "told_1", nil))
	require.NotNil(t, e)
	require.False(t, e.Permanent)
	require.Contains(t, e.Error(), "connection refused")
}

// TestOnlyPublicAddressesAreCalled: the refusal is the dialer's, so that it holds for a name too.
func TestOnlyPublicAddressesAreCalled(t *testing.T) {
	t.Parallel()
	called := false
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called = true }))
	t.Cleanup(server.Close)
	port := server.URL[strings.LastIndexByte(server.URL, ':'):]
	for _, host := range []string{"127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0"} {
		for _, allow := range [][]string{nil, {"10.0.0.0/8", "hooks.internal"}} {
			for _, scheme := range []string{"http", "https"} {
				e := failure(t, sender(t, webhook.Config{Allow: allow}).Send(context.Background(), scheme+"://"+host+port, secret, "told_1", nil))
				require.NotNil(t, e, host)
				if e.Permanent {
					require.Contains(t, e.Error(), "not public: allow it at the worker with --webhook-allow", host)
				} else { // no address of this family here
					require.NotContains(t, host, "127.0.0.1", e.Error())
				}
			}
		}
	}
	require.False(t, called)
	require.Nil(t, failure(t, sender(t, webhook.Config{Allow: []string{"localhost"}}).Send(t.Context(), "http://localhost"+port, secret, "told_1", nil)))
	require.True(t, called)
}

func TestWhatIsPublic(t *testing.T) {
	t.Parallel()
	for _, a := range []string{"8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8"} {
		require.True(t, webhook.Public(netip.MustParseAddr(a)), a)
	}
	for _, a := range []string{"10.1.2.3", "172.16.0.1", "192.168.0.1", "127.0.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0", "224.0.0.1",
		"255.255.255.255", "::1", "::", "fe80::1", "fc00::1", "ff02::1", "64:ff9b::7f00:1", "2002:7f00:1::", "::ffff:10.0.0.1", "::127.0.0.1"} {
		require.False(t, webhook.Public(netip.MustParseAddr(a)), a)
	}
}

func TestWhatCanBeSeenOfAURL(t *testing.T) {
	t.Parallel()
	for url, says := range map[string]string{
		"https://hooks.example/x":        "",
		"http://hooks.example/x":         "it is not https",
		"ftp://hooks.example":            "use a URL with https",
		"hooks.example":                  "use a URL with https",
		"https:///x":                     "no host",
		"https://u:p@hooks.example":      "user name",
		"https://hooks.example/#x":       "fragment",
		"https://10.0.0.1":               "not public",
		"https://[fe80::1]":              "not public",
		"https://localhost:1234":         "not public",
		"https://169.254.169.254/latest": "not public",
		"https://\x7f":                   "it is no URL",
	} {
		err := sender(t, webhook.Config{}).Check(url)
		if says == "" {
			require.NoError(t, err, url)
			continue
		}
		require.ErrorContains(t, err, says, url)
	}
	allowed := sender(t, webhook.Config{Allow: []string{"localhost", "10.0.0.0/8", "::1"}})
	for _, url := range []string{"http://localhost:1", "https://10.9.9.9", "http://[::1]", "http://name.internal"} {
		require.NoError(t, allowed.Check(url), url)
	}
	require.ErrorContains(t, allowed.Check("https://192.168.0.1"), "not public")
}

func TestBadConfigurations(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "10.0.0.0/99", "http://x", "a b", "*"} {
		_, err := webhook.New(webhook.Config{Allow: []string{bad}})
		require.ErrorContains(t, err, "no network, address or host name", bad)
	}
	for _, bad := range []string{"", "whsec_", "whsec_c2hvcnQ=", "not base64 at all, and long"} {
		err := webhook.CheckSecret(bad)
		require.ErrorContains(t, err, "whsec_")
		if len(bad) > 10 {
			require.NotContains(t, err.Error(), bad)
		}
		e := failure(t, sender(t, webhook.Config{}).Send(t.Context(), "https://hooks.example", bad, "told_1", nil))
		require.False(t, e.Permanent, "a deployment may bring a better one")
	}
}
