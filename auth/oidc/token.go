package oidc

import (
	"encoding/base64"
	"errors"
	"slices"
	"strings"

	"gatehouse/auth"
)

// The sizes of what is looked at, in bytes.
const (
	maxToken  = 64 << 10
	maxHeader = 4 << 10
	maxKid    = 256
)

var errToken = errors.New("malformed token")

// token is a JWT in compact form, read but not yet verified.
type token struct {
	raw    auth.Secret
	alg    string
	kid    string // "" if the header has none
	typ    string // in lower case without "application/"
	claims map[string]any
	signed string // what the signature covers
	sig    []byte
}

// forbidden are header parameters that would let a token say how it is to be verified: keys and
// addresses of keys (RFC 7515 section 4.1), extensions that must be understood, an unencoded payload
// (RFC 7797), and the parameters of encrypted or compressed tokens.
var forbidden = []string{"crit", "b64", "jku", "jwk", "x5u", "x5c", "enc", "zip"}

// parseToken reads the form of a JWT strictly and believes nothing in it.
func parseToken(raw auth.Secret) (*token, error) {
	text := raw.Reveal()
	parts := strings.SplitN(text, ".", 4)
	if len(text) > maxToken || len(parts) != 3 || len(parts[0]) > maxHeader {
		return nil, errToken
	}
	var decoded [3][]byte
	for i, p := range parts {
		b, err := base64.RawURLEncoding.Strict().DecodeString(p)
		if err != nil || len(b) == 0 || strings.ContainsAny(p, "\r\n") {
			return nil, errToken
		}
		decoded[i] = b
	}
	header, err := parseObject(decoded[0])
	if err != nil {
		return nil, errToken
	}
	t := &token{raw: raw, signed: parts[0] + "." + parts[1], sig: decoded[2]}
	if err := t.readHeader(header); err != nil {
		return nil, err
	}
	if t.claims, err = parseObject(decoded[1]); err != nil {
		return nil, errToken
	}
	return t, nil
}

func (t *token) readHeader(h map[string]any) error {
	for name := range h {
		if slices.Contains(forbidden, strings.ToLower(name)) {
			return errToken
		}
	}
	var ok bool
	if t.alg, ok = h["alg"].(string); !ok {
		return errToken
	}
	if kid, present := h["kid"]; present {
		if t.kid, ok = kid.(string); !ok || t.kid == "" || len(t.kid) > maxKid {
			return errToken
		}
	}
	if typ, present := h["typ"]; present {
		if t.typ, ok = typ.(string); !ok {
			return errToken
		}
		t.typ = strings.TrimPrefix(strings.ToLower(t.typ), "application/")
	}
	return nil
}
