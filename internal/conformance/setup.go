package conformance

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/everturn/everturn/llm"
	"github.com/everturn/everturn/llm/scripted"
	"github.com/everturn/everturn/session"
	"github.com/everturn/everturn/signals"
)

// A setup is what the lines in front of a scenario's first act say.
type setup struct {
	script   scripted.Script
	tools    []*toolSpec
	gates    []*gateSpec
	points   []pointSpec
	messages map[string]session.Message
	panics   map[string]bool // notices whose listener panics
	system   string
	cap      int
	window   int
	retry    llm.RetryPolicy
	given    []string // lines of a log
	hooks    hooks
	private  map[string]string // agents by the tool that only they have
	routes   routes
	furniture
	pipeline pipeline
	stops    []stopSpec
	tasks    []taskSpec

	clientTools []signals.ClientTool // with which its agents are created

	kids   map[string]bool // agents that tools and hooks start
	holds  map[string]bool // of gates, tools, points and the store
	pauses map[string]bool // holds of the model
}

func newSetup() *setup {
	return &setup{messages: map[string]session.Message{}, panics: map[string]bool{}, kids: map[string]bool{}, holds: map[string]bool{}, pauses: map[string]bool{}}
}

// A gateSpec is what gates of one kind do at a place.
type gateSpec struct {
	kind, place string
	deeds       []deed
}

// A pointSpec holds an activity at a named point; pinned it stands there even if it is cancelled. Without a hold the first
// one to come fails there for good.
type pointSpec struct {
	name, place, hold string
	pin               bool
}

// line reads one line of the set-up.
func (s *setup) line(text string) error {
	head, value, ok := header(text)
	if !ok {
		return fmt.Errorf("a set-up line is `key: value`, an act begins with >, got %q", text)
	}
	args := strings.Fields(head)
	if len(args) == 0 {
		return fmt.Errorf("the key is missing in %q", text)
	}
	read, ok := settings[args[0]]
	if !ok {
		return fmt.Errorf("unknown key %q", args[0])
	}
	if err := read(s, args[1:], value); err != nil {
		return fmt.Errorf("%s: %w", args[0], err)
	}
	return nil
}

var settings = map[string]func(s *setup, args []string, value string) error{
	"model":    (*setup).model,
	"tool":     (*setup).tool,
	"gate":     (*setup).gate,
	"point":    (*setup).point,
	"message":  (*setup).say,
	"listener": (*setup).listener,
	"system":   func(s *setup, _ []string, value string) error { return json.Unmarshal([]byte(value), &s.system) },
	"cap":      func(s *setup, _ []string, value string) error { return json.Unmarshal([]byte(value), &s.cap) },
	"approval": (*setup).approvals,
	"plan":     (*setup).planFirst,
	"stopping": (*setup).stopping,
	"task":     (*setup).task,
	"max-result": func(s *setup, _ []string, value string) error {
		return json.Unmarshal([]byte(value), &s.pipeline.maxResult)
	},
	"client-tools":  func(s *setup, _ []string, value string) error { return json.Unmarshal([]byte(value), &s.clientTools) },
	"window":        func(s *setup, _ []string, value string) error { return json.Unmarshal([]byte(value), &s.window) },
	"retry":         (*setup).policy,
	"created":       birthHook("created"),
	"session-start": birthHook("session-start"),
	"private":       (*setup).privately,
	"route":         (*setup).route,
	"replacement":   (*setup).replacement,
	"agent":         (*setup).declare,
	"section":       telling("section"),
	"context":       telling("context"),
	"compaction":    (*setup).compact,
	"summary":       (*setup).summary,
	"tool-order":    func(s *setup, _ []string, value string) error { s.toolOrder = strings.Fields(value); return nil },
	"given":         func(s *setup, _ []string, value string) error { s.given = append(s.given, value); return nil },
}

var pause = regexp.MustCompile(`\bhold (\S+)`)

func (s *setup) model(_ []string, value string) error {
	a, err := scripted.ParseAnswer(value)
	if err != nil {
		return err
	}
	s.script = append(s.script, a)
	for _, m := range pause.FindAllStringSubmatch(value, -1) {
		s.pauses[m[1]] = true
	}
	return nil
}

func (s *setup) gate(args []string, value string) error {
	if len(args) != 2 {
		return fmt.Errorf("want `gate KIND PLACE: deeds`, such as `gate pre-step 1.1: reject`")
	}
	if slices.Contains(toolGates, args[0]) {
		return s.toolGate(args[0], args[1], value)
	}
	g := &gateSpec{kind: args[0], place: args[1]}
	switch g.kind {
	case "pre-step", "inner-pre-step", "request", "request-error", "stream":
	default:
		return fmt.Errorf("unknown kind %q: want pre-step, inner-pre-step, request, stream or request-error", g.kind)
	}
	if !place.MatchString(g.place) {
		return fmt.Errorf("%q is no place: want TURN.STEP, TURN.STEP/ATTEMPT or *", g.place)
	}
	var err error
	g.deeds, err = s.parseDeeds(strings.TrimPrefix(g.kind, "inner-"), &words{value})
	s.gates = append(s.gates, g)
	return err
}

var place = regexp.MustCompile(`^(\*|\d+\.\d+(/\d+)?)$`)

func (s *setup) point(args []string, value string) error {
	if value == "defect" && len(args) == 2 && place.MatchString(args[1]) {
		s.points = append(s.points, pointSpec{name: args[0], place: args[1]})
		return nil
	}
	w := &words{value}
	pin := w.take("pin")
	if len(args) != 2 || !place.MatchString(args[1]) || !pin && !w.take("hold") {
		return fmt.Errorf("want `point NAME PLACE: hold HOLD` or `pin HOLD`, such as `point step/settled 1.1: hold p`")
	}
	name, err := w.bare("the name of the hold")
	if err != nil {
		return err
	}
	s.holds[name] = true
	s.points = append(s.points, pointSpec{args[0], args[1], name, pin})
	return w.end()
}

// listener lets the listener of a notice fail.
func (s *setup) listener(args []string, value string) error {
	if len(args) == 0 || len(args) > 2 || value != "panic" {
		return fmt.Errorf("want `listener NOTICE: panic` or `listener EVENT TURN: panic`, such as `listener agent/status: panic`")
	}
	s.panics[strings.Join(args, " ")] = true
	return nil
}

// policy reads `base=1ms retries=2 cap=1s mode=always`. Delays do not vary.
func (s *setup) policy(_ []string, value string) (err error) {
	s.retry.Jitter = -1
	for _, f := range strings.Fields(value) {
		key, v, _ := strings.Cut(f, "=")
		switch key {
		case "base":
			s.retry.Base, err = time.ParseDuration(v)
		case "cap":
			s.retry.Cap, err = time.ParseDuration(v)
		case "retries":
			err = json.Unmarshal([]byte(v), &s.retry.Retries)
		case "mode":
			s.retry.Mode = v
		default:
			return fmt.Errorf("unknown word %q: want base=, cap=, retries= or mode=", f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
