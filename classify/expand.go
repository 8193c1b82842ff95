package classify

import (
	"strconv"

	pgquery "github.com/pganalyze/pg_query_go/v6"
)

// maxExpansions bounds the tables of a statement once each mention of a CTE that is NOT MATERIALIZED has its query in its place. The engine
// does that before it can be interrupted, and a chain in which each names the one before twice doubles with every word.
const maxExpansions = 256

// expansions refuses a statement that the engine would make too long.
func (w *tableWalk) expansions() error {
	weights := map[*pgquery.CommonTableExpr]int{}
	for _, cte := range w.decls { // the ones that a query can name come before it, but for itself and those inside
		w.weigh(cte, weights)
		if weights[cte] > maxExpansions {
			return tooMany(int(cte.Location))
		}
	}
	total := 0
	for _, cte := range w.ctes {
		if total += weights[cte]; total > maxExpansions {
			return tooMany(-1)
		}
	}
	return nil
}

func tooMany(pos int) error {
	return overLimit("CTEs AS NOT MATERIALIZED that become more than "+strconv.Itoa(maxExpansions)+" tables", pos)
}

// weigh counts the tables that a mention of cte becomes: none if it is computed once.
func (w *tableWalk) weigh(cte *pgquery.CommonTableExpr, weights map[*pgquery.CommonTableExpr]int) int {
	if n, ok := weights[cte]; ok || cte.GetCtematerialized() != pgquery.CTEMaterialize_CTEMaterializeNever {
		return n
	}
	weights[cte] = 0 // a recursive one is not expanded within itself
	n := 0
	for _, rv := range all[*pgquery.RangeVar](cte.Ctequery) {
		n += max(1, w.weigh(w.ctes[rv], weights))
		if n > maxExpansions {
			break
		}
	}
	weights[cte] = n
	return n
}
