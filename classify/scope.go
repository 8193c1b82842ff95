package classify

import (
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"
)

// scope is what names mean at one place of the statement.
type scope struct {
	up      *scope // the enclosing query, or what stands before a lateral item
	from    *from
	aliases []*column // output names that may be used here
	alias   aliasRule
	lambdas []string // parameters of the lambdas that are open, folded
	windows map[string]bool
	sorts   bool // it is that of ORDER BY
}

// aliasRule says what an unqualified name means that is both a column and an output name.
type aliasRule int

const (
	columnFirst aliasRule = iota // WHERE, GROUP BY, SELECT
	eitherOne                    // HAVING, QUALIFY, ORDER BY: count both as used
)

// from is what a FROM clause, or a part of one, makes visible.
type from struct {
	items []*item   // for qualified names
	cols  []*column // for unqualified names and *, in the order of *
}

// item is one relation of a FROM clause.
type item struct {
	name            string // alias, or the table's own name
	schema, catalog string // a base table without alias: what it may be qualified with
	table           int    // index into Statement.Tables, -1 for anything else
	cols            []*column
	pos             int // in the user's text, -1 if not known
}

func (f *from) join(g *from) *from {
	return &from{
		items: append(append([]*item(nil), f.items...), g.items...),
		cols:  append(append([]*column(nil), f.cols...), g.cols...),
	}
}

// item returns the relation that the qualifier names, written with as many levels as it has parts.
func (f *from) item(qualifier []string) *item {
	for _, it := range f.items {
		q := qualifier
		if !same(q[len(q)-1], it.name) {
			continue
		}
		if len(q) >= 2 && (it.table < 0 || it.schema == "" || !same(q[len(q)-2], it.schema)) {
			continue
		}
		if len(q) == 3 && !same(q[0], it.catalog) {
			continue
		}
		return it
	}
	return nil
}

// pick returns the columns of one relation that name means: the exact ones, else those equal but for case.
func pick(cols []*column, name string) []*column {
	var exact, folded []*column
	for _, c := range cols {
		switch {
		case c.name == name:
			exact = append(exact, c)
		case same(c.name, name):
			folded = append(folded, c)
		}
	}
	if exact != nil {
		return exact
	}
	return folded
}

// find returns what an unqualified column name means. Two relations that have it make it ambiguous; a subquery
// that has it twice does not, but then both count.
func (f *from) find(name string) (cols []*column, ambiguous bool) {
	if f == nil {
		return nil, false
	}
	var owner *item
	for _, c := range f.cols {
		if !same(c.name, name) {
			continue
		}
		if cols != nil && (c.item == nil || c.item != owner) {
			return nil, true
		}
		cols, owner = append(cols, c), c.item
	}
	cols = pick(cols, name)
	return cols, len(cols) > 1 && owner != nil && owner.table >= 0
}

func same(a, b string) bool { return fold(a) == fold(b) }

// resolved is what one column reference means.
type resolved struct {
	cols   []*column // all readings that count; none for a lambda parameter
	in     *scope
	from   *scope  // where it stands
	drop   int     // qualifier parts that only a base table has
	fields int     // struct fields read from it
	typ    string  // of the whole reference, "" if unknown
	row    *item   // a whole-row reference
	output bool    // an output name took part
	column *column // in ORDER BY, the column of FROM that goes by the name of an output
}

// parts returns the identifiers of a column reference; star says that it ends in *.
func parts(c *pgquery.ColumnRef) (names []string, star bool) {
	for _, f := range c.Fields {
		if f.GetAStar() != nil {
			return names, true
		}
		names = append(names, f.GetString_().GetSval())
	}
	return names, false
}

// resolve finds what c means, innermost scope first.
func (b *binder) resolve(c *pgquery.ColumnRef, s *scope) (*resolved, error) {
	names, star := parts(c)
	if star || len(names) == 0 {
		return nil, &UnsupportedError{Construct: "* outside a target list", Pos: int(c.Location)}
	}
	for sc := s; sc != nil; sc = sc.up {
		r, err := sc.lookup(names, int(c.Location))
		if err != nil {
			return nil, err
		}
		if r != nil {
			r.in, r.from = sc, s
			b.record(c, r)
			return r, nil
		}
	}
	if len(names) > 1 { // a relation of that name would have been asked, and have refused
		return nil, &NameError{Kind: "alias", Name: names[0], Why: "does not exist", Pos: int(c.Location)}
	}
	return nil, noColumn(names, int(c.Location))
}

func noColumn(names []string, pos int) error {
	return &NameError{Kind: "column", Name: strings.Join(names, "."), Why: "does not exist", Pos: pos}
}

func ambiguous(names []string, pos int) error {
	return &NameError{Kind: "column", Name: strings.Join(names, "."), Why: "is ambiguous", Pos: pos}
}

// lookup reads names in this scope only; nil means that an outer one may know better.
func (s *scope) lookup(names []string, pos int) (*resolved, error) {
	if s.lambda(names[0]) {
		return &resolved{fields: len(names) - 1}, nil
	}
	if len(names) > 1 {
		if r, err := s.qualified(names, pos); r != nil || err != nil {
			return r, err
		}
	}
	r, err := s.unqualified(names, pos)
	if r != nil || err != nil {
		return r, err
	}
	if s.from == nil {
		return nil, nil
	}
	it := s.from.item(names[:1])
	switch {
	case it == nil:
		return nil, nil
	case len(names) > 1:
		return nil, noColumn(names, pos)
	}
	return &resolved{cols: it.cols, row: it}, nil
}

func (s *scope) lambda(name string) bool {
	for _, l := range s.lambdas {
		if l == fold(name) {
			return true
		}
	}
	return false
}

// qualified reads names as [[catalog.]schema.]relation.column[.field…]. Two ways to read it make it ambiguous.
func (s *scope) qualified(names []string, pos int) (*resolved, error) {
	if s.from == nil {
		return nil, nil
	}
	var found *resolved
	for k := 0; k <= 2 && k+2 <= len(names); k++ {
		it := s.from.item(names[:k+1])
		if it == nil {
			continue
		}
		cols := pick(it.cols, names[k+1])
		fields := len(names) - k - 2
		if len(cols) == 0 || (fields > 0 && !structured(cols)) {
			continue
		}
		if found != nil || (len(cols) > 1 && it.table >= 0) {
			return nil, ambiguous(names, pos)
		}
		found = &resolved{cols: cols, drop: k, fields: fields, typ: typeOfAll(cols, fields)}
	}
	return found, nil
}

// unqualified reads names as column[.field…].
func (s *scope) unqualified(names []string, pos int) (*resolved, error) {
	cols, twice := s.from.find(names[0])
	if twice {
		return nil, ambiguous(names[:1], pos)
	}
	fields := len(names) - 1
	var outputs []*column
	if fields == 0 {
		outputs = pick(s.aliases, names[0])
	}
	if fields > 0 && !structured(cols) {
		cols = nil
	}
	switch {
	case len(cols) == 0 && len(outputs) == 0:
		return nil, nil
	case len(outputs) == 0 || (len(cols) > 0 && s.alias == columnFirst):
		return &resolved{cols: cols, fields: fields, typ: typeOfAll(cols, fields)}, nil
	case s.alias == eitherOne:
		outputs = append(append([]*column(nil), outputs...), cols...)
	}
	r := &resolved{cols: outputs, typ: typeOfAll(outputs, 0), output: true}
	if s.sorts && len(cols) == 1 {
		r.column = cols[0]
	}
	return r, nil
}

// structured reports whether one of cols can have fields.
func structured(cols []*column) bool {
	for _, c := range cols {
		t := strings.ToUpper(c.val.typ)
		if t == "" || strings.HasPrefix(t, "STRUCT") || strings.HasPrefix(t, "UNION") || strings.HasPrefix(t, "MAP") {
			return true
		}
	}
	return false
}

func typeOfAll(cols []*column, fields int) string {
	if fields > 0 || len(cols) == 0 {
		return ""
	}
	for _, c := range cols[1:] {
		if c.val.typ != cols[0].val.typ {
			return ""
		}
	}
	return cols[0].val.typ
}
