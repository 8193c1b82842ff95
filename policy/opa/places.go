package opa

import (
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/bundle"

	"gatehouse/policy"
)

// places finds the rule that an expression was written in without tracing, which would cost more than the decision:
// by its text or its id, if these are constants of the policy.
type places struct {
	constants map[string][]place // by the text of a string constant
	rules     map[string]string  // by entry point: where its first rule is
}

type place struct {
	pkg string // without "data."
	at  string // file:line
}

func findPlaces(b *bundle.Bundle) places {
	p := places{constants: map[string][]place{}, rules: map[string]string{}}
	for _, m := range b.Modules {
		pkg := strings.TrimPrefix(m.Parsed.Package.Path.String(), "data.")
		file := strings.TrimPrefix(m.Path, "/")
		for _, r := range m.Parsed.Rules {
			path := strings.TrimPrefix(strings.ReplaceAll(r.Ref().GroundPrefix().String(), ".", "/"), "data/")
			if _, ok := p.rules[path]; !ok {
				p.rules[path] = fmt.Sprintf("%s:%d", file, r.Loc().Row)
			}
		}
		ast.WalkTerms(m.Parsed, func(t *ast.Term) bool {
			if s, ok := t.Value.(ast.String); ok && t.Location != nil && len(s) > 0 {
				p.constants[string(s)] = append(p.constants[string(s)], place{pkg, fmt.Sprintf("%s:%d", file, t.Location.Row)})
			}
			return false
		})
	}
	return p
}

// of returns file:line of the rule that made e, or of the entry rule at path if that cannot be told.
func (p places) of(e policy.Expression, path string, t policy.Table) string {
	for _, text := range []string{e.SQL, e.ID} {
		hits := p.constants[text]
		if i := slices.IndexFunc(hits, func(h place) bool { return strings.HasSuffix(h.pkg, t.Name.Table) }); i >= 0 {
			return hits[i].at
		}
		if len(hits) > 0 {
			return hits[0].at
		}
	}
	if at, ok := p.rules[path]; ok {
		return at
	}
	return "data." + dotted(path)
}
