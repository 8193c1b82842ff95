package opa

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/format"
)

// Format returns a Rego file as OPA's own formatter writes it. version is v1, v0, auto or "" for v1.
func Format(name string, text []byte, version string) (out []byte, err error) {
	defer recovered(&err)
	versions := map[string][]ast.RegoVersion{"": {ast.RegoV1}, "v1": {ast.RegoV1}, "v0": {ast.RegoV0}, "auto": {ast.RegoV1, ast.RegoV0}}[version]
	if versions == nil {
		return nil, fmt.Errorf("opa: rego version is %q, not v0, v1 or auto", version)
	}
	for _, v := range versions {
		out, e := format.SourceWithOpts(name, text, format.Opts{RegoVersion: v, ParserOptions: &ast.ParserOptions{RegoVersion: v}})
		if e == nil {
			return out, nil
		}
		if err == nil {
			err = e
		}
	}
	return nil, err
}
