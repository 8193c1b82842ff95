package plan

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"

	"gatehouse/policy"
)

// Explain returns the plan as text for the user who asked, a few lines for each relation. It is written from our own objects, so that
// neither a literal of a policy nor a text of an engine can be in it.
//
// Where a policy hides rows or values of a table, files, rows and the snapshot are left out: they change with what is hidden.
func (p *Plan) Explain() string {
	var b strings.Builder
	for i := range p.relations {
		if i > 0 {
			b.WriteString("\n")
		}
		p.relations[i].explain(&b)
	}
	if len(p.relations) == 0 {
		b.WriteString("no table is read\n")
	}
	return b.String()
}

func (r *Relation) explain(b *strings.Builder) {
	fmt.Fprintf(b, "scan %s\n", r.Name)
	line := func(key, value string) { fmt.Fprintf(b, "  %-9s %s\n", key, value) }
	var columns []string
	for _, c := range r.Columns {
		columns = append(columns, visible(c.Name))
	}
	line("columns", strings.Join(columns, ", "))
	if r.Filter != nil {
		line("filter", "yes")
	}
	if masked := r.maskedColumns(); len(masked) > 0 {
		line("masked", strings.Join(masked, ", "))
	}
	if n := len(r.Pushed); n > 0 {
		line("pushed", fmt.Sprintf("%d of the statement's conditions, on %s", n, strings.Join(pushedColumns(r), ", ")))
	}
	if r.Barrier {
		line("barrier", "computed in full before the statement's own expressions")
	}
	switch {
	case r.Filter != nil || len(r.maskedColumns()) > 0:
		line("files", "not shown, a policy applies")
	case r.Scan.Computed:
		line("rows", strconv.Itoa(len(r.Scan.Values))+", computed by the gateway")
	case r.Scan.Snapshot == 0:
		line("snapshot", "none, the table is empty")
	default:
		line("snapshot", strconv.FormatInt(r.Scan.Snapshot, 10))
		line("files", fmt.Sprintf("%d of %d", len(r.Scan.Files), r.Scan.FilesTotal))
		line("deletes", strconv.Itoa(len(r.Scan.Deletes)))
		line("rows", fmt.Sprintf("at most %d", r.Scan.Rows))
	}
}

// maskedColumns returns the names of the columns whose raw values do not show.
func (r *Relation) maskedColumns() []string {
	var out []string
	for _, c := range r.Columns {
		if c.Mask != nil && c.Name != policy.RowMarker {
			out = append(out, visible(c.Name))
		}
	}
	return out
}

func pushedColumns(r *Relation) []string {
	names := columnNames(slices.Clone[[]*pgquery.Node](r.Pushed))
	var out []string
	for _, f := range r.Scan.Fields {
		if names[strings.ToLower(f.Name)] {
			out = append(out, visible(f.Name))
		}
	}
	return out
}

// visible keeps a name from breaking the lines of the plan.
func visible(name string) string {
	if name == policy.RowMarker {
		return "(rows only)"
	}
	if strconv.Quote(name) != `"`+name+`"` || strings.ContainsAny(name, ", ") {
		return strconv.Quote(name)
	}
	return name
}
