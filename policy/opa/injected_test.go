package opa_test

import (
	"errors"
	"strings"
	"testing"

	"gatehouse/auth"
	"gatehouse/policy"
	"gatehouse/policy/policytest"
)

// Whatever a caller may choose is refused in the text of an expression if it holds a quote, wherever in the input it stands.
func TestInjectionFromAnywhere(t *testing.T) {
	const hostile = "x' OR 'a' = 'a"
	for path, set := range map[string]func(c *policy.Caller){
		"input.context.identity.user":                       func(c *policy.Caller) { c.Identity.User = hostile },
		"input.context.gateway.groups[0]":                   func(c *policy.Caller) { c.Identity.Groups = []string{hostile} },
		"input.context.gateway.roles[0]":                    func(c *policy.Caller) { c.Identity.Roles = []string{hostile} },
		"input.context.gateway.claims.tenant":               func(c *policy.Caller) { c.Identity.Claims = map[string]any{"tenant": hostile} },
		"input.context.gateway.claims.tenants[0]":           func(c *policy.Caller) { c.Identity.Claims = map[string]any{"tenants": []any{hostile}} },
		"input.context.gateway.authn.subject":               func(c *policy.Caller) { c.Identity.Subject = hostile },
		"input.context.gateway.session.application":         func(c *policy.Caller) { c.Client = hostile },
		"input.context.gateway.session.purpose":             func(c *policy.Caller) { c.Session = map[string]string{"purpose": hostile} },
		"input.context.gateway.session.properties.whatever": func(c *policy.Caller) { c.Session = map[string]string{"whatever": hostile} },
	} {
		d, err := newWith(t, `package trino
default allow := true
rowFilters contains {"expression": sprintf("id = '%s'", [`+path+`])}
columnMask := {"expression": "1"} if false
`, nil)
		if err != nil {
			t.Fatal(path, err)
		}
		ask := func(change func(*policy.Caller)) error {
			c := policytest.Caller(auth.Identity{
				Issuer: "test", Subject: "s", User: "u", Groups: []string{"g"}, Roles: []string{"r"},
				Claims: map[string]any{"tenant": "t", "tenants": []any{"t"}},
			})
			c.Client, c.Session = "client", map[string]string{"purpose": "p", "whatever": "w"}
			change(&c)
			j, err := d.Judge(t.Context(), c)
			if err != nil {
				t.Fatal(path, err)
			}
			_, err = j.Table(t.Context(), policytest.Table("t"), nil)
			return err
		}
		if err := ask(func(*policy.Caller) {}); err != nil {
			t.Errorf("control %s: %v", path, err)
		}
		var fault *policy.PolicyError
		if err := ask(set); !errors.As(err, &fault) || !strings.Contains(fault.Cause.Error(), "suspected_injection") {
			t.Errorf("%s: %v", path, err)
		}
	}
}
