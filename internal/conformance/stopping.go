package conformance

import (
	"context"
	"fmt"
	"regexp"
	"slices"

	"github.com/everturn/everturn/plugin"
)

// A stopSpec is what a listener of the end of turns does there.
type stopSpec struct {
	listener, place string
	deeds           []deed
}

// TURN.N, or *.
var stopPlace = regexp.MustCompile(`^(\*|\d+\.\d+)$`)

// stopping reads `stopping LISTENER TURN.N: deeds`, N being how often this turn was about to end.
func (s *setup) stopping(args []string, value string) error {
	if len(args) != 2 || !stopPlace.MatchString(args[1]) {
		return fmt.Errorf("want `stopping LISTENER TURN.N: deeds` or `stopping LISTENER *: deeds`")
	}
	deeds, err := s.parseDeeds("stopping", &words{value})
	s.stops = append(s.stops, stopSpec{args[0], args[1], deeds})
	return err
}

// listenToStops registers the listeners in the order in which they are first named.
func (w *world) listenToStops(d *plugin.Definition) {
	var names []string
	for _, s := range w.stops {
		if !slices.Contains(names, s.listener) {
			names = append(names, s.listener)
			d.TurnStopping = append(d.TurnStopping, w.stop(s.listener))
		}
	}
}

func (w *world) stop(listener string) plugin.Hook {
	return func(ctx context.Context, m plugin.Moment) error {
		w.gateLog.add("stopping", fmt.Sprintf("%s:%d.%d", listener, m.View.Turn, m.N))
		for _, s := range w.stops {
			if s.listener != listener || !fits(s.place, m.View.Turn, m.N, 0) {
				continue
			}
			for _, d := range s.deeds {
				if _, err := w.common(ctx, d); err != nil {
					return err
				}
			}
		}
		return nil
	}
}
