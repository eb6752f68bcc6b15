package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"
)

// A contract is the arguments schema of a tool, ready to check calls.
type contract struct {
	tool     string
	schema   *jsonschema.Schema
	resolved *jsonschema.Resolved
}

// contractOf settles the schema of a tool: the one it was given, else the one of its Go type.
func contractOf[In any](t *Tool) (*contract, error) {
	schema := new(jsonschema.Schema)
	if t.Parameters == nil {
		derived, err := derive[In]()
		if err != nil {
			return nil, err
		}
		if t.Parameters, err = json.Marshal(derived); err != nil {
			return nil, fmt.Errorf("write the arguments schema: %w", err)
		}
	}
	if err := json.Unmarshal(t.Parameters, schema); err != nil {
		return nil, fmt.Errorf("read the arguments schema: %w", err)
	}
	if schema.Type != "object" {
		return nil, fmt.Errorf("arguments of type %v are not an object; use a struct", reflect.TypeFor[In]())
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("resolve the arguments schema: %w", err)
	}
	return &contract{t.Name, schema, resolved}, nil
}

// derive takes the schema from the Go type. Bytes travel as base64 text and raw JSON is anything, as encoding/json has
// it.
func derive[In any]() (*jsonschema.Schema, error) {
	in := reflect.TypeFor[In]()
	for in.Kind() == reflect.Pointer {
		in = in.Elem()
	}
	schema, err := jsonschema.ForType(in, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[[]byte]():          {Type: "string", ContentEncoding: "base64"},
		reflect.TypeFor[json.RawMessage](): {},
	}})
	if err != nil {
		return nil, fmt.Errorf("no arguments schema for %v: %w", in, err)
	}
	if in.Kind() == reflect.Struct && schema.Properties == nil {
		schema.Properties = map[string]*jsonschema.Schema{} // some providers insist on the keyword
	}
	return schema, nil
}

// check tells whether args fit the schema and decode into In, and names the field that does not.
func check[In any](c *contract, args json.RawMessage) error {
	var value any
	if err := json.Unmarshal(args, &value); err != nil {
		return invalidArgs(c.tool, "", "not valid JSON: "+clip(string(args)), err)
	}
	if err := c.resolved.Validate(value); err != nil {
		field, problem := blame(c.schema, value, "")
		if problem == "" {
			problem = err.Error()
		}
		return invalidArgs(c.tool, field, clip(problem), err)
	}
	if err := json.Unmarshal(args, new(In)); err != nil {
		return invalidArgs(c.tool, undecodable[In](args, err), clip(err.Error()), err)
	}
	return nil
}

// undecodable names the argument that fits the schema but not the Go type.
func undecodable[In any](args json.RawMessage, err error) string {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) && wrong.Field != "" {
		return wrong.Field
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(args, &fields) != nil {
		return ""
	}
	for _, name := range sortedKeys(fields) {
		one, _ := json.Marshal(map[string]json.RawMessage{name: fields[name]}) // valid JSON stays valid
		if json.Unmarshal(one, new(In)) != nil {
			return name
		}
	}
	return ""
}
