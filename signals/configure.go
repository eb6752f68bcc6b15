package signals

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/everturn/everturn/session"
)

// A Change is what becomes of one field: the zero Change leaves it as it is, [To] gives it a value, [Back] gives it back to
// the definition.
type Change[T any] struct {
	Value *T // nil: back to the definition's
	set   bool
}

// To gives the field a value.
func To[T any](v T) Change[T] { return Change[T]{Value: &v, set: true} }

// Back gives the field back to the definition.
func Back[T any]() Change[T] { return Change[T]{set: true} }

// IsZero reports whether the field stays as it is.
func (c Change[T]) IsZero() bool { return !c.set && c.Value == nil }

// MarshalJSON implements [json.Marshaler].
func (c Change[T]) MarshalJSON() ([]byte, error) { return json.Marshal(c.Value) }

// UnmarshalJSON implements [json.Unmarshaler]; it is not called for an absent field.
func (c *Change[T]) UnmarshalJSON(raw []byte) error {
	c.set = true
	return json.Unmarshal(raw, &c.Value)
}

// Patch is the change as the worker of the agent gets it: an object without the request.
func (c Configure) Patch() json.RawMessage {
	c.RequestID = ""
	raw, err := json.Marshal(c)
	if err != nil {
		return json.RawMessage("null") // a raw value that is not JSON: refused by the worker
	}
	return raw
}

// DecodeConfigure reads the payload of configure. What the values may be, the definition says.
func DecodeConfigure(raw []byte) (Configure, error) {
	c, err := decode[Configure](ConfigureAct, raw)
	if err != nil {
		return c, err
	}
	switch raw = bytes.TrimSpace(raw); {
	case string(c.Patch()) == "{}":
		return c, fmt.Errorf("%s: say what to change, as in {\"model\": …}; definition, cwd and parent belong to the session", ConfigureAct)
	case len(raw) > MaxRecorded:
		return c, fmt.Errorf("%s: the change takes %d bytes; at most %d are taken", ConfigureAct, len(raw), MaxRecorded)
	case c.RequestID != "" && !session.ValidID(c.RequestID):
		return c, fmt.Errorf("%s: requestId must be 1–200 characters without control characters", ConfigureAct)
	}
	return c, nil
}
