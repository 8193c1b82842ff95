package auth

import (
	"fmt"
	"log/slog"
)

const redacted = "[redacted]"

// Secret holds a password, token or key from the moment it is read. It prints, logs and marshals as
// "[redacted]"; Reveal is called only where the bytes leave the process.
type Secret struct{ v *string }

// NewSecret wraps s.
func NewSecret(s string) Secret { return Secret{v: &s} }

// IsZero reports whether no secret was set. A set but empty secret is not zero.
func (s Secret) IsZero() bool { return s.v == nil }

// Reveal returns the secret itself, "" if none was set.
func (s Secret) Reveal() string {
	if s.v == nil {
		return ""
	}
	return *s.v
}

// Format implements fmt.Formatter for every verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(redacted)) }

// MarshalText implements encoding.TextMarshaler.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LogValue implements slog.LogValuer.
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }
