package tools

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
)

// A Schema is a JSON Schema, ready to check values. Tools check their arguments by themselves; it is for other data that
// people write, such as the parameters of an agent.
type Schema struct {
	schema   *jsonschema.Schema
	resolved *jsonschema.Resolved
}

// ReadSchema reads a JSON Schema and resolves its references.
func ReadSchema(raw json.RawMessage) (*Schema, error) {
	s := &Schema{schema: new(jsonschema.Schema)}
	if err := json.Unmarshal(raw, s.schema); err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	var err error
	if s.resolved, err = s.schema.Resolve(nil); err != nil {
		return nil, fmt.Errorf("resolve the schema: %w", err)
	}
	return s, nil
}

// Check says what keeps a value from fitting, and names the field if it can.
func (s *Schema) Check(raw json.RawMessage) error {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return err
	}
	err := s.resolved.Validate(value)
	if err == nil {
		return nil
	}
	field, problem := blame(s.schema, value, "")
	switch {
	case problem == "":
		return err
	case field == "":
		return errors.New(problem)
	}
	return fmt.Errorf("%s: %s", field, problem)
}
