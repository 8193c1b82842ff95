package shadow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gatehouse/policy"
)

// difference is one thing about which the policies do not agree. It names filters and masks by id and place, not by text.
type difference struct {
	object          string
	live, candidate string
	fault           error // of the candidate
}

func (q question) operation() string {
	if q.table != nil {
		return "table"
	}
	return string(q.op)
}

// object names what q is about, if that is one thing.
func (q question) object() string {
	switch {
	case q.table != nil:
		return q.table.Name.String()
	case len(q.resources) == 1:
		return name(q.resources[0])
	}
	return fmt.Sprintf("%d objects", len(q.resources))
}

func name(r policy.Resource) string {
	var parts []string
	for _, p := range []string{r.Catalog, r.Schema, r.Table, r.Setting, strings.Join(r.Columns, ",")} {
		if p != "" {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, ".")
}

// compare asks j what q asked.
func (q question) compare(ctx context.Context, j policy.Judge) ([]difference, error) {
	if q.table != nil {
		return q.compareTable(ctx, j)
	}
	ok, err := j.Allow(ctx, q.op, q.resources)
	if err != nil {
		return nil, err
	}
	if len(ok) != len(q.allowed) {
		return nil, errors.New("another number of answers")
	}
	var out []difference
	for i := range ok {
		if ok[i] != q.allowed[i] {
			out = append(out, difference{object: name(q.resources[i]), live: verdict(q.allowed[i]), candidate: verdict(ok[i])})
		}
	}
	return out, nil
}

func verdict(ok bool) string {
	if ok {
		return "allowed"
	}
	return "denied"
}

func (q question) compareTable(ctx context.Context, j policy.Judge) ([]difference, error) {
	d, err := j.Table(ctx, *q.table, q.columns)
	if err != nil {
		return nil, err
	}
	var out []difference
	if !slices.Equal(texts(q.decision.Filters), texts(d.Filters)) {
		out = append(out, difference{object: q.table.Name.String(), live: names("filters", q.decision.Filters), candidate: names("filters", d.Filters)})
	}
	columns := map[string]bool{}
	for c := range q.decision.Masks {
		columns[c] = true
	}
	for c := range d.Masks {
		columns[c] = true
	}
	for _, c := range slices.Sorted(maps.Keys(columns)) {
		a, b := one(q.decision.Masks, c), one(d.Masks, c)
		if !slices.Equal(texts(a), texts(b)) {
			out = append(out, difference{object: q.table.Name.String() + "." + c, live: names("mask", a), candidate: names("mask", b)})
		}
	}
	return out, nil
}

func one(masks map[string]policy.Expression, column string) []policy.Expression {
	if m, ok := masks[column]; ok {
		return []policy.Expression{m}
	}
	return nil
}

// texts are what expressions do, whatever they are called and wherever they stand, in an order of their own.
func texts(es []policy.Expression) []string {
	out := make([]string, 0, len(es))
	for _, e := range es {
		params, err := json.Marshal(e.Params)
		if err != nil {
			params = []byte(fmt.Sprint(e.Params))
		}
		out = append(out, e.SQL+"\x00"+e.AnyOf+"\x00"+string(params))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// names lists expressions for the log, without their text, which may hold data.
func names(noun string, es []policy.Expression) string {
	if len(es) == 0 {
		return "no " + noun
	}
	out := make([]string, 0, len(es))
	for _, e := range es {
		n := e.Name()
		if e.Rule != "" && e.Rule != n {
			n += " (" + e.Rule + ")"
		}
		out = append(out, n)
	}
	slices.Sort(out)
	return noun + " " + strings.Join(out, ", ")
}
