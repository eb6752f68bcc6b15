package llm

import (
	"fmt"
	"io"
)

// A Secret is a credential that does not print. The text is behind a function, so neither fmt, nor a JSON encoder, nor
// a debugger's dump of the struct shows it. The zero value is no secret.
type Secret struct {
	reveal func() string
}

// NewSecret hides a text. An empty text is no secret.
func NewSecret(text string) Secret {
	if text == "" {
		return Secret{}
	}
	return Secret{reveal: func() string { return text }}
}

// IsZero reports whether there is no secret.
func (s Secret) IsZero() bool { return s.reveal == nil }

// Reveal returns the text. Call it where the text is used, and do not keep what it returns.
func (s Secret) Reveal() string {
	if s.reveal == nil {
		return ""
	}
	return s.reveal()
}

// String says whether there is a secret.
func (s Secret) String() string {
	if s.IsZero() {
		return "[no secret]"
	}
	return "[secret]"
}

// Format prints the same for every verb.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText writes what String says.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
