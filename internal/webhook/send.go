package webhook

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Config is what a [Sender] needs. The zero value calls public addresses over https.
type Config struct {
	Allow   []string         // networks, addresses and host names that may be called beside, also without https
	Timeout time.Duration    // of a call; 0 means 10 s
	Now     func() time.Time // nil: time.Now
}

// A Sender delivers messages. Make one with [New]. It is safe for concurrent use.
type Sender struct {
	guard   guard
	timeout time.Duration
	now     func() time.Time
}

// New checks the configuration.
func New(c Config) (*Sender, error) {
	g, err := newGuard(c.Allow)
	if err != nil {
		return nil, err
	}
	s := &Sender{guard: g, timeout: cmp.Or(c.Timeout, 10*time.Second), now: c.Now}
	if s.now == nil {
		s.now = time.Now
	}
	return s, nil
}

// An Error is a delivery that failed, in one line.
type Error struct {
	Permanent bool          // another try would fail too
	After     time.Duration // when the receiver asked for another try; 0: it did not say
	line      string
}

func (e *Error) Error() string { return e.line }

func refused(u *url.URL, why string) *Error {
	return &Error{Permanent: true, line: fmt.Sprintf("webhook %s is not called: %s", u.Host, why)}
}

func failed(u *url.URL, why string) *Error {
	return &Error{line: fmt.Sprintf("webhook %s: %s", u.Host, why)}
}

// minSecret is the shortest secret, in bytes. Standard Webhooks asks for 24 to 64.
const minSecret = 24

// CheckSecret says what is wrong with a secret, without saying what it is.
func CheckSecret(secret string) error {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil || len(key) < minSecret {
		return fmt.Errorf("it is not whsec_ and at least %d bytes in base64 (make one with: echo whsec_$(openssl rand -base64 32))", minSecret)
	}
	return nil
}

// Send delivers a message once. id is the same for every try. Its error is an [*Error].
func (s *Sender) Send(ctx context.Context, target, secret, id string, body []byte) error {
	u, err := Parse(target)
	if err != nil {
		return &Error{Permanent: true, line: "webhook: " + err.Error()}
	}
	if err := CheckSecret(secret); err != nil {
		return failed(u, "the secret cannot be used: "+err.Error())
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	req, err := s.request(ctx, u, secret, id, body)
	if err != nil {
		return failed(u, "it cannot be asked: "+reason(err))
	}
	client := s.client(u)
	defer client.CloseIdleConnections()
	res, err := client.Do(req)
	if err != nil {
		return s.unreachable(ctx, u, err)
	}
	defer func() { _ = res.Body.Close() }()
	answer, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer)) // the status decides
	return s.judge(u, res, answer)
}

// maxAnswer is how much of an answer is read.
const maxAnswer = 4 << 10

func (s *Sender) request(ctx context.Context, u *url.URL, secret, id string, body []byte) (*http.Request, error) {
	signer, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		return nil, err
	}
	at := s.now()
	signature, err := signer.Sign(id, at, body)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "everturn-webhook/1")
	req.Header.Set(standardwebhooks.HeaderWebhookID, id)
	req.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(at.Unix(), 10))
	req.Header.Set(standardwebhooks.HeaderWebhookSignature, signature)
	return req, nil
}

// client makes one connection, to where it may, and follows nothing.
func (s *Sender) client(u *url.URL) *http.Client {
	dialer := &net.Dialer{Control: s.guard.control(u)}
	return &http.Client{
		Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true, ForceAttemptHTTP2: true,
			MaxResponseHeaderBytes: 64 << 10},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

func (s *Sender) unreachable(ctx context.Context, u *url.URL, err error) *Error {
	if e := refusedAddress(err); e != nil {
		return e
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return failed(u, fmt.Sprintf("no answer within %s", s.timeout))
	}
	return failed(u, reason(err))
}

// reason is an error without the URL.
func reason(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return line([]byte(err.Error()))
}

// judge says what an answer means.
func (s *Sender) judge(u *url.URL, res *http.Response, answer []byte) error {
	status := res.StatusCode
	said := fmt.Sprintf("%d %s", status, http.StatusText(status))
	if text := line(answer); text != "" {
		said += ": " + text
	}
	switch {
	case status >= 200 && status < 300:
		return nil
	case status >= 300 && status < 400:
		where := "elsewhere"
		if to, err := res.Location(); err == nil {
			where = "to " + to.Host
		}
		return &Error{Permanent: true, line: fmt.Sprintf("webhook %s: %d, it redirects %s: redirects are not followed, name the address itself", u.Host, status, where)}
	case status >= 500, status == http.StatusRequestTimeout, status == http.StatusTooEarly, status == http.StatusTooManyRequests:
		return &Error{After: s.after(res.Header.Get("Retry-After")), line: fmt.Sprintf("webhook %s: %s", u.Host, said)}
	default:
		return &Error{Permanent: true, line: fmt.Sprintf("webhook %s: %s", u.Host, said)}
	}
}

// after reads Retry-After: seconds, or a date.
func (s *Sender) after(value string) time.Duration {
	if n, err := strconv.Atoi(value); err == nil && n > 0 {
		return time.Duration(min(n, 1<<30)) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(s.now()))
	}
	return 0
}

// maxLine is how much is said of what somebody else wrote.
const maxLine = 120

// line is the first line of a text, fit to be shown.
func line(text []byte) string {
	first, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	first = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(first, ""))
	if len(first) > maxLine {
		first = strings.ToValidUTF8(first[:maxLine], "") + "…"
	}
	return first
}
