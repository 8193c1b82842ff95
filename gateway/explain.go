package gateway

import (
	"gatehouse/classify/printer"
	"gatehouse/plan"
)

// explainText describes a plan in our own words: the governed statement, which reads governed relations instead of tables,
// and each relation's scan.
func explainText(p *plan.Plan) (string, error) {
	sql, err := printer.PrintSelect(p.Tree(), printer.DuckDB())
	if err != nil {
		return "", err
	}
	return "governed statement: " + sql + "\n" + p.Explain(), nil
}
