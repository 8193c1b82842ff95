package opa

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// Evaluation is one question that was put to one entry rule, for the tools of policy authors.
type Evaluation struct {
	Rule  string          `json:"rule"`  // "data.trino.allow"
	Input json.RawMessage `json:"input"` // as the policy saw it
	Value any             `json:"value"` // nil if undefined
	Error string          `json:"error,omitempty"`
	Fired []Fired         `json:"fired"` // by place
}

// Fired is a rule that had a value while a question was answered.
type Fired struct {
	Rule string `json:"rule"` // package and name
	File string `json:"file"`
	Line int    `json:"line"`
}

// String returns "file:line rule".
func (f Fired) String() string { return fmt.Sprintf("%s:%d %s", f.File, f.Line, f.Rule) }

// tracer collects the rules that fire.
type tracer struct{ fired []Fired }

var _ topdown.QueryTracer = (*tracer)(nil)

// Enabled implements topdown.QueryTracer.
func (t *tracer) Enabled() bool { return true }

// Config implements topdown.QueryTracer.
func (t *tracer) Config() topdown.TraceConfig { return topdown.TraceConfig{} }

// TraceEvent implements topdown.QueryTracer: a rule is left only if its body holds.
func (t *tracer) TraceEvent(e topdown.Event) {
	r, ok := e.Node.(*ast.Rule)
	if !ok || e.Op != topdown.ExitOp || r.Location == nil {
		return
	}
	name := strings.TrimPrefix(r.Module.Package.Path.String(), "data.") + "." + r.Head.Ref().String()
	t.fired = append(t.fired, Fired{name, strings.TrimPrefix(r.Location.File, "/"), r.Location.Row})
}

// evaluation reports what t saw.
func (t *tracer) evaluation(path string, input ast.Value, value any, err error) Evaluation {
	e := Evaluation{Rule: "data." + dotted(path), Value: value, Fired: t.fired}
	slices.SortFunc(e.Fired, func(a, b Fired) int {
		return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line, strings.Compare(a.Rule, b.Rule))
	})
	e.Fired = slices.Compact(e.Fired)
	if err != nil && err != errUndefined {
		e.Error = err.Error()
	}
	e.Input, err = inputJSON(input)
	if err != nil && e.Error == "" {
		e.Error = err.Error()
	}
	return e
}

func inputJSON(input ast.Value) (json.RawMessage, error) {
	plain, err := ast.JSON(input)
	if err != nil {
		return nil, err
	}
	return json.Marshal(plain)
}
