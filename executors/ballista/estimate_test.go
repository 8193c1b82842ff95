package ballista

import (
	"testing"

	pgquery "github.com/pganalyze/pg_query_go/v6"

	"gatehouse/plan"
	"gatehouse/policy"
)

// TestEstimates: the optimiser learns nothing of hidden rows but their order of magnitude, which plan.Scan.Rough is, and nothing of the size
// of hidden values. Without a policy it has what there is.
func TestEstimates(t *testing.T) {
	relation := func(rows, rough, size int64, masks ...*pgquery.Node) *plan.Relation {
		r := &plan.Relation{Scan: plan.Scan{Rows: rows, Rough: rough, Files: []plan.File{{Size: size}, {Size: size}}}}
		for _, m := range append(masks, nil) {
			r.Columns = append(r.Columns, policy.Output{Mask: m})
		}
		return r
	}
	mask := &pgquery.Node{}
	for name, c := range map[string]struct {
		r           *plan.Relation
		rows, bytes int64
	}{
		"no policy":                       {relation(100, 0, 500), 100, 1000},
		"a filter":                        {relation(100, 256, 500), 256, 256 * valueBytes},
		"a filter, other hidden rows":     {relation(200, 256, 9000), 256, 256 * valueBytes},
		"a mask":                          {relation(100, 0, 500, mask), 100, 2 * 100 * valueBytes},
		"a mask, other hidden values":     {relation(100, 0, 9000, mask), 100, 2 * 100 * valueBytes},
		"a filter and a mask, everywhere": {relation(100, 256, 500, mask), 256, 2 * 256 * valueBytes},
	} {
		if rows, bytes := estimates(c.r); rows != c.rows || bytes != c.bytes {
			t.Errorf("%s: %d rows of %d bytes, want %d and %d", name, rows, bytes, c.rows, c.bytes)
		}
	}
}
