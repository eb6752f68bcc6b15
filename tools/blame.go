package tools

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// blame finds the deepest part of a value that does not fit its schema: the path of the field and what is wrong with
// it, both empty if it fits. The order is fixed, so equal arguments give equal messages.
func blame(schema *jsonschema.Schema, value any, path string) (field, problem string) {
	err := fits(schema, value)
	if err == nil {
		return "", ""
	}
	switch v := value.(type) {
	case map[string]any:
		field, problem = blameObject(schema, v, path)
	case []any:
		field, problem = blameItems(schema, v, path)
	}
	if problem == "" {
		field, problem = path, strings.TrimPrefix(err.Error(), "validating root: ")
	}
	return field, problem
}

func blameObject(schema *jsonschema.Schema, object map[string]any, path string) (field, problem string) {
	for _, name := range schema.Required {
		if _, ok := object[name]; !ok {
			return join(path, name), "required, but missing"
		}
	}
	for _, name := range sortedKeys(object) {
		part, known := schema.Properties[name]
		if !known && len(schema.PatternProperties) == 0 {
			part = schema.AdditionalProperties
		}
		if part == nil {
			continue
		}
		if !known && refusesAll(part) {
			return join(path, name), "unknown" + suggest(schema)
		}
		if field, problem = blame(part, object[name], join(path, name)); problem != "" {
			return field, problem
		}
	}
	return "", ""
}

func blameItems(schema *jsonschema.Schema, items []any, path string) (field, problem string) {
	if schema.Items == nil || len(schema.PrefixItems) > 0 {
		return "", ""
	}
	for i, item := range items {
		if field, problem = blame(schema.Items, item, fmt.Sprintf("%s[%d]", path, i)); problem != "" {
			return field, problem
		}
	}
	return "", ""
}

// fits checks one value against a part of a schema. A part that refers elsewhere counts as fitting: whoever holds the
// whole schema reports it.
func fits(part *jsonschema.Schema, value any) error {
	resolved, err := part.CloneSchemas().Resolve(nil)
	if err != nil {
		return nil
	}
	return resolved.Validate(value)
}

func refusesAll(s *jsonschema.Schema) bool {
	return fits(s, nil) != nil && fits(s, "") != nil && s.Not != nil
}

func suggest(schema *jsonschema.Schema) string {
	if len(schema.Properties) == 0 {
		return "; the tool takes no arguments"
	}
	return "; the tool takes " + strings.Join(sortedKeys(schema.Properties), ", ")
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
