package classify

import pgquery "github.com/pganalyze/pg_query_go/v6"

// Equal returns the text that column, by its exact name, of table reference i must equal for a row to matter to the statement, and
// whether there is one.
func (b *Bound) Equal(i int, column string) (string, bool) {
	for _, c := range b.Conjuncts(i) {
		e := c.Expr.GetAExpr()
		if e == nil || e.Kind != pgquery.A_Expr_Kind_AEXPR_OP || len(e.Name) != 1 || e.Name[0].GetString_().GetSval() != "=" {
			continue
		}
		for _, side := range [][2]*pgquery.Node{{e.Lexpr, e.Rexpr}, {e.Rexpr, e.Lexpr}} {
			ref, value := side[0].GetColumnRef(), side[1].GetAConst().GetSval()
			if value != nil && ref != nil && len(ref.Fields) == 1 && ref.Fields[0].GetString_().GetSval() == column {
				return value.Sval, true
			}
		}
	}
	return "", false
}
