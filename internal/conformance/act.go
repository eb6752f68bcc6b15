package conformance

import (
	"context"
	"fmt"

	"github.com/everturn/everturn/signals"
)

// An act is what a line with > does.
type act func(ctx context.Context, r *run) outcome

// acts are the acts by their first word. The parser of each takes the rest of the line.
var acts = map[string]func(s *setup, w *words) (act, error){
	signals.Followup: sending(signals.Followup),
	signals.Steer:    sending(signals.Steer),
	signals.Inject:   sending(signals.Inject),
	"send":           sending(signals.SendTo),
	"cancel":         one(parseCancel),
	"remove":         one(parseRemove),
	"replace":        one(parseReplace),
	"clear":          one(parseClear),
	"promote":        one(parsePromote),
	"reorder":        one(parseReorder),
	"batch":          parseBatch,
	"signal":         parseSignal,
	"direct":         parseDirect,
	"raw":            parseRaw,
	"again":          parseAgain,
	"idle":           parseIdle,
	"wait":           parseWait,
	"join":           parseJoin,
	"until":          parseUntil,
	"release":        parseRelease,
	"look":           func(*setup, *words) (act, error) { return quiet((*run).nothing), nil },
	"dispose":        func(*setup, *words) (act, error) { return quiet((*run).dispose), nil },
	"disposing":      func(*setup, *words) (act, error) { return quiet((*run).disposing), nil },
	"create":         parseCreate,
	"creating":       func(*setup, *words) (act, error) { return quiet((*run).creating), nil },
	"call-off":       func(*setup, *words) (act, error) { return quiet((*run).callOff), nil },
	"created":        func(*setup, *words) (act, error) { return quiet((*run).created), nil },
	"meet":           parseMeet,
	"leaving":        parseLeaving,
	"left":           parseLeft,
	"terminate":      func(*setup, *words) (act, error) { return quiet((*run).terminate), nil },
	"stale":          func(*setup, *words) (act, error) { return quiet((*run).stale), nil },
	"worker":         parseWorker,
	"clock":          parseClock,
	"resume":         func(*setup, *words) (act, error) { return quiet((*run).resume), nil },
	"fork":           parseFork,
	"export":         func(*setup, *words) (act, error) { return quiet((*run).export), nil },
	"import":         parseImport,
	"configure":      parseConfigure,
	"fault":          parseFault,
	"mend":           func(*setup, *words) (act, error) { return quiet((*run).mend), nil },
	"rebuild":        parseRebuild,
	"append":         parseAppend,
	"scatter":        parseScatter,
	"take":           func(*setup, *words) (act, error) { return quiet((*run).take), nil },
	"keep":           func(*setup, *words) (act, error) { return quiet((*run).keep), nil },
	"replay":         func(*setup, *words) (act, error) { return quiet((*run).replay), nil },
	"approve":        parseDecision(true),
	"deny":           parseDecision(false),
	"approvals":      parseApprovals,
	"answer":         parseAnswer,
	"give":           parseGive,
	"maintain":       parseMaintain,
	"maintained":     parseMaintained,
	"set":            parseSet,
	"swap":           parseSwap,
	"lend":           parseLend,
	"attempt":        parseAttempt,
}

// parseAct reads an act.
func (s *setup) parseAct(text string) (act, error) {
	w := &words{text}
	name, err := w.bare("an act")
	if err != nil {
		return nil, err
	}
	parse, ok := acts[name]
	if !ok {
		return nil, fmt.Errorf("unknown act %q", name)
	}
	a, err := parse(s, w)
	if err == nil {
		err = w.end()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return func(ctx context.Context, r *run) outcome {
		if name == "rebuild" || name == "configure" || name == "fault" || name == "attempt" || offline[name] {
			return a(ctx, r)
		}
		if err := r.open(ctx); err != nil {
			return outcome{err: err}
		}
		return a(ctx, r)
	}, nil
}

// quiet is an act without a receipt.
func quiet(do func(*run, context.Context) error) act {
	return func(ctx context.Context, r *run) outcome { return outcome{err: do(r, ctx)} }
}

func (r *run) nothing(context.Context) error { return nil }
