package signals

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/everturn/everturn/session"
)

// MaxResult bounds the result of a call inside a signal or update, in bytes; a larger one is stored first.
const MaxResult = 64 << 10

// DecodeDecision reads the payload of approve and deny: an object, or just the id as a JSON string.
func DecodeDecision(act string, raw []byte) (Decision, error) {
	d, err := decodeID(act, raw, func(id string) Decision { return Decision{ID: id} })
	switch {
	case err != nil:
	case d.ID == "":
		err = fmt.Errorf("%s: id is missing", act)
	case act == DenyCall && (len(d.Arguments) > 0 || d.Remember != nil):
		err = fmt.Errorf("%s: arguments and remember go with %s", act, Approve)
	case act == Approve && d.Remember != nil && d.Remember.UntilMS < 0:
		err = fmt.Errorf("%s: remember: untilMs is %d: use a time in Unix ms, or leave it out for no end", act, d.Remember.UntilMS)
	case len(d.Arguments) > MaxInline:
		err = fmt.Errorf("%s: arguments are %d bytes; at most %d are taken", act, len(d.Arguments), MaxInline)
	case len(d.Arguments) > 0 && !isObject(d.Arguments):
		err = fmt.Errorf("%s: arguments must be an object", act)
	case len(d.Arguments) > 0 && d.Remember != nil:
		err = fmt.Errorf("%s: a call whose arguments are changed cannot be remembered: leave one of them out", act)
	case d.Remember != nil && d.Remember.Any && len(d.Remember.Args) > 0:
		err = fmt.Errorf("%s: remember: use any or args", act)
	}
	return d, err
}

// decodeID reads an object, or just an id as a JSON string.
func decodeID[T any](act string, raw []byte, of func(id string) T) (T, error) {
	if t := bytes.TrimSpace(raw); len(t) > 0 && t[0] == '"' {
		id, err := decode[string](act, raw)
		return of(id), err
	}
	return decode[T](act, raw)
}

func isObject(raw []byte) bool {
	t := bytes.TrimSpace(raw)
	return len(t) > 0 && t[0] == '{'
}

// maxAnswers bounds the answers of one act, encoded.
const maxAnswers = 16 << 10

// DecodeAnswers reads the payload of answer.
func DecodeAnswers(raw []byte) (Answers, error) {
	a, err := decode[Answers](AnswerAsked, raw)
	switch {
	case err != nil:
	case a.ID == "":
		err = fmt.Errorf("%s: id is missing", AnswerAsked)
	case len(a.Answers) == 0:
		err = fmt.Errorf("%s: answers are missing: give one per question, or {\"skip\": true}", AnswerAsked)
	case len(raw) > maxAnswers:
		err = fmt.Errorf("%s: the payload is %d bytes; at most %d are taken", AnswerAsked, len(raw), maxAnswers)
	}
	return a, err
}

// DecodeResult reads the payload of result.
func DecodeResult(raw []byte) (CallResult, error) {
	r, err := decode[CallResult](GiveResult, raw)
	if err != nil {
		return r, err
	}
	return r, r.Validate()
}

// Validate names the first field that is wrong and how to mend it.
func (r CallResult) Validate() error {
	set := 0
	for _, is := range []bool{r.Text != "", len(r.Value) > 0, len(r.Content) > 0, r.Body != nil} {
		if is {
			set++
		}
	}
	n := len(r.Text) + len(r.Value)
	if raw, err := json.Marshal(r.Content); err == nil && len(r.Content) > 0 {
		n = len(raw)
	}
	switch {
	case r.ID == "":
		return fmt.Errorf("%s: id is missing", GiveResult)
	case set > 1:
		return fmt.Errorf("%s: set one of text, value, content and body (%d are set)", GiveResult, set)
	case n > MaxResult:
		return fmt.Errorf("%s: the result is %d bytes; at most %d fit into a signal: store it first", GiveResult, n, MaxResult)
	case r.Body != nil && (r.Body.SHA256 == "" || r.Body.Bytes > MaxBody):
		return fmt.Errorf("%s: body must name a stored object of at most %d bytes", GiveResult, MaxBody)
	case standsForBody(r.Content):
		return fmt.Errorf("%s: content must not hold an artifact of type %s: use body", GiveResult, session.StoredContent)
	}
	return nil
}

// Result is the content of a result that is no value.
func (r CallResult) Result() session.Content {
	switch {
	case r.Body != nil:
		body := *r.Body
		body.MediaType = session.StoredContent
		return session.Content{body}
	case len(r.Content) > 0:
		return r.Content
	default:
		return session.TextContent(r.Text)
	}
}

// DecodePolicy reads the payload of policy: an object, or just the mode as a JSON string.
func DecodePolicy(raw []byte) (Policy, error) {
	p, err := decodeID(SetPolicy, raw, func(mode string) Policy { return Policy{Mode: mode} })
	if err != nil {
		return p, err
	}
	if p.Mode == "" && len(p.Allow) == 0 && len(p.Revoke) == 0 {
		return p, errors.New("policy: nothing is said: give mode, allow or revoke")
	}
	switch p.Mode {
	case "", PolicyAsk, PolicyAllowList, PolicyNever, PolicyAlways:
	default:
		return p, fmt.Errorf("policy: mode %.40q is unknown: use %s, %s, %s or %s", p.Mode, PolicyAsk, PolicyAllowList, PolicyNever, PolicyAlways)
	}
	for i, r := range p.Allow {
		if r.Tool == "" || r.ID != "" {
			return p, fmt.Errorf("policy: rule %d of allow: name a tool, and leave the id out: it is given", i+1)
		}
		if r.UntilMS < 0 {
			return p, fmt.Errorf("policy: rule %d of allow: untilMs is %d: use a time in Unix ms, or leave it out for no end", i+1, r.UntilMS)
		}
	}
	return p, nil
}

// DecodePlan reads the payload of plan: an object, or "on" or "off" as a JSON string; nothing means on.
func DecodePlan(raw []byte) (Plan, error) {
	word := ""
	p, err := decodeID(PlanMode, raw, func(text string) Plan { word = text; return Plan{On: text == "on"} })
	switch {
	case err != nil:
	case word != "" && word != "on" && word != "off":
		err = fmt.Errorf("%s: %.40q is neither on nor off", PlanMode, word)
	case len(bytes.TrimSpace(raw)) == 0:
		p.On = true
	}
	return p, err
}

// Patterns are what a rule says about arguments: an object on the wire, `{"path": "docs/*"}`. `*` stands for any text, a
// value that is no string is compared as JSON.
type Patterns []Pattern

// A Pattern is about one argument.
type Pattern struct{ Arg, Pattern string }

// MarshalJSON writes the object.
func (p Patterns) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for i, one := range p {
		if i > 0 {
			out = append(out, ',')
		}
		name, err := json.Marshal(one.Arg)
		if err != nil {
			return nil, err
		}
		pattern, err := json.Marshal(one.Pattern)
		if err != nil {
			return nil, err
		}
		out = slices.Concat(out, name, []byte{':'}, pattern)
	}
	return append(out, '}'), nil
}

// UnmarshalJSON reads it, in its order.
func (p *Patterns) UnmarshalJSON(raw []byte) error {
	if string(raw) == "null" {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return errors.New("args must be an object: a pattern for each argument")
	}
	*p = nil
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		var one string
		if err := dec.Decode(&one); err != nil {
			return fmt.Errorf("args: the pattern for %v must be a string: %w", name, err)
		}
		if name == "" {
			return errors.New("args: the name of an argument is empty")
		}
		*p = append(*p, Pattern{Arg: fmt.Sprint(name), Pattern: one})
	}
	return nil
}
