package gateway

import (
	"strconv"
	"strings"

	"gatehouse/catalog"
	"gatehouse/classify"
)

// informationSchema is the schema whose tables the gateway computes, from the same listings as its metadata calls: INFORMATION_SCHEMA of
// the SQL standard, part 11. It covers all catalogs, or with a catalog in front of it that one.
const informationSchema = "information_schema"

// everyCatalog stands for the catalog where none is named.
const everyCatalog = "*"

// information are its tables, by name.
var information = map[string][]catalog.Column{
	"schemata": texts("catalog_name", "schema_name"),
	"tables":   texts("table_catalog", "table_schema", "table_name", "table_type"),
	"columns": append(texts("table_catalog", "table_schema", "table_name", "column_name"),
		catalog.NumberColumn(5, "ordinal_position"), catalog.TextColumn(6, "is_nullable"), catalog.TextColumn(7, "data_type")),
}

func texts(names ...string) []catalog.Column {
	out := make([]catalog.Column, len(names))
	for i, n := range names {
		out[i] = catalog.TextColumn(i+1, n)
	}
	return out
}

// findInformation resolves t if it names a table of informationSchema. Its rows come later, see fillInformation.
func (r *run) findInformation(t *table) (bool, error) {
	name := strings.ToLower(t.name.Table)
	head, ok := information[name]
	if !ok || !strings.EqualFold(t.name.Schema, informationSchema) || t.ref.Travel != (classify.Travel{}) {
		return false, nil
	}
	place := everyCatalog
	if len(t.ref.Parts) > 2 {
		visible, err := r.catalogs()
		if err != nil {
			return false, err
		}
		if place, ok = fold(t.ref.Parts[0], visible, func(s string) string { return s }); !ok {
			return false, nil
		}
	}
	t.name = classify.Name{Catalog: place, Schema: informationSchema, Table: name}
	t.current = catalog.Computed(t.name.Catalog, informationSchema, name, head)
	t.loaded, t.all = t.current, columns(t.current)
	t.visible = t.all
	return true, nil
}

// fillInformation computes the rows of the tables of informationSchema, for the schema and the table that the statement's conditions
// name if they do. They are what the caller's metadata calls list, so that there is nothing more for a policy to hide.
func (r *run) fillInformation(b *classify.Bound, tables []*table) error {
	for i, t := range tables {
		if !t.loaded.Computed {
			continue
		}
		rows, err := r.informationRows(t.name, func(column string) *string {
			if v, ok := b.Equal(i, column); ok {
				return &v
			}
			return nil
		})
		if err != nil {
			return err
		}
		t.loaded = t.loaded.WithRows(rows)
	}
	return nil
}

func (r *run) informationRows(n classify.Name, wanted func(column string) *string) ([][]*string, error) {
	var cat *string
	if n.Catalog != everyCatalog {
		cat = &n.Catalog
	}
	pattern := func(column string) *string {
		v := wanted(column)
		if v != nil {
			*v = escapeLike(*v)
		}
		return v
	}
	var rows [][]*string
	add := func(values ...string) {
		row := make([]*string, len(values))
		for i := range values {
			row[i] = &values[i]
		}
		rows = append(rows, row)
	}
	if n.Table == "schemata" {
		schemas, err := r.schemas(cat, pattern("schema_name"))
		for _, s := range schemas {
			add(s.Catalog, s.Schema)
		}
		return rows, err
	}
	tables, err := r.tables(TableFilter{
		Catalog: cat, SchemaPattern: pattern("table_schema"), TablePattern: pattern("table_name"), Columns: n.Table == "columns",
	})
	for _, t := range tables {
		if n.Table == "tables" {
			add(t.Catalog, t.Schema, t.Name, t.Type)
			continue
		}
		for i, c := range t.Columns {
			add(t.Catalog, t.Schema, t.Name, c.Name, strconv.Itoa(i+1), map[bool]string{true: "YES", false: "NO"}[c.Nullable], c.Type)
		}
	}
	return rows, err
}
