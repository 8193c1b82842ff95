package policy

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"gatehouse/classify"
)

// restrictions is the read-restrictions object of the Iceberg REST catalog API.
type restrictions struct {
	Filter  json.RawMessage `json:"required-row-filter"`
	Columns []struct {
		FieldID *int   `json:"field-id"`
		Action  string `json:"action"`
	} `json:"required-column-projections"`
}

// catalogRule is the place of what a catalog demands.
const catalogRule = "read-restrictions of the catalog"

// Restrict adds to d what a catalog demands of whoever reads t: raw is its read-restrictions object. The result shows no more than
// either alone: all filters hold, and a column that both mask, or whose mask reads what the catalog masks, is NULL. What cannot be
// applied exactly is an error, and nothing of the table may be read.
func (d *Decision) Restrict(raw []byte, t Table) error {
	var r restrictions
	if err := strict(raw, &r); err != nil {
		return fmt.Errorf("read restrictions: %w", err)
	}
	out := *d
	out.Filters, out.Masks = slices.Clone(d.Filters), maps.Clone(d.Masks)
	if out.Masks == nil {
		out.Masks = map[string]Expression{}
	}
	if len(r.Filter) > 0 && string(r.Filter) != "null" {
		f := &icebergFilter{table: t, params: map[string]any{}}
		sql, err := f.condition(r.Filter, 0)
		if err != nil {
			return fmt.Errorf("read restrictions: required-row-filter: %w", err)
		}
		out.Filters = append(out.Filters, Expression{ID: "catalog", SQL: sql, Params: f.params, Rule: catalogRule})
	}
	seen := map[int]bool{}
	for _, c := range r.Columns {
		if c.FieldID == nil || seen[*c.FieldID] {
			return errors.New("read restrictions: a projection without a field, or a field twice")
		}
		seen[*c.FieldID] = true
		i := slices.IndexFunc(t.Columns, func(x classify.Column) bool { return x.FieldID == *c.FieldID })
		if i < 0 || t.KnownName(i) == "" {
			return fmt.Errorf("read restrictions: no top-level column has the field id %d", *c.FieldID)
		}
		sql, err := projection(c.Action, t.KnownName(i), t.Columns[i].Type)
		if err != nil {
			return fmt.Errorf("read restrictions: column %q: %w", t.KnownName(i), err)
		}
		mask := Expression{ID: "catalog " + c.Action, SQL: sql, Rule: catalogRule}
		if local, ok := out.Masks[t.KnownName(i)]; ok && local.SQL != sql {
			mask = Expression{ID: local.Name() + " and " + mask.ID, SQL: "NULL", Rule: catalogRule}
		}
		out.Masks[t.KnownName(i)] = mask
	}
	for name, e := range out.Masks {
		if e.Rule != catalogRule && readsAny(e, name, seen, t) {
			out.Masks[name] = Expression{ID: e.Name() + " and the catalog's", SQL: "NULL", Rule: catalogRule}
		}
	}
	out.Restricted = string(raw)
	*d = out
	return nil
}

// readsAny reports whether a mask reads one of the fields, other than the column called name that it masks: its value would show
// there what the catalog wants changed. One that does not bind is Apply's to refuse.
func readsAny(e Expression, name string, fields map[int]bool, t Table) bool {
	_, reads, err := expression(e, t)
	own, _ := t.columnKnown(name)
	return err == nil && slices.ContainsFunc(reads, func(id int) bool { return fields[id] && id != own.FieldID })
}

// strict decodes one JSON document without keys that v does not have.
func strict(raw []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	dec.UseNumber()
	if err := dec.Decode(v); err != nil {
		return errors.New("an object of another form")
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one document")
	}
	return nil
}

// projection is the expression of one action on a column. The actions whose values the specification's drafts do not agree about,
// and those for types that are not listed here, are refused.
func projection(action, column, typ string) (string, error) {
	c := quoted(column)
	text := typ == "VARCHAR"
	switch {
	case action == "replace-with-null":
		return "NULL", nil
	case action == "mask-alphanum" && text:
		return alphanum(c), nil
	case action == "show-first-4" && text:
		return fmt.Sprintf("CASE WHEN length(%[1]s) <= 4 THEN %[1]s ELSE left(%[1]s, 4) || %[2]s END", c, alphanum("right("+c+", length("+c+") - 4)")), nil
	case action == "show-last-4" && text:
		return fmt.Sprintf("CASE WHEN length(%[1]s) <= 4 THEN %[1]s ELSE %[2]s || right(%[1]s, 4) END", c, alphanum("left("+c+", length("+c+") - 4)")), nil
	case action == "truncate-to-year" && (typ == "DATE" || typ == "TIMESTAMP"):
		return "date_trunc('year', " + c + ")", nil
	case action == "truncate-to-month" && (typ == "DATE" || typ == "TIMESTAMP"):
		return "date_trunc('month', " + c + ")", nil
	case action == "sha-256-global" && text:
		return "sha256(" + c + ")", nil
	}
	return "", fmt.Errorf("action %q on type %s is not known here", action, typ)
}

// alphanum turns digits into n and all but ( ) , . - @ into x.
func alphanum(text string) string {
	return "regexp_replace(regexp_replace(" + text + ", '[^0-9(),.@-]', 'x'), '[0-9]', 'n')"
}

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

// icebergFilter translates an expression in Iceberg's JSON form. Iceberg's conditions are true or false, never NULL, so that each
// comparison says what it is where the column is NULL.
type icebergFilter struct {
	table  Table
	params map[string]any
}

// maxDepth bounds the nesting of an expression.
const maxDepth = 32

// icebergNode is one node of the JSON form.
type icebergNode struct {
	Type   string            `json:"type"`
	Left   json.RawMessage   `json:"left"`
	Right  json.RawMessage   `json:"right"`
	Child  json.RawMessage   `json:"child"`
	Term   json.RawMessage   `json:"term"`
	Value  json.RawMessage   `json:"value"`
	Values []json.RawMessage `json:"values"`
}

var icebergComparisons = map[string]string{"eq": "=", "not-eq": "<>", "lt": "<", "lt-eq": "<=", "gt": ">", "gt-eq": ">="}

func (f *icebergFilter) condition(raw json.RawMessage, depth int) (string, error) {
	if depth > maxDepth {
		return "", errors.New("nested too deep")
	}
	switch string(bytes.TrimSpace(raw)) {
	case "true", "false":
		return string(bytes.TrimSpace(raw)), nil
	}
	var n icebergNode
	if err := strict(raw, &n); err != nil {
		return "", err
	}
	switch n.Type {
	case "true", "false":
		return n.Type, nil
	case "and", "or":
		left, err := f.condition(n.Left, depth+1)
		if err != nil {
			return "", err
		}
		right, err := f.condition(n.Right, depth+1)
		return "(" + left + " " + strings.ToUpper(n.Type) + " " + right + ")", err
	case "not":
		child, err := f.condition(n.Child, depth+1)
		return "(NOT " + child + ")", err
	}
	return f.predicate(n)
}

func (f *icebergFilter) predicate(n icebergNode) (string, error) {
	c, err := f.column(n.Term)
	if err != nil {
		return "", err
	}
	name := quoted(c.Name)
	one := n.Value != nil && n.Values == nil
	switch n.Type {
	case "is-null", "not-null":
		if n.Value != nil || n.Values != nil {
			return "", errors.New("a value that means nothing")
		}
		return "(" + name + map[string]string{"is-null": " IS NULL)", "not-null": " IS NOT NULL)"}[n.Type], nil
	case "in", "not-in":
		if n.Value != nil || n.Values == nil {
			return "", errors.New("a list is missing")
		}
		var items []string
		for _, v := range n.Values {
			item, err := f.value(v, c.Type)
			if err != nil {
				return "", err
			}
			items = append(items, item)
		}
		if len(items) == 0 {
			return strconv.FormatBool(n.Type == "not-in"), nil
		}
		list := name + " IN (" + strings.Join(items, ", ") + ")"
		if n.Type == "in" {
			return "coalesce(" + list + ", false)", nil
		}
		return "(NOT coalesce(" + list + ", false))", nil
	case "starts-with", "not-starts-with":
		if c.Type != "VARCHAR" || !one {
			return "", errors.New("a prefix of what is no text")
		}
		v, err := f.value(n.Value, c.Type)
		call := "coalesce(starts_with(" + name + ", " + v + "), false)"
		if n.Type == "not-starts-with" {
			call = "(NOT " + call + ")"
		}
		return call, err
	}
	op, ok := icebergComparisons[n.Type]
	if !ok || !one {
		return "", fmt.Errorf("a condition %q that is not known here", n.Type)
	}
	v, err := f.value(n.Value, c.Type)
	return "coalesce(" + name + " " + op + " " + v + ", " + strconv.FormatBool(op == "<>") + ")", err
}

// column finds what a term names: a column by its name, or a reference by its field id. Transforms are refused.
func (f *icebergFilter) column(raw json.RawMessage) (classify.Column, error) {
	var name string
	if json.Unmarshal(raw, &name) == nil {
		for i, c := range f.table.Columns {
			if f.table.KnownName(i) == name && name != "" {
				return classify.Column{Name: name, FieldID: c.FieldID, Type: c.Type}, nil
			}
		}
		return classify.Column{}, fmt.Errorf("no top-level column %q", name)
	}
	var ref struct {
		Type    string `json:"type"`
		FieldID *int   `json:"field-id"`
	}
	if err := strict(raw, &ref); err != nil || ref.Type != "reference" || ref.FieldID == nil {
		return classify.Column{}, errors.New("a term that is not a column")
	}
	for i, c := range f.table.Columns {
		if c.FieldID == *ref.FieldID && f.table.KnownName(i) != "" {
			return classify.Column{Name: f.table.KnownName(i), FieldID: c.FieldID, Type: c.Type}, nil
		}
	}
	return classify.Column{}, fmt.Errorf("no top-level column with the field id %d", *ref.FieldID)
}

// value makes a parameter of a literal, if it is one of the column's type.
func (f *icebergFilter) value(raw json.RawMessage, typ string) (string, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return "", errors.New("a value that is none")
	}
	ok := false
	cast := ""
	switch v := v.(type) {
	case string:
		ok = typ == "VARCHAR" || typ == "DATE" || typ == "TIMESTAMP"
		if typ != "VARCHAR" {
			cast = typ
		}
	case json.Number:
		_, err := v.Int64()
		ok = err == nil && (typ == "INTEGER" || typ == "BIGINT")
	case bool:
		ok = typ == "BOOLEAN"
	}
	if !ok {
		return "", fmt.Errorf("a value that is not of the type %s, or a type that is not known here", typ)
	}
	name := "v" + strconv.Itoa(len(f.params))
	f.params[name] = v
	if cast != "" {
		return "CAST(:" + name + " AS " + cast + ")", nil
	}
	return ":" + name, nil
}
