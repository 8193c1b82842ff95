package ballista

import (
	"errors"
	"strings"
	"testing"

	"gatehouse/catalog/catalogtest"
	"gatehouse/executors"
	"gatehouse/executors/duckdb"
	"gatehouse/executors/executortest"
	"gatehouse/policy"
)

// twins are a cluster without another executor to fall back to, and the other executor, over the same tables.
func twins(t testing.TB) (alone, local *executortest.Pipeline) {
	t.Helper()
	alone = executortest.Zoo(t, sharedCluster(t).opener(t, nil))
	return alone, executortest.Zoo(t, inProcess(t))
}

// inProcess builds the other executor.
func inProcess(t testing.TB) func(executortest.Parts) (executors.Executor, error) {
	return func(p executortest.Parts) (executors.Executor, error) {
		return duckdb.New(duckdb.Config{Verifier: p.Verifier, HashKey: p.HashKey, Allocator: p.Allocator, Now: p.Now, Dir: t.TempDir()})
	}
}

// wholeOf is a statement that reads all of a test table, as it is now; there is none of those that cannot be read.
func wholeOf(z catalogtest.ZooTable) (text string, ok bool) {
	name, lineage := z.Namespace+"."+z.Table, strings.HasSuffix(z.ID, "@lineage")
	if z.Class != "ok" || z.ID != name && !lineage {
		return "", false
	}
	columns := []string{"*"}
	if lineage {
		columns = z.Columns
	}
	return "SELECT " + strings.Join(columns, ", ") + ` FROM "` + z.Namespace + `"."` + z.Table + `"`, true
}

// TestZooAlone reads the test tables on the cluster alone: deletes of all kinds, defaults, renames, promotions, row lineage, old timestamps.
func TestZooAlone(t *testing.T) {
	alone, local := twins(t)
	for _, z := range catalogtest.ZooTables(t) {
		text, ok := wholeOf(z)
		if !ok {
			continue
		}
		t.Run(z.ID, func(t *testing.T) {
			sameRows(t, alone, local, nil, text)
		})
	}
}

// TestDeletedRowsAlone checks tables with equality deletes and defaults under policies: what is deleted is seen by nobody, whatever filter and
// mask say, and a key that no column shows any more is read all the same.
func TestDeletedRowsAlone(t *testing.T) {
	alone, local := twins(t)
	for _, c := range []struct{ table, text, filter, mask string }{
		{"java.eq_upsert", "SELECT count(*) AS n FROM java.eq_upsert", "", ""},
		{"java.eq_upsert", "SELECT * FROM java.eq_upsert", "id > 1", ""},
		{"java.eq_upsert", "SELECT id FROM java.eq_upsert WHERE id < 1000", "id <> 2", "7"},
		{"java.eq_renamed_promoted", "SELECT * FROM java.eq_renamed_promoted", "", ""},
		{"java.eq_dropped_col", "SELECT count(*) AS n FROM java.eq_dropped_col", "", ""},
		{"java.eq_and_dv_v3", "SELECT min(id) AS a, max(id) AS b, count(*) AS n FROM java.eq_and_dv_v3", "id <> 3", ""},
		{"java.defaults_v3", "SELECT id, i, s_renamed, dec, dt, d, bo, req, tz, uid FROM java.defaults_v3", "", ""},
		{"java.defaults_v3", "SELECT id, i, dec FROM java.defaults_v3 WHERE dec < 5", "i = 42", ""},
		{"java.types_all", "SELECT k, b, i, l, f, d, dec9, dec18, dec38, dt, ts, tz, s, bin, fx, dec38_0 FROM java.types_all", "", ""},
	} {
		d := policy.Decision{ID: "d"}
		if c.filter != "" {
			d.Filters = []policy.Expression{{ID: "f", SQL: c.filter}}
		}
		if c.mask != "" {
			d.Masks = map[string]policy.Expression{"id": {ID: "m", SQL: c.mask}}
		}
		demands := executortest.Policy{c.table: d}
		want, err := local.Rows(t.Context(), c.text, demands)
		if err != nil {
			t.Fatalf("%s: %v", c.text, err)
		}
		got, err := alone.Rows(t.Context(), c.text, demands)
		if err != nil {
			t.Errorf("%s: %v (%v)", c.text, err, errors.Unwrap(err))
			continue
		}
		compare(t, got, want)
	}
}
