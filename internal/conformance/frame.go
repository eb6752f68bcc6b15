package conformance

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/everturn/everturn/internal/stream"
	"github.com/everturn/everturn/session"
)

// frames collects the live feed of an agent.
type frames struct {
	cancel context.CancelFunc
	done   sync.WaitGroup
	mu     sync.Mutex
	all    []stream.Frame
}

func watchFrames(b stream.Broker, session string) *frames {
	ctx, cancel := context.WithCancel(context.Background())
	f := &frames{cancel: cancel}
	feed := b.Subscribe(ctx, session)
	f.done.Go(func() {
		for frame := range feed {
			f.mu.Lock()
			f.all = append(f.all, frame)
			f.mu.Unlock()
		}
	})
	return f
}

func (f *frames) stop() {
	f.cancel()
	f.done.Wait()
}

func (f *frames) list() []stream.Frame {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]stream.Frame{}, f.all...)
}

// parseFrames reads `frames TURN.STEP/ATTEMPT: start chunk×4 end(AM)`. The end names the event that it says the attempt
// was settled with.
func parseFrames(args []string, value string) (*watch, error) {
	if len(args) != 1 || !place.MatchString(args[0]) {
		return nil, fmt.Errorf("want `frames TURN.STEP/ATTEMPT: frames`")
	}
	w, err := arriving(named("frames "+args[0]+":", value, func(ctx context.Context, r *run) (string, error) {
		records, err := r.log(ctx)
		if err != nil {
			return "", err
		}
		return frameWords(args[0], r.frames.list(), records), nil
	}))
	if w != nil {
		w.lags = true
	}
	return w, err
}

func frameWords(at string, all []stream.Frame, records []session.Record) string {
	var out []string
	chunks := 0
	flush := func() {
		if chunks > 0 {
			out = append(out, fmt.Sprintf("chunk×%d", chunks))
		}
		chunks = 0
	}
	for _, f := range all {
		if f.Kind == stream.KindNotice || !fits(at, f.Turn, f.Step, f.Attempt) {
			continue
		}
		if f.Kind == stream.KindChunk {
			chunks++
			continue
		}
		flush()
		out = append(out, frameWord(f, records))
	}
	flush()
	if out == nil {
		return "none"
	}
	return strings.Join(out, " ")
}

func frameWord(f stream.Frame, records []session.Record) string {
	switch {
	case f.Kind != stream.KindEnd:
		return string(f.Kind)
	case f.Outcome == nil || f.Outcome.Kind != stream.Committed:
		return "end(abandoned)"
	case f.Outcome.Seq >= int64(len(records)):
		return "end(not yet)"
	}
	r := records[f.Outcome.Seq]
	if r.Event.Type() != f.Outcome.EventType {
		return fmt.Sprintf("end(%s, but the log has %s)", f.Outcome.EventType, r.Event.Type())
	}
	return fmt.Sprintf("end(%s)", entries(records)[f.Outcome.Seq])
}
