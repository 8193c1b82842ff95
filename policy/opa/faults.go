package opa

import (
	"errors"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// faults are what is wrong with a policy's files, one a line.
type faults []*ast.Error

// Error implements error.
func (f faults) Error() string {
	lines := make([]string, len(f))
	for i, e := range f {
		lines[i] = e.Error()
	}
	return strings.Join(lines, "\n")
}

// inFolder gives faults of Rego the names that files have in their folder: OPA puts a slash before the names in a bundle.
func inFolder(err error) error {
	var list ast.Errors
	if !errors.As(err, &list) {
		return err
	}
	out := make(faults, len(list))
	for i, e := range list {
		fault := *e
		if e.Location != nil {
			place := *e.Location
			place.File = strings.TrimPrefix(place.File, "/")
			fault.Location = &place
		}
		out[i] = &fault
	}
	return out
}
