package vendor

import (
	"math"
	"net/http"
	"strconv"
	"time"
)

// retryAfter is how long the vendor asks to be left alone, in milliseconds; 0 if it does not.
func retryAfter(h http.Header) int64 {
	if ms, ok := number(h.Get("Retry-After-Ms")); ok {
		return ms
	}
	if s, ok := number(h.Get("Retry-After")); ok {
		return s * 1000
	}
	at, err := http.ParseTime(h.Get("Retry-After"))
	if err != nil {
		return 0
	}
	return max(0, at.Sub(serverNow(h)).Milliseconds())
}

// number reads a count that is not negative; fractions are rounded up, absurd counts are cut at a year's seconds.
func number(s string) (int64, bool) {
	n, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(n) || n < 0 {
		return 0, false
	}
	const most = 366 * 24 * 3600
	return int64(min(math.Ceil(n), most)), true
}

// serverNow is the response's own date, so that a wrong clock on either side does no harm.
func serverNow(h http.Header) time.Time {
	if at, err := http.ParseTime(h.Get("Date")); err == nil {
		return at
	}
	return time.Now()
}
