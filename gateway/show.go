package gateway

import (
	"strings"

	"gatehouse/classify"
)

func (r *run) showCatalogs(stmt *classify.Statement) ([][]string, error) {
	names, err := r.catalogs()
	if err != nil {
		return nil, err
	}
	match := like(patternOf(stmt))
	var rows [][]string
	for _, n := range names {
		if match(n) {
			rows = append(rows, []string{n})
		}
	}
	return rows, nil
}

func (r *run) showSchemas(stmt *classify.Statement) ([][]string, error) {
	var cat *string
	if t := stmt.Target(); len(t) > 0 {
		_, canonical := r.g.catalog(t[0])
		cat = &canonical
	}
	schemas, err := r.schemas(cat, patternOf(stmt))
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, s := range schemas {
		rows = append(rows, []string{s.Catalog, s.Schema})
	}
	return rows, nil
}

func (r *run) showTables(stmt *classify.Statement) ([][]string, error) {
	ns := r.session.Namespace()
	switch t := stmt.Target(); len(t) {
	case 0:
	case 1:
		ns.Schema = t[0]
	default:
		_, ns.Catalog = r.g.catalog(t[0])
		ns.Schema = strings.Join(t[1:], ".")
	}
	f := TableFilter{TablePattern: patternOf(stmt)} // a session that has no place yet is shown all places
	if ns.Catalog != "" {
		f.Catalog = &ns.Catalog
	}
	if ns.Schema != "" {
		schema := escapeLike(ns.Schema)
		f.SchemaPattern = &schema
	}
	tables, err := r.tables(f)
	if err != nil {
		return nil, err
	}
	var rows [][]string
	for _, t := range tables {
		rows = append(rows, []string{t.Catalog, t.Schema, t.Name, t.Type})
	}
	return rows, nil
}

// showColumns answers DESCRIBE and SHOW COLUMNS. A table that the caller may not see does not exist.
func (r *run) showColumns(stmt *classify.Statement) ([][]string, error) {
	ref := classify.TableRef{Parts: stmt.Target(), Pos: -1}
	if len(ref.Parts) == 0 {
		return nil, &classify.SyntaxError{Message: "a table name is missing", Pos: -1}
	}
	t := &table{ref: ref, name: ref.Resolve(r.session.Namespace()), written: strings.Join(ref.Parts, "."), position: ref.Pos}
	cols, err := r.describe(t)
	if err != nil {
		return nil, err
	}
	match := like(patternOf(stmt))
	var rows [][]string
	for _, c := range cols {
		if match(c.Name) {
			rows = append(rows, []string{c.Name, c.Type, yesNo(c.Nullable), yesNo(c.Masked)})
		}
	}
	return rows, nil
}

// describe returns the columns of the table that a statement names.
func (r *run) describe(t *table) ([]Column, error) {
	computed, err := r.findInformation(t)
	if err != nil {
		return nil, err
	}
	if computed {
		out := make([]Column, len(t.all))
		for i, c := range t.all {
			out[i] = Column{Column: c}
		}
		return out, nil
	}
	if err := r.find(t); err != nil {
		return nil, err
	}
	return r.columnsOf(Table{Catalog: t.name.Catalog, Schema: t.name.Schema, Name: t.name.Table, Type: "BASE TABLE"})
}

// useNamespace changes where unqualified names resolve, if the caller may see that place.
func (r *run) useNamespace(target []string) error {
	ns := r.session.Namespace()
	switch {
	case len(target) == 0:
		return &classify.SyntaxError{Message: "a catalog or schema name is missing", Pos: -1}
	case len(target) == 1:
		schemas, err := r.schemas(&ns.Catalog, nil)
		if err != nil {
			return err
		}
		if name, ok := fold(target[0], schemas, func(s Schema) string { return s.Schema }); ok {
			r.session.setNamespace(classify.Namespace{Catalog: ns.Catalog, Schema: name})
			return nil
		}
		return r.useCatalog(target[0], nil)
	default:
		schema := strings.Join(target[1:], ".")
		return r.useCatalog(target[0], &schema)
	}
}

// useCatalog makes a catalog the default, with the given schema or else the first one that the caller may see.
func (r *run) useCatalog(name string, schema *string) error {
	_, canonical := r.g.catalog(name)
	schemas, err := r.schemas(&canonical, nil)
	if err != nil {
		return err
	}
	written := name
	if schema != nil {
		written += "." + *schema
		if found, ok := fold(*schema, schemas, func(s Schema) string { return s.Schema }); ok {
			r.session.setNamespace(classify.Namespace{Catalog: canonical, Schema: found})
			return nil
		}
		return &classify.NameError{Kind: "schema", Name: written, Why: "does not exist", Pos: -1}
	}
	names, err := r.catalogs()
	if err != nil {
		return err
	}
	if _, ok := fold(canonical, names, func(s string) string { return s }); !ok {
		return &classify.NameError{Kind: "schema", Name: written, Why: "does not exist", Pos: -1}
	}
	first := ""
	if len(schemas) > 0 {
		first = schemas[0].Schema
	}
	r.session.setNamespace(classify.Namespace{Catalog: canonical, Schema: first})
	return nil
}

func patternOf(stmt *classify.Statement) *string {
	if p := stmt.Pattern(); p != "" {
		return &p
	}
	return nil
}

// escapeLike returns a pattern that matches s alone.
func escapeLike(s string) string {
	return strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(s)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
