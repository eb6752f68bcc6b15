package work

import (
	"bytes"
	"encoding/json"
	"strings"
)

// A Rule lets calls run without asking: those of one tool whose digest, or whose arguments, fit. Without either it is any
// call of the tool.
type Rule struct {
	ID      string       `json:"id,omitempty"` // given when it is remembered
	Tool    string       `json:"tool"`
	Digest  string       `json:"digest,omitempty"`
	Args    []ArgPattern `json:"args,omitempty"`
	UntilMS int64        `json:"untilMs,omitempty"` // Unix ms; 0 means without end
	By      string       `json:"by,omitempty"`
}

// An ArgPattern is about one argument, by its name at the top of the arguments. In Pattern `*` stands for any text, a
// path's slashes included; a value that is no string is compared as JSON.
type ArgPattern struct {
	Name    string `json:"name"`
	Pattern string `json:"pattern"`
}

// Lasts reports whether the rule counts at nowMS.
func (r Rule) Lasts(nowMS int64) bool { return r.UntilMS == 0 || nowMS < r.UntilMS }

// Fits reports whether the rule is about a call. Arguments are the model's raw text; a call whose arguments are not at
// hand, or whose names could be read in two ways, fits no pattern.
func (r Rule) Fits(tool, digest, arguments string) bool {
	if r.Tool != tool || r.Digest != "" && r.Digest != digest {
		return false
	}
	if len(r.Args) == 0 {
		return true
	}
	values, ok := topLevel(arguments)
	for _, p := range r.Args {
		text, there := values.get(p.Name)
		ok = ok && there && like(p.Pattern, text)
	}
	return ok
}

// arg is a top-level argument as patterns see it.
type arg struct{ name, text string }

type args []arg

func (a args) get(name string) (string, bool) {
	for _, v := range a {
		if v.name == name {
			return v.text, true
		}
	}
	return "", false
}

// has reports a name that is read as another one's by whoever does not mind the case, as Go does.
func (a args) has(name string) bool {
	for _, v := range a {
		if strings.EqualFold(v.name, name) {
			return true
		}
	}
	return false
}

// topLevel are the arguments; not ok unless they are one object in which no two names could mean the same.
func topLevel(raw string) (out args, ok bool) {
	dec := json.NewDecoder(strings.NewReader(raw))
	dec.UseNumber()
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return nil, false
	}
	for dec.More() {
		name, err := dec.Token()
		text, isName := name.(string)
		var value json.RawMessage
		if err != nil || !isName || out.has(text) || dec.Decode(&value) != nil {
			return nil, false
		}
		out = append(out, arg{text, valueText(value)})
	}
	_, err := dec.Token()
	return out, err == nil && strings.TrimSpace(raw[dec.InputOffset():]) == ""
}

// valueText is a string's value, and the compact JSON of anything else.
func valueText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil && raw[0] == '"' {
		return s
	}
	var compact bytes.Buffer
	if json.Compact(&compact, raw) != nil {
		return string(raw)
	}
	return compact.String()
}

// like matches a text against a pattern in which `*` stands for any text.
func like(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	rest, ok := strings.CutPrefix(text, parts[0])
	if !ok {
		return false
	}
	if len(parts) == 1 {
		return rest == ""
	}
	last := parts[len(parts)-1]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return strings.HasSuffix(rest, last)
}
