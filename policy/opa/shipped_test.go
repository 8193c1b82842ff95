package opa_test

import (
	"strings"
	"testing"

	"gatehouse/policies"
	"gatehouse/policy/opa"
)

// The Rego that we ship passes the strict check and its own tests, and the tests reach nearly all of it.
func TestShippedPolicies(t *testing.T) {
	for _, set := range []policies.Set{policies.Demo, policies.Skeleton} {
		t.Run(string(set), func(t *testing.T) {
			files, err := policies.Files(set)
			if err != nil {
				t.Fatal(err)
			}
			if err := opa.Check(opa.Config{Files: files}); err != nil {
				t.Fatal(err)
			}
			report, err := opa.Test(t.Context(), opa.Config{Files: files})
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			report.Print(&out)
			t.Log(out.String())
			if !report.Ok() || report.Coverage < 95 {
				t.Fatal(out.String())
			}
		})
	}
}
