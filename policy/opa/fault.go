package opa

import (
	"errors"
	"fmt"
	"strings"

	"github.com/open-policy-agent/opa/v1/topdown"

	"gatehouse/policy"
)

// blamed returns file:line of the rule that a fault is about, for the operator; at the least, the entry rule that was asked.
func (e *engine) blamed(path string, fault error) string {
	var evaluation *topdown.Error
	if errors.As(fault, &evaluation) && evaluation.Location != nil && evaluation.Location.File != "" {
		return fmt.Sprintf("%s:%d", strings.TrimPrefix(evaluation.Location.File, "/"), evaluation.Location.Row)
	}
	var conflict *policy.MaskConflict
	if errors.As(fault, &conflict) {
		return conflict.A
	}
	return e.places.rules[path]
}
