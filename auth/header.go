package auth

import (
	"encoding/base64"
	"strings"
)

// Limits of what a client may put into an authorization header, in bytes. A token of an issuer that
// lists some hundred groups has about 10 KiB.
const (
	maxBasicHeader  = 8 << 10
	maxBearerHeader = 64 << 10
)

// ParseAuthorization reads the values of a call's authorization headers. A proxy may add a header of
// its own, so a bearer token wins over Basic wherever it stands; two different credentials of the same
// kind are refused. It returns ErrNotApplicable if there is no header, or none of a scheme that we
// know, and ErrUnauthenticated if the form is wrong.
func ParseAuthorization(headers []string) (Credential, error) {
	var basic, bearer *Credential
	for _, h := range headers {
		scheme, _, _ := strings.Cut(h, " ")
		switch {
		case strings.EqualFold(scheme, "bearer"):
			token, err := ParseBearer(h)
			if err != nil || (bearer != nil && bearer.Bearer.Reveal() != token.Reveal()) {
				return Credential{}, ErrUnauthenticated
			}
			bearer = &Credential{Bearer: token}
		case strings.EqualFold(scheme, "basic"):
			c, err := ParseBasic(h)
			if err != nil || (basic != nil && (basic.User != c.User || basic.Password.Reveal() != c.Password.Reveal())) {
				return Credential{}, ErrUnauthenticated
			}
			basic = &c
		}
	}
	switch {
	case bearer != nil:
		return *bearer, nil
	case basic != nil:
		return *basic, nil
	}
	return Credential{}, ErrNotApplicable
}

// ParseBasic reads an authorization header of the Basic scheme (RFC 7617, always UTF-8). Drivers write
// the base64 padded and unpadded, in the standard and in the URL-safe alphabet; all four are read. The
// password may contain colons. The name is as the client wrote it: see NormalizeUser. It returns
// ErrNotApplicable for another scheme and ErrUnauthenticated if the form is wrong.
func ParseBasic(header string) (Credential, error) {
	value, ok := cutScheme(header, "basic")
	if !ok {
		return Credential{}, ErrNotApplicable
	}
	if len(value) > maxBasicHeader {
		return Credential{}, ErrUnauthenticated
	}
	raw, ok := decodeBase64(value)
	if !ok {
		return Credential{}, ErrUnauthenticated
	}
	user, password, ok := strings.Cut(string(raw), ":")
	if !ok || user == "" {
		return Credential{}, ErrUnauthenticated
	}
	return Credential{User: user, Password: NewSecret(password)}, nil
}

// ParseBearer reads an authorization header of the Bearer scheme (RFC 6750). It returns
// ErrNotApplicable for another scheme and ErrUnauthenticated if the token is empty, too long or has
// characters that no token has.
func ParseBearer(header string) (Secret, error) {
	value, ok := cutScheme(header, "bearer")
	if !ok {
		return Secret{}, ErrNotApplicable
	}
	body := strings.TrimRight(value, "=")
	if body == "" || len(value) > maxBearerHeader {
		return Secret{}, ErrUnauthenticated
	}
	for i := range len(body) {
		if !isToken68(body[i]) {
			return Secret{}, ErrUnauthenticated
		}
	}
	return NewSecret(value), nil
}

func cutScheme(header, scheme string) (string, bool) {
	got, value, _ := strings.Cut(header, " ")
	return strings.Trim(value, " "), strings.EqualFold(got, scheme)
}

// isToken68 reports whether c may stand in a token68 of RFC 7235.
func isToken68(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-._~+/", c) >= 0
}

// decodeBase64 decodes either alphabet with or without padding; Go's decoder alone would also skip
// line breaks inside.
func decodeBase64(s string) ([]byte, bool) {
	if strings.ContainsAny(s, "\r\n") {
		return nil, false
	}
	body := strings.TrimRight(s, "=")
	if pad := len(s) - len(body); pad > 2 || (pad > 0 && len(s)%4 != 0) {
		return nil, false
	}
	enc := base64.RawStdEncoding
	if strings.ContainsAny(body, "-_") {
		enc = base64.RawURLEncoding
	}
	raw, err := enc.DecodeString(body)
	return raw, err == nil
}
