package printer

import (
	"strconv"

	pgquery "github.com/pganalyze/pg_query_go/v6"
)

// leastInteger is the one number that DuckDB has for a BIGINT, the negative of one, though it is an INTEGER's.
const leastInteger = "-2147483648"

// alone notes that values are combined with each other, in this order, as in an operation or a CASE, or that the only one is a value by itself.
//
// An integer that is written down has no type in DuckDB until it meets another value: then it has that one's, if it fits. Two of them have the wider of the types
// that they are read as, and the first two decide: 7 * -2147483648 is a BIGINT, and so is the least INTEGER by itself. The engine of another dialect gives each
// number a type, so such ones are printed as they are, which makes them BIGINT there. Beside a column the least INTEGER is an INTEGER like any other.
func (p *printer) alone(values ...*pgquery.Node) {
	if p.d.number == nil {
		return
	}
	for len(values) > 1 && isNull(values[0]) && isNull(values[1]) {
		values = values[1:]
	}
	wide := false
	for _, v := range values[:min(2, len(values))] {
		text, ok := integral(v)
		if !ok && !isNull(v) {
			return
		}
		wide = wide || text == leastInteger
	}
	for _, v := range values {
		if _, ok := integral(v); ok && wide {
			p.wide = append(p.wide, v.GetAConst())
		}
	}
}

// columnsAlone notes so of each column of VALUES, whose type is that of the first value until one does not fit.
func (p *printer) columnsAlone(rows []*pgquery.Node) {
	for i := range rows[0].GetList().GetItems() {
		column := []*pgquery.Node{nil}
		for _, row := range rows {
			if items := row.GetList().GetItems(); i < len(items) {
				column = append(column, items[i])
			}
		}
		p.alone(column...)
	}
}

// isNull reports whether a value is NULL, or that of an ELSE that is not there.
func isNull(n *pgquery.Node) bool { return n == nil || n.GetAConst().GetIsnull() }

// integral returns the text of a node that is a BIGINT or less, written down.
func integral(n *pgquery.Node) (string, bool) {
	text, ok := number(&pgquery.A_Const{Val: n.GetAConst().GetVal()})
	if ok {
		_, err := strconv.ParseInt(text, 10, 64)
		ok = err == nil
	}
	return text, ok
}
