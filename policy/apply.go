package policy

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"

	"gatehouse/classify"
)

// RowMarker is the name of the only column of a relation of which the statement uses no column at all, as in
// SELECT count(*): a constant, so that rows are counted and no value travels. Its Reads names one column of
// the table, because a scan has to read something.
const RowMarker = "__gw_row"

// maxFilters is how many row filters one table may have.
const maxFilters = 64

// Apply merges what a policy demands into an allowed statement.
//
// tables[i] describes Statement.Tables()[i] with all of its columns, also those that the caller may not see,
// because filters and masks may read them; decisions[i] is what the policy demands of it. Any fault in an
// expression (it does not parse, is not allowed, names no column, …) is a *PolicyError; nothing is ever left
// out. The result does not depend on the order of filters and masks.
func Apply(b *classify.Bound, revision string, tables []Table, decisions []Decision) (*Governed, error) {
	if b == nil || b.Statement() == nil {
		return nil, errors.New("policy: no bound statement")
	}
	rels := b.Relations()
	for _, t := range tables {
		if t.Known != nil && len(t.Known) != len(t.Columns) {
			return nil, fmt.Errorf("policy: %d names for the %d columns of %s", len(t.Known), len(t.Columns), t.Name)
		}
	}
	if len(tables) != len(rels) || len(decisions) != len(rels) || len(rels) != len(b.Statement().Tables()) {
		return nil, fmt.Errorf("policy: %d tables and %d decisions for %d table references", len(tables), len(decisions), len(rels))
	}
	g := &Governed{statement: b.Statement(), revision: revision}
	names := make([]string, len(rels))
	for i := range rels {
		names[i] = "__gw_" + strconv.Itoa(i+1)
		rel, err := relation(b, i, tables[i], decisions[i])
		if err != nil {
			return nil, err
		}
		rel.CTE = names[i]
		g.relations = append(g.relations, rel)
	}
	if g.tree = b.Rewrite(names); g.tree == nil {
		return nil, errors.New("policy: the statement was not rewritten")
	}
	return g, nil
}

// relation builds what the statement sees in place of table reference i.
func relation(b *classify.Bound, i int, t Table, d Decision) (Relation, error) {
	visible := b.Relations()[i]
	if t.Name != visible.Name {
		return Relation{}, fmt.Errorf("policy: table %d is %s, not %s", i, t.Name, visible.Name)
	}
	rel := Relation{Table: i, Name: t.Name, Decision: d.ID, Restricted: d.Restricted}
	var err error
	if rel.Filter, rel.Filters, err = rowFilter(t, d); err != nil {
		return Relation{}, err
	}
	masked, err := outputs(&rel, visible, b.Uses(i), t, d)
	if err != nil {
		return Relation{}, err
	}
	// A filter that may fail must meet the same rows whatever the statement asks for: otherwise its failure answers
	// questions about the hidden rows that the statement picks.
	fails := rel.Filter != nil && mayFail(rel.Filter, t)
	hides := rel.Filter != nil || len(masked) > 0
	for _, c := range b.Conjuncts(i) {
		if !fails && !(d.Steady && hides) && pushable(c, visible, masked) {
			rel.Pushed = append(rel.Pushed, c.Expr)
		}
	}
	rel.Steady = d.Steady
	rel.Raises = b.Raises(i)
	rel.MaskFails = masksFail(rel, t)
	rel.Barrier = hides && (rel.Raises || d.Steady) || rel.Filter != nil && maskMayRaise(rel, b.Uses(i), visible) || fails
	return rel, nil
}

// masksFail reports whether the engine could evaluate a mask that may fail on values of hidden rows.
func masksFail(rel Relation, t Table) bool {
	types := typesOf(classify.Relation{Columns: t.Columns})
	return slices.ContainsFunc(rel.Columns, func(c Output) bool {
		return c.Mask != nil && c.Name != RowMarker && classify.FailsUnseen(hashesAsCalls(c.Mask), types)
	})
}

// hashesAsCalls returns a mask with the engine's own function in place of gw_hash, to weigh it.
func hashesAsCalls(mask *pgquery.Node) *pgquery.Node {
	engine, _ := replaceHash(mask, func(value *pgquery.Node) *pgquery.Node { return call("sha256", value) })
	return engine
}

// maskMayRaise reports whether a condition of the statement reads a mask that can fail on some value. An engine may
// put the mask below such a condition beside the row filter, and then evaluate it on rows that the filter hides.
func maskMayRaise(rel Relation, uses []classify.ColumnUse, visible classify.Relation) bool {
	for _, u := range uses {
		if u.Roles&(classify.RoleFilter|classify.RoleJoin) == 0 {
			continue
		}
		for _, c := range rel.Columns {
			if c.Mask == nil || c.FieldID != visible.Columns[u.Column].FieldID {
				continue
			}
			if classify.ExprClassTyped(hashesAsCalls(c.Mask), typesOf(visible)) != classify.ClassLeakproof {
				return true
			}
		}
	}
	return false
}

// typesOf returns the types of one-part column references.
func typesOf(rel classify.Relation) classify.TypeOf {
	return func(ref *pgquery.ColumnRef) string {
		if len(ref.Fields) != 1 {
			return ""
		}
		c, _ := columnNamed(rel.Columns, ref.Fields[0].GetString_().GetSval())
		return c.Type
	}
}

// outputs fills rel.Columns and rel.Masks and returns the field ids of masked columns.
func outputs(rel *Relation, visible classify.Relation, uses []classify.ColumnUse, t Table, d Decision) (map[int]bool, error) {
	masks, err := bindMasks(t, d)
	if err != nil {
		return nil, err
	}
	masked := map[int]bool{}
	for id := range masks { // also those of columns that are not used: a pushed condition must never read one
		masked[id] = true
	}
	uses = slices.Clone(uses)
	slices.SortFunc(uses, func(a, b classify.ColumnUse) int { return a.Column - b.Column })
	for _, u := range uses {
		if u.Column < 0 || u.Column >= len(visible.Columns) {
			return nil, fmt.Errorf("policy: use of column %d of %d", u.Column, len(visible.Columns))
		}
		c := visible.Columns[u.Column]
		full, ok := columnNamed(t.Columns, c.Name)
		if !ok || full != c {
			return nil, fmt.Errorf("policy: column %q is not the table's own", c.Name)
		}
		out := Output{Name: c.Name, FieldID: c.FieldID, Type: c.Type, Reads: []int{c.FieldID}}
		if m, ok := masks[c.FieldID]; ok {
			out.Mask, out.Reads = m.node, m.reads
			rel.Masks = append(rel.Masks, c.Name+"="+m.id)
		}
		rel.Columns = append(rel.Columns, out)
	}
	if len(rel.Columns) == 0 {
		if len(t.Columns) == 0 {
			return nil, errors.New("policy: a table without columns")
		}
		read := t.Columns[0].FieldID
		rel.Columns = []Output{{Name: RowMarker, FieldID: read, Type: "BOOLEAN", Mask: boolConst(true), Reads: []int{read}}}
	}
	return masked, nil
}

// boundMask is one mask whose columns are resolved.
type boundMask struct {
	id    string
	node  *pgquery.Node
	reads []int
}

// bindMasks parses and binds every mask of d. The result is by field id: a column may have had another name.
func bindMasks(t Table, d Decision) (map[int]boundMask, error) {
	masks := map[int]boundMask{}
	for name, e := range d.Masks {
		c, ok := t.columnKnown(name)
		if !ok {
			return nil, fault(d, e, fmt.Errorf("mask for column %q, which the table does not have", name))
		}
		n, reads, err := expression(e, t)
		if err != nil {
			return nil, fault(d, e, err)
		}
		if len(reads) == 0 { // a constant still needs rows to stand in
			reads = []int{c.FieldID}
		}
		masks[c.FieldID] = boundMask{id: identify(e), node: n, reads: reads}
	}
	return masks, nil
}

// rowFilter returns the AND of all filters; those that share AnyOf are ORed first. Duplicates fall away, and the
// order is that of the expressions' ids and texts, whatever order the policy gave.
func rowFilter(t Table, d Decision) (*pgquery.Node, []string, error) {
	if len(d.Filters) > maxFilters {
		return nil, nil, &PolicyError{Decision: d.ID, Cause: fmt.Errorf("%d row filters, at most %d are allowed", len(d.Filters), maxFilters)}
	}
	filters := slices.Clone(d.Filters)
	slices.SortStableFunc(filters, func(a, b Expression) int { return strings.Compare(sortKey(a), sortKey(b)) })
	filters = slices.CompactFunc(filters, func(a, b Expression) bool { return sortKey(a) == sortKey(b) })

	var all []*pgquery.Node
	var ids []string
	groups := map[string]int{} // AnyOf: position in all
	for _, e := range filters {
		n, _, err := expression(e, t)
		if err == nil && !isBoolean(n, t) {
			err = errors.New("a row filter must be a condition")
		}
		if err != nil {
			return nil, nil, fault(d, e, err)
		}
		ids = append(ids, identify(e))
		if at, ok := groups[e.AnyOf]; ok && e.AnyOf != "" {
			all[at] = boolExpr(pgquery.BoolExprType_OR_EXPR, all[at], n)
			continue
		}
		groups[e.AnyOf] = len(all)
		all = append(all, n)
	}
	if len(all) == 0 {
		return nil, nil, nil
	}
	return boolExpr(pgquery.BoolExprType_AND_EXPR, all...), ids, nil
}

// pushable reports whether c may be evaluated on hidden rows: it can fail on none and reads no masked column.
func pushable(c classify.Conjunct, visible classify.Relation, masked map[int]bool) bool {
	for _, i := range c.Columns {
		if i < 0 || i >= len(visible.Columns) || masked[visible.Columns[i].FieldID] {
			return false
		}
	}
	return c.Expr != nil && classify.ExprClassTyped(c.Expr, typesOf(visible)) == classify.ClassLeakproof
}

// fault makes the error of a broken expression.
func fault(d Decision, e Expression, cause error) *PolicyError {
	return &PolicyError{Decision: d.ID, Rule: e.Rule, Cause: fmt.Errorf("%s: %w", identify(e), cause)}
}

// identify names e for audit.
func identify(e Expression) string {
	switch {
	case e.ID != "":
		return e.ID
	case e.Rule != "":
		return e.Rule
	default:
		return "unnamed"
	}
}

// columnNamed returns the column with exactly this name.
func columnNamed(cs []classify.Column, name string) (classify.Column, bool) {
	i := slices.IndexFunc(cs, func(c classify.Column) bool { return c.Name == name })
	if i < 0 {
		return classify.Column{}, false
	}
	return cs[i], true
}

// columnKnown returns the column that the policy knows by exactly this name.
func (t Table) columnKnown(name string) (classify.Column, bool) {
	for i, c := range t.Columns {
		if name != "" && t.KnownName(i) == name {
			return c, true
		}
	}
	return classify.Column{}, false
}
