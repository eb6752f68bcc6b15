package conformance

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"
)

// A watch is one thing that must be seen.
type watch struct {
	pos   pos
	last  int    // its last line
	key   string // what stands in front of what is wanted
	want  string
	waits bool // it may take a moment to come
	lags  bool // even after the agent has become idle
	// look returns what is to be seen now, in the words of the file.
	look    func(ctx context.Context, r *run) (string, error)
	compare func(got string) verdict // nil asks for the same words
	then    func(r *run, got string) // after it was seen
}

// watches are the kinds of watches by their key. The parser takes the other words of the key and the value.
var watches = map[string]func(args []string, value string) (*watch, error){
	"nothing":      parseNothing,
	"status":       parseStatus,
	"status-trace": parseStatusTrace,
	"receipt":      parseReceipt,
	"refused":      parseRefused,
	"fails":        parseFails,
	"requests":     parseRequests,
	"request":      parseRequest,
	"notices":      parseNotices,
	"surface":      parseSurface,
	"history":      parseHistory,
	"inbox":        parseInbox,
	"tools":        parseTools,
	"gate":         parseGateLog,
	"frames":       parseFrames,
	"data":         parseData,
	"cites":        parseCites,
	"deltas":       parseDeltas,
	"seqs":         parseSeqs,
	"waiting":      parseWaiting,
	"request-data": parseRequestData,
	"rebuilt":      parseRebuilt,
	"mentions":     parseMentions,
	"published":    parsePublished,
	"kept":         parseKept,
	"account":      parseAccount,
	"header":       parseHeader,
	"announced":    parseAnnounced,
	"pending":      parsePending,
	"message":      parseMessage,
	"logged":       parseLogged,
	"born":         parseBorn,
	"unborn":       parseUnborn,
	"listed":       parseListed(false),
	"roots":        parseListed(true),
	"calls":        parseCalls,
	"deferred":     parseDeferred,
	"owns":         parseOwned,
	"ended":        parseEnds,
	"result":       parseResult,
	"shown":        parseShown,
	"sent":         parseSent,
	"stored":       parseStored,
	"index":        parseIndex,
}

// parseWatch reads one line.
func parseWatch(line string) (*watch, error) {
	if isTrace(line) {
		return traceWatch(line)
	}
	head, value, _ := header(line)
	args := strings.Fields(head)
	if len(args) == 0 {
		return nil, fmt.Errorf("what is to be seen is missing in %q", line)
	}
	parse, ok := watches[args[0]]
	if !ok {
		return nil, fmt.Errorf("unknown observation %q", args[0])
	}
	w, err := parse(args[1:], value)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", args[0], err)
	}
	return w, nil
}

// look is tried again after growing pauses.
const (
	firstPause = time.Millisecond
	longPause  = 50 * time.Millisecond
)

// check looks until what is wanted is there, cannot come any more, or patience ends.
func (w *watch) check(ctx context.Context, r *run) error {
	deadline := time.Now().Add(r.patience)
	for pause := firstPause; ; pause = min(2*pause, longPause) {
		got, err := w.look(ctx, r)
		if err != nil {
			return fmt.Errorf("%s: %w", w.title(), err)
		}
		v := w.judge(got)
		switch {
		case v == holds && w.then != nil:
			w.then(r, got)
			return nil
		case v == holds:
			return nil
		case v == differs || !w.waits || r.settled && !w.lags || time.Now().After(deadline):
			return w.mismatch(got)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", w.mismatch(got), ctx.Err())
		}
	}
}

func (w *watch) judge(got string) verdict {
	switch {
	case w.compare != nil:
		return w.compare(got)
	case got == w.want:
		return holds
	default:
		return comes
	}
}

func (w *watch) mismatch(got string) error {
	return fmt.Errorf("%s: want %s, got %s", w.title(), cmp.Or(w.want, "nothing"), cmp.Or(got, "nothing"))
}

func (w *watch) title() string {
	if w.key == "" {
		return "log"
	}
	return strings.TrimSuffix(w.key, ":")
}

// lines are how the watch stands in a file with something else wanted. A log that gained something is no longer nothing,
// and the other way round.
func (w *watch) lines(want string) []string {
	switch {
	case w.key == "nothing" || w.key == "" && want != "":
		return brokenTrace(want)
	case w.key == "":
		return []string{"nothing"}
	default:
		return []string{w.key + " " + want}
	}
}

// traceWatch wants the log to have gained exactly this.
func traceWatch(line string) (*watch, error) {
	want, err := parseTrace(line)
	if err != nil {
		return nil, err
	}
	return &watch{want: strings.Join(strings.Fields(line), " "), waits: true,
		look: func(ctx context.Context, r *run) (string, error) {
			got, err := r.gain(ctx)
			return join(got), err
		},
		compare: func(got string) verdict { return matches(want, got) },
		then:    func(r *run, got string) { r.seen += length(got) },
	}, nil
}

// parseNothing wants the log to have gained nothing.
func parseNothing(_ []string, _ string) (*watch, error) {
	return &watch{key: "nothing", want: "", look: func(ctx context.Context, r *run) (string, error) {
		gain, err := r.gain(ctx)
		return join(gain), err
	}}, nil
}

// brokenTrace breaks a long trace in front of turns and steps.
func brokenTrace(trace string) []string {
	const width = 110
	if len(trace) <= width {
		return []string{trace}
	}
	var out []string
	line := ""
	for _, e := range fields(trace) {
		begins := strings.HasPrefix(e, "TS") || strings.HasPrefix(e, "SS")
		if line != "" && (begins || len(line)+len(e) > width) {
			out = append(out, line)
			line = ""
		}
		line = strings.TrimSpace(line + " " + e)
	}
	return append(out, line)
}
