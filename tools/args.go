package tools

import (
	"bytes"
	"encoding/json"
)

// ParseArguments applies the arguments rule of spec §4.8 to the raw text of a model's call: empty text is `{}`, valid
// JSON is itself, anything else is passed on as it came, with valid false. It never fails.
func ParseArguments(raw string) (args json.RawMessage, valid bool) {
	text := bytes.TrimSpace([]byte(raw))
	if len(text) == 0 {
		return json.RawMessage("{}"), true
	}
	if !json.Valid(text) {
		return json.RawMessage(raw), false
	}
	return text, true
}
