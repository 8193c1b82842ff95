package duckdb

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	bindings "github.com/duckdb/duckdb-go-bindings"
	pgquery "github.com/pganalyze/pg_query_go/v6"

	"gatehouse/executors"
	"gatehouse/executors/executortest"
	"gatehouse/plan"
	"gatehouse/policy"
)

// BenchmarkPrepareGoverned is what a warm table costs between the plan and the bound statement.
func BenchmarkPrepareGoverned(b *testing.B) {
	p := executortest.Zoo(b, opener(b))
	demands := executortest.Policy{"spark.orders": {ID: "d", Filters: []policy.Expression{{ID: "f", SQL: "id > 1"}}}}
	for name, text := range map[string]func(int) string{
		"same text": func(int) string { return "SELECT count(*) FROM orders WHERE id < 100" },
		"new text":  func(i int) string { return fmt.Sprintf("SELECT count(*) FROM orders WHERE id < %d", i) },
	} {
		b.Run(name, func(b *testing.B) {
			i := 0
			for b.Loop() {
				b.StopTimer()
				i++
				pl, err := p.Plan(context.Background(), executortest.Alice, text(i), demands)
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				s, err := p.Executor.Prepare(context.Background(), pl)
				if err != nil {
					b.Fatal(err)
				}
				_ = s.Close()
			}
		})
	}
}

// writeParquet writes a file with an engine of its own, which is not locked down.
func writeParquet(t testing.TB, folder, name, query, options string) (string, int64) {
	t.Helper()
	var db bindings.Database
	if bindings.Open(":memory:", &db) == bindings.StateError {
		t.Fatal("no database")
	}
	defer bindings.Close(&db)
	c, err := (&engine{db: db}).connect()
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	path := filepath.Join(folder, name)
	if err := c.exec("COPY (" + query + ") TO " + literal(path) + " (FORMAT parquet" + options + ")"); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, info.Size()
}

// scanRows reads a relation without a policy, straight from its scan.
func scanRows(t testing.TB, x *Executor, r *plan.Relation) (string, error) {
	t.Helper()
	return scanWhere(t, x, r, "")
}

// scanWhere is scanRows with a condition on the scan's columns.
func scanWhere(t testing.TB, x *Executor, r *plan.Relation, condition string) (string, error) {
	t.Helper()
	s, err := x.newPrepared(owner{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	defer s.free()
	if err := s.openObjects(t.Context(), []plan.Relation{*r}); err != nil {
		return "", err
	}
	sc, err := x.openScan(r, s.pins, false)
	if err != nil {
		return "", err
	}
	if err := sc.createKeys(s.conn); err != nil {
		return "", err
	}
	text, err := sc.text()
	if err != nil {
		return "", err
	}
	if condition != "" {
		text = "SELECT * FROM (" + text + ") WHERE " + condition
	}
	if err := s.bind(&statement{text: text, shape: "SELECT 1", governed: "SELECT 1"}, 0); err != nil {
		return "", fmt.Errorf("%w: %w", err, cause1(err))
	}
	s.free()
	s.scans = []*scan{sc}
	reader, err := s.Execute(t.Context(), nil)
	if err != nil {
		return "", err
	}
	defer reader.Release()
	out, err := drain(reader)
	return strings.Join(out, " / "), err
}

func text1(s string) *string { return &s }

func TestScanOfFiles(t *testing.T) {
	x := open(t, Config{})
	folder := t.TempDir()
	glob, globSize := writeParquet(t, folder, "a[1]*?.parquet", "SELECT 1::INTEGER AS anything, 'x' AS s", ", FIELD_IDS {anything: 1, s: 2}")
	decoy, _ := writeParquet(t, folder, "a1bc.parquet", "SELECT 99::INTEGER AS anything, 'decoy' AS s", ", FIELD_IDS {anything: 1, s: 2}")
	quote, quoteSize := writeParquet(t, folder, "it's.parquet", "SELECT 2::INTEGER AS b", ", FIELD_IDS {b: 1}")
	plain, plainSize := writeParquet(t, folder, "plain%2F.parquet", "SELECT 3::INTEGER AS old_name, 'z' AS dropped", "")
	_ = decoy
	fields := []plan.Field{
		{ID: 1, Name: "a", Type: "BIGINT"},
		{ID: 2, Name: "s", Type: "VARCHAR", Default: text1("it's a default")},
		{ID: 3, Name: "p", Type: "DATE"},
	}
	file := func(path string, size int64) plan.File { return plan.File{Path: path, Size: size, Rows: 1} }
	constant := file("file:"+quote, quoteSize)
	constant.Constants = map[int]*string{3: text1("2024-02-29")}
	mapped := file("file://"+plain, plainSize)
	mapped.Mapping = map[string]int{"old_name": 1}
	for _, c := range []struct {
		name  string
		files []plan.File
		want  string
	}{
		{"glob characters in a name", []plan.File{file(glob, globSize)}, "1 / x / (null)"},
		{"a promoted type, a default, a partition constant", []plan.File{constant}, "2 / it's a default / 2024-02-29"},
		{"a name mapping", []plan.File{mapped}, "3 / it's a default / (null)"},
		{"no files", nil, ""},
	} {
		r := &plan.Relation{Relation: policy.Relation{CTE: "__gw_1"}, Scan: plan.Scan{Fields: fields, Files: c.files}}
		got, err := scanRows(t, x, r)
		if err != nil || got != c.want {
			t.Errorf("%s: got %q, %v, want %q", c.name, got, err, c.want)
		}
	}
	unmapped := mapped
	unmapped.Mapping = nil
	for _, c := range []struct {
		name string
		file plan.File
		kind executors.Kind
	}{
		{"no ids and no mapping", unmapped, executors.KindUnsupported},
		{"missing", plan.File{Path: folder + "/none.parquet", Size: 10, Rows: 1}, executors.KindData},
		{"another size", plan.File{Path: quote, Size: quoteSize + 1, Rows: 1}, executors.KindData},
		{"another row count", plan.File{Path: quote, Size: quoteSize, Rows: 2}, executors.KindData},
		{"remote", plan.File{Path: "s3://bucket/key.parquet", Size: 10, Rows: 1}, executors.KindUnsupported},
		{"a folder", plan.File{Path: folder, Size: 4096, Rows: 1}, executors.KindData},
		{"relative", plan.File{Path: "a.parquet", Size: 10, Rows: 1}, executors.KindData},
	} {
		r := &plan.Relation{Relation: policy.Relation{CTE: "__gw_1"}, Scan: plan.Scan{Fields: fields, Files: []plan.File{c.file}}}
		_, err := scanRows(t, x, r)
		if e := asError(err); e == nil || e.Kind != c.kind {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
}

// TestDeletesAreNotSeenInPlans: in a statement that may fail, tables with and without rows deleted by position are read by one and the same
// text, so that the engine plans the same. The control is a statement that may not.
func TestDeletesAreNotSeenInPlans(t *testing.T) {
	x := open(t, Config{})
	folder := t.TempDir()
	path, size := writeParquet(t, folder, "a.parquet", "SELECT 1::BIGINT AS a UNION ALL SELECT 2", ", FIELD_IDS {a: 1}")
	deletes, deletesSize := writeParquet(t, folder, "d.parquet", "SELECT "+literal(path)+" AS file_path, 1::BIGINT AS pos",
		fmt.Sprintf(", FIELD_IDS {file_path: %d, pos: %d}", executors.DeletePathID, executors.DeletePositionID))
	text := func(deleted bool, rough int64, alike bool) string {
		f := plan.File{Path: path, Size: size, Rows: 2}
		sc := plan.Scan{Fields: []plan.Field{{ID: 1, Name: "a", Type: "BIGINT"}}, Rough: rough}
		if deleted {
			f.Deletes = []int{0}
			sc.Deletes = []plan.DeleteFile{{Kind: plan.PositionDeletes, Path: deletes, Size: deletesSize, Rows: 1}}
		}
		sc.Files = []plan.File{f}
		s, err := x.newPrepared(owner{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		defer s.free()
		opened, err := x.openScan(&plan.Relation{Relation: policy.Relation{CTE: "__gw_1"}, Scan: sc}, s.pins, alike)
		if err != nil {
			t.Fatal(err)
		}
		out, err := opened.text()
		if err != nil {
			t.Fatal(err)
		}
		return regexp.MustCompile(`'[^']*\.parquet'`).ReplaceAllString(out, "'link'")
	}
	if with, without := text(true, 64, true), text(false, 64, true); with != without {
		t.Errorf("with deletes\n%s\nwithout\n%s", with, without)
	}
	if with, without := text(true, 64, false), text(false, 64, false); with == without {
		t.Error("deletes are not read at all")
	}
	if hidden, open := text(false, 64, true), text(false, 0, true); hidden == open {
		t.Error("a table without anything hidden is read as if it had deletes")
	}
}

func TestNestedEvolution(t *testing.T) {
	x := open(t, Config{})
	folder := t.TempDir()
	path, size := writeParquet(t, folder, "n.parquet",
		"SELECT {'old': 1, 'gone': 'g'} AS s, [{'old': 2}, NULL] AS l, MAP {'k': {'old': 3}} AS m UNION ALL SELECT NULL, NULL, NULL",
		", FIELD_IDS {s: {__duckdb_field_id: 1, old: 2, gone: 3}, l: {__duckdb_field_id: 10, element: {__duckdb_field_id: 11, old: 12}}, m: {__duckdb_field_id: 20, key: 21, value: {__duckdb_field_id: 22, old: 23}}}")
	inner := func(id int) []plan.Field {
		return []plan.Field{{ID: id, Name: "new", Type: "BIGINT"}, {ID: id + 100, Name: "gone", Type: "VARCHAR", Default: text1("d")}}
	}
	const typ = `STRUCT("new" BIGINT, "gone" VARCHAR)`
	fields := []plan.Field{
		{ID: 1, Name: "s", Type: typ, Nested: inner(2)},
		{ID: 10, Name: "l", Type: typ + "[]", Nested: []plan.Field{{ID: 11, Name: "element", Type: typ, Nested: inner(12)}}},
		{ID: 20, Name: "m", Type: "MAP(VARCHAR, " + typ + ")", Nested: []plan.Field{{ID: 21, Name: "key", Type: "VARCHAR"}, {ID: 22, Name: "value", Type: typ, Nested: inner(23)}}},
	}
	r := &plan.Relation{Relation: policy.Relation{CTE: "__gw_1"}, Scan: plan.Scan{Fields: fields, Files: []plan.File{{Path: path, Size: size, Rows: 2}}}}
	got, err := scanRows(t, x, r)
	want := `{"gone":"d","new":1}|(null) / [{"gone":"d","new":2},null]|(null) / [{"key":"k","value":{"gone":"d","new":3}}]|(null)`
	if err != nil || got != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
}

// TestReplacedFile checks that a file that another one took the place of is read anew.
func TestReplacedFile(t *testing.T) {
	x := open(t, Config{})
	folder := t.TempDir()
	for _, v := range []string{"1", "2"} {
		path, size := writeParquet(t, folder, "f.parquet", "SELECT "+v+"::INTEGER AS a", ", FIELD_IDS {a: 1}")
		r := &plan.Relation{Relation: policy.Relation{CTE: "__gw_1"}, Scan: plan.Scan{
			Fields: []plan.Field{{ID: 1, Name: "a", Type: "INTEGER"}}, Files: []plan.File{{Path: path, Size: size, Rows: 1}},
		}}
		if got, err := scanRows(t, x, r); got != v || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, v)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

func asError(err error) *executors.Error {
	for ; err != nil; err = cause1(err) {
		if e, ok := err.(*executors.Error); ok {
			return e
		}
	}
	return nil
}

// TestLockdown checks what a statement that got past every stage before could do in the engine.
func TestLockdown(t *testing.T) {
	x := open(t, Config{})
	secret := filepath.Join(t.TempDir(), "secret.csv")
	if err := os.WriteFile(secret, []byte("a\n1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := x.engine.connect()
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	for _, s := range []string{
		"SELECT * FROM read_csv(" + literal(secret) + ")",
		"SELECT * FROM " + literal(secret),
		"SELECT * FROM read_text(" + literal(secret) + ")",
		"SELECT * FROM read_csv(" + literal(x.files.data+"/../../secret.csv") + ")",
		"COPY (SELECT 1) TO " + literal(secret+".out"),
		"ATTACH " + literal(secret+".db"),
		"INSTALL httpfs", "LOAD httpfs",
		"SET threads = 1", "SET GLOBAL disabled_optimizers = ''", "SET enable_external_access = true", "RESET disabled_optimizers",
		"PRAGMA enable_profiling = 'json'; PRAGMA profiling_output = " + literal(secret+".prof"),
	} {
		if err := c.exec(s); err == nil {
			t.Errorf("%s was done", s)
		}
	}
	for _, s := range []string{
		"SELECT * FROM duckdb_settings()", "SELECT * FROM read_parquet('x.parquet')", "SELECT * FROM glob('*')", "FROM pragma_version()",
		"SELECT * FROM duckdb_tables()",
	} {
		if _, err := x.checks.verify(c, s); err == nil {
			t.Errorf("the check lets %s through", s)
		}
	}
	for _, s := range []string{
		"SELECT * FROM range(3)", "SELECT unnest([1, 2])", "WITH a AS MATERIALIZED (SELECT 1 AS x) SELECT * FROM a, a b WHERE b.x IN (SELECT x FROM a)",
		"VALUES (1), (2)", "SELECT * FROM generate_series(1, 2) WHERE 1 = $1",
	} {
		if _, err := x.checks.verify(c, s); err != nil {
			t.Errorf("the check refuses %s: %v (%v)", s, err, cause1(err))
		}
	}
}

// TestNaN checks that a condition that NaN fulfils finds it, also where a file's bounds leave NaN out.
func TestNaN(t *testing.T) {
	x := open(t, Config{})
	path, size := writeParquet(t, t.TempDir(), "n.parquet", "SELECT CASE WHEN i = 7 THEN 'nan'::DOUBLE ELSE i END AS d FROM range(10) r(i)", ", FIELD_IDS {d: 1}")
	r := &plan.Relation{
		Relation: policy.Relation{CTE: "__gw_1", Columns: []policy.Output{{Name: "d", FieldID: 1, Type: "DOUBLE", Reads: []int{1}}}},
		Scan:     plan.Scan{Fields: []plan.Field{{ID: 1, Name: "d", Type: "DOUBLE", NaN: true}}, Files: []plan.File{{Path: path, Size: size, Rows: 10}}},
	}
	if got, err := attackRows(t, x, r, "SELECT count(*) FROM __gw_1 WHERE d > 100"); got != "1" || err != nil {
		t.Errorf("got %s, %v", got, err)
	}
}

// TestNamesThatDifferInCase checks that the engine is never asked for one of two columns that it cannot tell apart.
func TestNamesThatDifferInCase(t *testing.T) {
	output := func(name string, id int) policy.Output {
		return policy.Output{Name: name, FieldID: id, Type: "BIGINT", Reads: []int{id}}
	}
	r := &plan.Relation{Relation: policy.Relation{CTE: "__gw_1", Columns: []policy.Output{output("id", 1), output("ID", 2)}}}
	if e := asError(distinctNames(r)); e == nil || e.Kind != executors.KindUnsupported {
		t.Errorf("both: %v", e)
	}
	r.Columns = r.Columns[:1]
	r.Scan.Fields = []plan.Field{{ID: 1, Name: "id"}, {ID: 2, Name: "ID"}}
	if err := distinctNames(r); err != nil {
		t.Errorf("one, and no expression that names columns: %v", err)
	}
	r.Columns[0].Mask = &pgquery.Node{}
	if e := asError(distinctNames(r)); e == nil || e.Kind != executors.KindUnsupported {
		t.Errorf("a mask that could read either: %v", e)
	}
}
