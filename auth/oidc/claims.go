package oidc

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"gatehouse/auth"
)

const (
	maxSubject = 512
	maxGroups  = 2000
	maxGroup   = 512
)

var errClaims = errors.New("claims refused")

// Mapping says which claims become what. A path names a claim; if there is no claim of exactly that
// name, dots lead into objects: "realm_access.roles".
type Mapping struct {
	User      string            // the user name; "" means "preferred_username". A token without it is refused
	Principal string            // the full name; "" means none
	Groups    string            // a list of strings, or one string; "" means none
	Roles     string            // likewise
	Claims    map[string]string // what goes into Identity.Claims: name there → path in the token
}

// check tells whether the claims are meant for us, now. It is called after the signature was verified.
func (i *Issuer) check(t *token) (time.Time, error) {
	c := t.claims
	if c["iss"] != i.cfg.Issuer || !i.forUs(c["aud"]) || !i.rightKind(t) {
		return time.Time{}, errClaims
	}
	if len(i.cfg.AuthorizedParties) > 0 {
		if azp, ok := c["azp"].(string); !ok || !slices.Contains(i.cfg.AuthorizedParties, azp) {
			return time.Time{}, errClaims
		}
	}
	now, skew := i.cfg.Now(), i.cfg.Skew
	exp, ok := numericDate(c["exp"])
	if !ok || !now.Before(exp.Add(skew)) {
		return time.Time{}, errClaims
	}
	for _, name := range []string{"nbf", "iat"} {
		if v, present := c[name]; present {
			from, ok := numericDate(v)
			if !ok || now.Before(from.Add(-skew)) {
				return time.Time{}, errClaims
			}
		}
	}
	return exp.Add(skew), nil
}

// forUs compares audiences letter by letter. A list must hold nothing but strings.
func (i *Issuer) forUs(aud any) bool {
	switch aud := aud.(type) {
	case string:
		return slices.Contains(i.cfg.Audiences, aud)
	case []any:
		found := false
		for _, a := range aud {
			s, ok := a.(string)
			if !ok {
				return false
			}
			found = found || slices.Contains(i.cfg.Audiences, s)
		}
		return found
	}
	return false
}

// rightKind tells access tokens from all else. An ID token says who logged in to some client; it is
// no right to call us (RFC 9068 section 4 and RFC 8725 section 3.11), so it is refused unless
// the configuration accepts ID tokens for issuers that have nothing else. Standard tokens carry too
// little to tell for sure, so all signs count: the header's typ, Keycloak's typ claim, and the claims
// that only an ID token has. A token bound to a key of the client (cnf, RFC 7800) is refused too,
// because we cannot check that the client holds the key.
func (i *Issuer) rightKind(t *token) bool {
	if !slices.Contains([]string{"", "jwt", "at+jwt"}, t.typ) {
		return false
	}
	if _, bound := t.claims["cnf"]; bound {
		return false
	}
	if i.cfg.AcceptIDTokens {
		return true
	}
	for _, name := range []string{"nonce", "at_hash", "c_hash", "s_hash"} {
		if _, ok := t.claims[name]; ok {
			return false
		}
	}
	kind, present := t.claims["typ"]
	return !present || kind == "Bearer"
}

// numericDate reads a NumericDate (RFC 7519 section 2), which may have a fraction.
func numericDate(v any) (time.Time, bool) {
	n, ok := v.(json.Number)
	if !ok || len(n) > 32 {
		return time.Time{}, false
	}
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil || !(f >= 0 && f < 1e11) {
		return time.Time{}, false
	}
	whole := int64(f)
	return time.Unix(whole, int64((f-float64(whole))*1e9)), true
}

// identity maps verified claims. Whatever is missing or of the wrong type refuses the token: an
// identity without its groups could be allowed more by a policy, not less.
func (i *Issuer) identity(t *token, expires time.Time) (auth.Identity, error) {
	m := i.cfg.Mapping
	sub, ok := t.claims["sub"].(string)
	if !ok || sub == "" || len(sub) > maxSubject || hasControl(sub) {
		return auth.Identity{}, errClaims
	}
	name, _ := lookup(t.claims, m.User)
	text, _ := name.(string)
	user, ok := auth.NormalizeUser(text)
	if !ok {
		return auth.Identity{}, errClaims
	}
	id := auth.Identity{Issuer: i.cfg.Issuer, Subject: sub, User: user, Principal: user, Method: "oidc", ExpiresAt: expires, Token: t.raw}
	if p, ok := lookup(t.claims, m.Principal); ok && m.Principal != "" {
		if id.Principal, ok = p.(string); !ok || id.Principal == "" || len(id.Principal) > maxSubject || hasControl(id.Principal) {
			return auth.Identity{}, errClaims
		}
	}
	if id.Groups, ok = names(t.claims, m.Groups); !ok {
		return auth.Identity{}, errClaims
	}
	if id.Roles, ok = names(t.claims, m.Roles); !ok {
		return auth.Identity{}, errClaims
	}
	for name, path := range m.Claims {
		if v, ok := lookup(t.claims, path); ok {
			if id.Claims == nil {
				id.Claims = map[string]any{}
			}
			id.Claims[name] = v
		}
	}
	if i.elsewhere(t.claims) {
		return auth.Identity{}, errClaims
	}
	return id, nil
}

// elsewhere reports whether a claim that we map is not in the token but has to be fetched (OpenID
// Connect Core section 5.6.2); Microsoft Entra does so for users with many groups.
func (i *Issuer) elsewhere(claims map[string]any) bool {
	sources, present := claims["_claim_names"]
	if !present {
		return false
	}
	distributed, ok := sources.(map[string]any)
	if !ok {
		return true
	}
	m := i.cfg.Mapping
	paths := []string{m.Groups, m.Roles, m.Principal}
	for _, p := range m.Claims {
		paths = append(paths, p)
	}
	return slices.ContainsFunc(paths, func(p string) bool {
		top, _, _ := strings.Cut(p, ".")
		_, whole := distributed[p]
		_, part := distributed[top]
		return whole || part
	})
}

// lookup finds the claim at path; a JSON null is no claim.
func lookup(claims map[string]any, path string) (any, bool) {
	if v, ok := claims[path]; ok {
		return v, v != nil
	}
	top, rest, dotted := strings.Cut(path, ".")
	inner, ok := claims[top].(map[string]any)
	if !dotted || !ok {
		return nil, false
	}
	return lookup(inner, rest)
}

// names reads a list of strings or one string; false if it is anything else. A claim that is not there
// is an empty list: issuers leave it out for users without groups.
func names(claims map[string]any, path string) ([]string, bool) {
	if path == "" {
		return nil, true
	}
	v, ok := lookup(claims, path)
	if !ok {
		return nil, true
	}
	if s, ok := v.(string); ok {
		v = []any{s}
	}
	list, ok := v.([]any)
	if !ok || len(list) > maxGroups {
		return nil, false
	}
	out := make([]string, 0, len(list))
	for _, x := range list {
		s, ok := x.(string)
		if !ok || s == "" || len(s) > maxGroup || hasControl(s) {
			return nil, false
		}
		out = append(out, s)
	}
	return out, true
}

func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || (r >= 0x7f && r < 0xa0) })
}
