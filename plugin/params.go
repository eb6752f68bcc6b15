package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/everturn/everturn/tools"
)

// CheckParams says what is wrong with the parameters of an agent: they are a JSON object, and fit [Definition.Params] if
// there is one. Absent parameters count as an empty object. See architecture A3.12.
func (d *Definition) CheckParams(raw json.RawMessage) error {
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	if !json.Valid(raw) {
		return errors.New("not valid JSON")
	}
	if bytes.TrimSpace(raw)[0] != '{' {
		return errors.New("not a JSON object")
	}
	if d.Params == nil {
		return nil
	}
	schema, err := tools.ReadSchema(d.Params)
	if err != nil {
		return err
	}
	return schema.Check(raw)
}

// CheckText reports the first {{reference}} in a text that is malformed or that no variable answers. See spec §8.1.
func (d *Definition) CheckText(text string) error {
	_, err := substitute(text, func(name string) (string, error) {
		switch name {
		case "provider", "model", "cwd":
			return "", nil
		}
		if d.Variables[name] == nil {
			return "", fmt.Errorf("unknown variable %q (the definition has none of this name)", name)
		}
		return "", nil
	})
	return err
}
