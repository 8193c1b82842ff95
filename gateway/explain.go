package gateway

import (
	"fmt"
	"strings"

	"gatehouse/classify/printer"
	"gatehouse/plan"
	"gatehouse/policy"
)

// explainText describes a plan in our own words: the governed statement, which reads governed relations instead of tables,
// and each relation. It holds no expression of the policy. What depends on rows that the caller may not see (files,
// row estimates) is shown only for a relation that hides nothing.
func explainText(p *plan.Plan) (string, error) {
	sql, err := printer.PrintSelect(p.Tree(), printer.DuckDB())
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "governed statement: %s\n", sql)
	for _, rel := range p.Relations() {
		if err := explainRelation(&b, &rel); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

func explainRelation(b *strings.Builder, rel *plan.Relation) error {
	fmt.Fprintf(b, "relation %s: %s\n", rel.CTE, rel.Name)
	var shown, masked []string
	for _, c := range rel.Columns {
		switch {
		case c.Name == policy.RowMarker:
		case c.Mask != nil:
			masked = append(masked, c.Name)
		default:
			shown = append(shown, c.Name)
		}
	}
	listed(b, "columns", shown)
	listed(b, "masked columns", masked)
	hides := rel.Filter != nil || len(masked) > 0
	if rel.Filter != nil {
		b.WriteString("  row filter: yes\n")
	}
	if rel.Barrier {
		b.WriteString("  barrier: computed in full before the statement's own expressions run on it\n")
	}
	pushed, err := printer.PrintExprs(rel.Pushed, printer.DuckDB())
	if err != nil {
		return err
	}
	if len(pushed) > 0 {
		fmt.Fprintf(b, "  evaluated at the scan: %s\n", strings.Join(pushed, " AND "))
	}
	if !hides {
		fmt.Fprintf(b, "  files: %d of %d, rows: at most %d\n", len(rel.Scan.Files), rel.Scan.FilesTotal, rel.Scan.Rows)
	}
	return nil
}

func listed(b *strings.Builder, what string, names []string) {
	if len(names) > 0 {
		fmt.Fprintf(b, "  %s: %s\n", what, strings.Join(names, ", "))
	}
}
