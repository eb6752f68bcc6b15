package builtin

import (
	"context"
	"fmt"
	"time"
	_ "time/tzdata" // a container without a zone database still knows the zones

	"github.com/everturn/everturn/tools"
)

type echoArgs struct {
	Text string `json:"text" jsonschema:"the text to return"`
}

// Echo returns its text. It is pure and parallel.
func Echo() *tools.Tool {
	echo := func(_ context.Context, in echoArgs) (string, error) { return in.Text, nil }
	return tools.Must(tools.New("echo", "Returns the given text unchanged.", echo,
		tools.ParallelSafe(), tools.WithEffect(tools.Pure)))
}

type nowArgs struct {
	Zone string `json:"zone,omitempty" jsonschema:"IANA time zone such as Europe/Paris; UTC if absent"`
}

// Now tells the time as RFC 3339 text, in UTC or in a named zone. A nil clock is time.Now. It is pure and parallel.
func Now(clock func() time.Time) *tools.Tool {
	if clock == nil {
		clock = time.Now
	}
	now := func(_ context.Context, in nowArgs) (string, error) {
		zone, err := zoneOf(in.Zone)
		if err != nil {
			return "", err
		}
		return clock().In(zone).Format(time.RFC3339), nil
	}
	return tools.Must(tools.New("now", "Tells the current date and time (RFC 3339).", now,
		tools.ParallelSafe(), tools.WithEffect(tools.Pure)))
}

// zoneOf knows no "Local": the worker's own zone means nothing to whoever asks.
func zoneOf(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err != nil || zone == time.Local {
		return nil, tools.Coded("ZoneError", "UNKNOWN_ZONE", fmt.Sprintf("unknown time zone %q; use an IANA name such as Europe/Paris", name))
	}
	return zone, nil
}
