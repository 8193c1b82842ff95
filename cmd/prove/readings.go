package main

import (
	"math/rand/v2"
)

// readings has numbers whose sum hangs on the order in which they are added, in many small row groups: which thread takes which is up to how
// many hidden rows lie in each.
func readings() twinTable {
	return twinTable{
		name: "readings", rows: 6000, group: 700, filter: "region = 'EU'",
		hiddenRows: map[side]int{sideA: 9000, sideB: 9000}, files: map[side]int{sideA: 3, sideB: 3, sideC: 1},
		columns: append(append([]column{id()}, deciding()...),
			column{name: "reading", kind: "double", typ: double, hidden: hiddenDouble, visible: maybe(50, func(r *rand.Rand, _ int) any {
				return pick(r, 1e16, -1e16, 1, 0.1, 1e-300, 3e20, -3e20, 1e300, -1e300, r.Float64(), r.NormFloat64()*1e9)
			})},
			column{name: "weight", kind: "double", typ: double, hidden: hiddenDouble, visible: func(r *rand.Rand, _ int) any { return r.Float64() * 100 }},
			column{name: "grade", kind: "int", typ: short, visible: func(r *rand.Rand, _ int) any { return int32(r.IntN(30)) }, hidden: hiddenInt},
			column{name: "t_num", kind: "varchar", typ: str, visible: text("0.1", "1e16", "-1e16", "7"), hidden: few(hiddenText, canaryText)},
		),
	}
}

// sums makes a statement with an aggregate whose value would hang on the order of rows if the engine computed it as it is.
func (g *generator) sums() *statement {
	number := func() *node {
		return word("double", pick(g.r, "r.reading", "r.reading", "r.weight", "r.weight", "r.reading * 3", "r.grade / 7", "CAST(r.weight AS REAL)", "sqrt(r.weight)", "r.weight - 50",
			"CASE WHEN r.id % 5 = 0 THEN 1e16 WHEN r.id % 5 = 1 THEN -1e16 ELSE 1 END", "CAST(r.t_num AS DOUBLE)", "coalesce(r.reading, r.grade)", "greatest(r.weight, r.grade)"))
	}
	aggregate := func() *node {
		x, y := number(), number()
		switch g.r.IntN(8) {
		case 0, 1, 2:
			return clause(pick(g.r, "sum(", "sum(", "avg(", "mean(", "fsum(", "kahan_sum(", "favg(", "sum(DISTINCT ", "avg(DISTINCT "), x, ")")
		case 3, 4:
			return clause(pick(g.r, "stddev(", "stddev_pop(", "var_samp(", "var_pop(", "variance(", "sem(", "skewness(", "kurtosis(", "product(", "stddev(DISTINCT "), "("+pick(g.r, "r.weight", "r.weight / 3", "r.grade", "ln(r.weight + 1)")+") )")
		case 5:
			return clause(pick(g.r, "corr(", "covar_pop(", "covar_samp(", "regr_slope(", "regr_intercept(", "regr_r2(", "regr_sxx(", "regr_sxy(", "regr_avgx("), "r.weight / 7, r.grade + r.weight)")
		case 6:
			return clause(pick(g.r, "geomean(r.weight + 1)", "wavg(r.weight, r.grade)", "weighted_avg(r.reading, r.weight)", "entropy(r.grade)", "mode(r.grade)", "any_value(r.grade)",
				"any_value(r.reading)", "approx_quantile(r.weight, 0.3)", "approx_top_k(r.grade, 3)", "median(r.weight)", "mad(r.weight)", "quantile_cont(r.weight, 0.2)"))
		}
		return clause("sum(", x, " * ", y, ")")
	}
	filter := option(pick(g.r, " FILTER (WHERE r.grade > 3)", " FILTER (WHERE r.weight < 90)"))
	where := option(" WHERE ", pick(g.r, "r.grade < 25", "CAST(r.t_num AS DOUBLE) < 1e17", "r.weight > 1"))
	if g.chance(50) {
		where, filter = clause(), clause()
	}
	st := &statement{door: g.chance(20)}
	put := func(parts ...any) { st.root = clause(parts...) }
	switch g.r.IntN(9) {
	case 0, 1, 2:
		put("SELECT ", aggregate(), option(", ", aggregate()), " FROM readings AS r", where)
	case 3, 4:
		put("SELECT r.grade, ", aggregate(), option(", ", aggregate()), " FROM readings AS r", where, " GROUP BY 1")
	case 5:
		put("SELECT r.grade % 3 AS k, count(*) FROM readings AS r", where, " GROUP BY ALL HAVING ", aggregate(), " > 1")
	case 6:
		x := clause("sum(", number(), ")")
		put("SELECT DISTINCT r.grade, ", x, " OVER (PARTITION BY r.grade) FROM readings AS r", where)
	case 7:
		put("SELECT * FROM (SELECT ", word("", "sum(r.reading), avg(r.weight / 3)"), " FROM readings AS r", where, ") WHERE 1 = 1 UNION ALL SELECT ", aggregate(), filter, ", 1 FROM readings AS r")
	default:
		put("WITH c AS (SELECT r.reading AS reading, r.weight * 1.1e0 AS weight, r.grade AS grade, r.id AS id, r.t_num AS t_num FROM readings AS r", where, ") SELECT ", aggregate(), " FROM c AS r")
	}
	return st
}
