package duckdb

import (
	"fmt"
	"slices"
	"strings"

	"gatehouse/catalog"
	"gatehouse/executors"
	"gatehouse/plan"
)

// positionBits is how many bits of a packed key hold the position in a file; the bits above hold the file's place in its arm.
const positionBits = 40

// arm is a group of files that one table function reads: they have the same layout, the same equality deletes, and either all
// or none are read as if they had deletes by position.
type arm struct {
	layout *layout
	// equality are the steps of equality deletes, see chains: a file on step k has those of the first k.
	equality [][]int
	keyed    bool
	files    []armFile
}

type armFile struct {
	plan.File
	link *link
	step int
}

// scan is one relation's scan, ready to be printed.
type scan struct {
	relation *plan.Relation
	arms     []*arm
	deletes  []*link // by Scan.Deletes
	keys     []keyTable
	wants    []want
}

// keyTable is a temporary table of packed keys of rows that are deleted by position.
type keyTable struct {
	name string
	arm  *arm
}

// openScan makes the relation's files readable, reads their footers, and groups them. alike is for statements that may fail: where rows may
// be hidden, files without deletes by position are read as if they had some. Join orders, and with them whether a
// failure of visible rows is met at all, hang on more than the estimates that deletesEstimate sets right.
func (x *Executor) openScan(r *plan.Relation, p *pins, alike bool) (*scan, error) {
	s := &scan{relation: r}
	alike = alike && r.Scan.Rough > 0
	for _, f := range r.Scan.Fields {
		if f.ID <= 0 {
			return nil, internal("field id %d", f.ID)
		}
	}
	for i := range r.Scan.Deletes {
		if err := x.openDelete(s, &r.Scan.Deletes[i], p); err != nil {
			return nil, err
		}
	}
	chained := newChains(&r.Scan)
	arms := map[string]*arm{}
	for i, f := range r.Scan.Files {
		l, err := p.open(r.Scan.Objects, f.Path, f.Size, dataExtension)
		if err != nil {
			return nil, err
		}
		ft, err := x.footers.read(l)
		if err != nil {
			return nil, err
		}
		if ft.rows != f.Rows {
			return nil, dataError("%s has %d rows, its manifest says %d", f.Path, ft.rows, f.Rows)
		}
		lay, err := newLayout(r.Scan.Fields, ft, f.Mapping)
		if err != nil {
			return nil, err
		}
		if l.mirror != nil {
			s.wants = append(s.wants, want{mirror: l.mirror, columns: columnsOf(r.Scan.Fields, ft, f.Mapping)})
		}
		keyed, err := hasPositions(&r.Scan, f)
		if err != nil {
			return nil, err
		}
		keyed = keyed || alike
		chain, step := chained.of(i)
		key := fmt.Sprint(chain, keyed, constantIDs(lay, f), lay.text())
		if arms[key] == nil {
			arms[key] = &arm{layout: lay, equality: chained.steps(chain), keyed: keyed}
			s.arms = append(s.arms, arms[key])
		}
		arms[key].files = append(arms[key].files, armFile{f, l, step})
	}
	for i, a := range s.arms {
		if a.keyed {
			s.keys = append(s.keys, keyTable{name: fmt.Sprintf("__gw_keys_%s_%d", strings.TrimPrefix(r.CTE, "__gw_"), i), arm: a})
		}
	}
	return s, nil
}

// openDelete makes a delete file readable.
func (x *Executor) openDelete(s *scan, d *plan.DeleteFile, p *pins) error {
	l, err := p.open(s.relation.Scan.Objects, d.Path, d.Size, deleteExtension(d.Kind))
	if err != nil {
		return err
	}
	s.deletes = append(s.deletes, l)
	w := want{mirror: l.mirror}
	if d.Kind == plan.DeletionVector {
		w.vectors = []*plan.DeleteFile{d}
	} else if w.columns, err = x.checkDelete(d, l); err != nil {
		return err
	}
	if l.mirror != nil {
		s.wants = append(s.wants, w)
	}
	return nil
}

// constantIDs lists the fields that the file lacks and that its partition tells, ascending.
func constantIDs(l *layout, f plan.File) []int {
	var ids []int
	for id := range l.missing {
		if _, ok := f.Constants[id]; ok {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// hasPositions reports whether rows of f are deleted by position.
func hasPositions(s *plan.Scan, f plan.File) (bool, error) {
	found := false
	for _, i := range f.Deletes {
		if i < 0 || i >= len(s.Deletes) {
			return false, internal("delete file %d of %d", i, len(s.Deletes))
		}
		switch s.Deletes[i].Kind {
		case plan.PositionDeletes, plan.DeletionVector:
			found = true
		case plan.EqualityDeletes:
		default:
			return false, &executors.Error{Kind: executors.KindUnsupported, Hint: "the table has delete files of an unknown kind"}
		}
	}
	return found, nil
}

// text is a SELECT of the columns c<id>, without the deleted rows.
func (s *scan) text() (string, error) {
	if s.relation.Scan.Computed {
		return computed(&s.relation.Scan)
	}
	if len(s.arms) == 0 {
		return emptyScan(&s.relation.Scan), nil
	}
	arms := make([]string, len(s.arms))
	for i, a := range s.arms {
		var err error
		if arms[i], err = s.armText(a); err != nil {
			return "", err
		}
	}
	return strings.Join(arms, " UNION ALL "), nil
}

// emptyScan has no rows. Where rows may be hidden, the engine must not see that there are none: it would leave out what else the statement
// computes, and with it an error, so that this would tell a table without rows from one whose rows are all hidden.
func emptyScan(s *plan.Scan) string {
	if s.Rough == 0 {
		return "SELECT " + stubColumns(s.Fields) + " WHERE false"
	}
	columns := make([]string, len(s.Fields))
	for i, f := range s.Fields {
		// A constant would make the filter one.
		columns[i] = fmt.Sprintf("TRY_CAST(CASE WHEN i < 0 THEN CAST(i AS VARCHAR) END AS %s) AS %s", f.Type, columnName(f.ID))
	}
	if len(columns) == 0 {
		columns = []string{"i AS c0"}
	}
	return fmt.Sprintf("SELECT %s FROM range(%d) AS r(i) WHERE i < 0", strings.Join(columns, ", "), s.Rough)
}

// stubColumns are typed NULLs named like the fields.
func stubColumns(fields []plan.Field) string {
	var out []string
	for _, f := range fields {
		out = append(out, fmt.Sprintf("CAST(NULL AS %s) AS %s", f.Type, columnName(f.ID)))
	}
	if len(out) == 0 {
		return "1 AS c0"
	}
	return strings.Join(out, ", ")
}

func (s *scan) armText(a *arm) (string, error) {
	fields := s.relation.Scan.Fields
	var b strings.Builder
	b.WriteString("SELECT ")
	for i, f := range fields {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(a.value(f, a.layout.sources[i]) + " AS " + columnName(f.ID))
	}
	if len(fields) == 0 {
		b.WriteString("1 AS c0")
	}
	b.WriteString(" FROM " + a.read(fields, s.rough(a)) + " d")
	joins, err := s.equalityJoins(a)
	if err != nil {
		return "", err
	}
	b.WriteString(joins)
	if a.keyed {
		fmt.Fprintf(&b, " WHERE ((d.file_index::BIGINT << %d) | d.file_row_number) NOT IN (SELECT k FROM temp.main.%s)", positionBits, s.keyTable(a))
	}
	return b.String(), nil
}

func (s *scan) keyTable(a *arm) string {
	for _, k := range s.keys {
		if k.arm == a {
			return k.name
		}
	}
	return ""
}

// value is the expression of one column of an arm.
func (a *arm) value(f plan.Field, src source) string {
	if f.ID == catalog.RowIDField || f.ID == catalog.LastUpdatedField {
		return a.lineage(f)
	}
	if _, missing := a.layout.missing[f.ID]; missing {
		if _, ok := a.files[0].Constants[f.ID]; ok {
			return a.constant(f)
		}
	}
	if src.expr == "" {
		return columnRef(f.ID)
	}
	return fmt.Sprintf("CAST(%s AS %s)", src.expr, f.Type)
}

// lineage is a row's id, or the sequence number of the commit that wrote it last: what the file has for rows that were moved into it,
// and else what the file's own numbers say. Files from before row lineage have neither (Iceberg specification, version 3, "Row Lineage").
func (a *arm) lineage(f plan.Field) string {
	values := make([]string, len(a.files))
	for i, file := range a.files {
		switch {
		case file.FirstRow == nil:
			values[i] = "NULL"
		case f.ID == catalog.RowIDField:
			values[i] = fmt.Sprint(*file.FirstRow)
		default:
			values[i] = fmt.Sprint(file.Seq)
		}
	}
	own := fmt.Sprintf("(CAST(%s AS BIGINT[]))[d.file_index::BIGINT + 1]", list(values, func(s string) string { return s }))
	if f.ID == catalog.RowIDField {
		own += " + d.file_row_number"
	}
	return fmt.Sprintf("COALESCE(%s, %s)", columnRef(f.ID), own)
}

// constant is the value that partitions tell: one for all files of the arm, or one for each.
func (a *arm) constant(f plan.Field) string {
	values := make([]string, len(a.files))
	for i, file := range a.files {
		values[i] = "NULL"
		if v := file.Constants[f.ID]; v != nil {
			values[i] = literal(*v)
		}
	}
	if len(slices.Compact(slices.Clone(values))) == 1 {
		return fmt.Sprintf("CAST(%s AS %s)", values[0], f.Type)
	}
	return fmt.Sprintf("CAST((CAST(%s AS VARCHAR[]))[d.file_index::BIGINT + 1] AS %s)", list(values, func(s string) string { return s }), f.Type)
}

// deletesEstimate undoes what the engine estimates of rows that are not among deleted ones: a fifth, however many those are.
const deletesEstimate = 5

// rough is how many rows the engine is to reckon with in arm a, 0 for those of its files. It is made so that deletes, which are hidden, change
// no estimate above the scan.
func (s *scan) rough(a *arm) int64 {
	rows := s.relation.Scan.Rough / int64(len(s.arms))
	if a.keyed {
		rows *= deletesEstimate
	}
	return rows
}

// read is the table function over the arm's files. The engine reckons with rows, or with what the files have if that is 0.
func (a *arm) read(fields []plan.Field, rows int64) string {
	if rows == 0 {
		for _, f := range a.files {
			rows += f.Rows
		}
	}
	links := list(a.files, func(f armFile) string { return literal(f.link.path) })
	return readParquet(links, fields, a.layout, rows)
}

// readParquet reads fields by id, or by the names that a name mapping gives them. Without an explicit cardinality the engine
// would reckon with a thousand rows a file. Bounds in file footers leave out NaN.
func readParquet(links string, fields []plan.Field, l *layout, rows int64) string {
	var columns []string
	nan := false
	for i, f := range fields {
		key, typ := fmt.Sprint(f.ID), f.Type
		if l != nil {
			key, typ = l.sources[i].key, l.sources[i].typ
		}
		def := "NULL"
		if f.Default != nil && len(f.Nested) == 0 {
			def = literal(*f.Default)
		}
		nan = nan || f.NaN || len(f.Nested) > 0
		columns = append(columns, fmt.Sprintf("%s: {name: '%s', type: %s, default_value: %s::VARCHAR}", key, columnName(f.ID), literal(typ), def))
	}
	if len(columns) == 0 {
		// The engine wants some column; no file has this one, and it is not read.
		key := "2147483000"
		if l != nil && l.byName {
			key = "'__gw_none'"
		}
		columns = append(columns, key+": {name: 'c0', type: 'BIGINT', default_value: NULL::VARCHAR}")
	}
	options := fmt.Sprintf("explicit_cardinality=%d, hive_partitioning=false", rows)
	if nan {
		options += ", can_have_nan=true"
	}
	return fmt.Sprintf("read_parquet(%s, schema=MAP {%s}, %s)", links, strings.Join(columns, ", "), options)
}
