package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"gatehouse/auth"
	"gatehouse/auth/basic"
)

// callerOptions are who a tool asks for.
type callerOptions struct {
	user          string
	roles, groups list
	claims        list // name=value
}

// caller makes the identity that a login would make: from the users file, unless roles, groups or claims are given.
func (o callerOptions) caller(users []userEntry) (auth.Identity, error) {
	name, ok := auth.NormalizeUser(o.user)
	if !ok {
		return auth.Identity{}, &usageError{"name the caller: --user NAME"}
	}
	id := auth.Identity{
		Issuer: basic.Issuer, Subject: name, User: name, Principal: name, Method: "basic",
		Roles: o.roles, Groups: o.groups, Claims: map[string]any{},
	}
	given := len(o.roles)+len(o.groups)+len(o.claims) > 0
	if i := slices.IndexFunc(users, func(u userEntry) bool { n, ok := auth.NormalizeUser(u.Name); return ok && n == name }); i >= 0 && !given {
		return identityOf(users[i])
	}
	for _, c := range o.claims {
		key, text, ok := strings.Cut(c, "=")
		if !ok || key == "" {
			return id, &usageError{fmt.Sprintf("--claim %q is not name=value", c)}
		}
		id.Claims[key] = claimValue(text)
	}
	return id, nil
}

// claimValue reads a claim as JSON, or else as text.
func claimValue(text string) any {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil || dec.More() || v == nil {
		return text
	}
	return v
}

// identityOf makes the identity of a user of the users file.
func identityOf(u userEntry) (auth.Identity, error) {
	name, ok := auth.NormalizeUser(u.Name)
	if !ok {
		return auth.Identity{}, fmt.Errorf("%q is no user name", u.Name)
	}
	b, err := json.Marshal(u.Attributes)
	if err != nil {
		return auth.Identity{}, fmt.Errorf("attributes of %s: %w", name, err)
	}
	claims := map[string]any{}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	if err := dec.Decode(&claims); err != nil {
		return auth.Identity{}, fmt.Errorf("attributes of %s: %w", name, err)
	}
	return auth.Identity{
		Issuer: basic.Issuer, Subject: name, User: name, Principal: name, Method: "basic",
		Roles: u.Roles, Groups: u.Groups, Claims: claims,
	}, nil
}

// describe names a caller in one line.
func describe(id auth.Identity) string {
	var parts []string
	for _, p := range []struct {
		noun  string
		names []string
	}{{"role", id.Roles}, {"group", id.Groups}} {
		if n := len(p.names); n > 0 {
			noun := p.noun
			if n > 1 {
				noun += "s"
			}
			parts = append(parts, noun+" "+strings.Join(p.names, ", "))
		}
	}
	if len(id.Claims) > 0 {
		b, _ := json.Marshal(id.Claims)
		parts = append(parts, "claims "+string(b))
	}
	if len(parts) == 0 {
		return id.User + " (no roles)"
	}
	return id.User + " (" + strings.Join(parts, "; ") + ")"
}
