package llm

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

// A RetryPolicy says how an agent recovers from failed model calls. The zero value is the documented default of normal
// mode. See spec §4.7.6.
type RetryPolicy struct {
	Mode    string        `json:"mode,omitempty"`    // "normal" (default) or "always"
	Retries int           `json:"retries,omitempty"` // normal: retries after the first attempt; 0 means 5, negative means none
	Base    time.Duration `json:"base,omitempty"`    // first delay; 0 means 500 ms
	Cap     time.Duration `json:"cap,omitempty"`     // longest delay; 0 means 10 s
	Jitter  float64       `json:"jitter,omitempty"`  // symmetric share of the delay; 0 means 0.1, negative means none
}

// Normal and Always are the modes of a [RetryPolicy].
const (
	Normal = "normal"
	Always = "always"
)

// WithDefaults returns the policy with its zero fields replaced.
func (p RetryPolicy) WithDefaults() RetryPolicy {
	if p.Mode == "" {
		p.Mode = Normal
	}
	if p.Retries == 0 {
		p.Retries = 5
	}
	if p.Base == 0 {
		p.Base = 500 * time.Millisecond
	}
	if p.Cap == 0 {
		p.Cap = 10 * time.Second
	}
	if p.Jitter == 0 {
		p.Jitter = 0.1
	}
	return p
}

// Key identifies the policy; retries are counted only over entries with the same key.
func (p RetryPolicy) Key() string {
	raw, _ := json.Marshal(p.WithDefaults()) // a struct of numbers and strings always marshals
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:6])
}

// Delay decides about retry number n (from 1) of a failure: how long to wait, and whether to retry at all.
// random is uniform in [0,1). A delay the provider demands replaces the backoff if it is within the cap.
func (p RetryPolicy) Delay(code Code, retryAfter time.Duration, n int, random float64) (time.Duration, bool) {
	p = p.WithDefaults()
	if p.Mode == Normal && (n > p.Retries || !retryable(code)) {
		return 0, false
	}
	if retryAfter > 0 && retryAfter <= p.Cap {
		return retryAfter, true
	}
	if retryAfter > p.Cap && p.Mode == Normal {
		return 0, false
	}
	return p.backoff(n, random), true
}

func (p RetryPolicy) backoff(n int, random float64) time.Duration {
	d := p.Base
	for i := 1; i < n && d < p.Cap; i++ {
		d *= 2
	}
	d = min(d, p.Cap)
	if p.Jitter > 0 {
		d += time.Duration((2*random - 1) * p.Jitter * float64(d))
	}
	return d
}

// retryable lists what normal mode retries. See spec §4.7.6.
func retryable(code Code) bool {
	switch code {
	case EmptyResponse, RateLimit, Server, Timeout, Transport:
		return true
	default:
		return false
	}
}
