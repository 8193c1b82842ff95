package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gatehouse/catalog/catalogtest"
)

// zooPolicy lets admin see all, and alice only what stands in region "eu" of one table, its name masked.
const zooPolicy = `package trino

default allow := false

admin if "admin" in input.context.identity.groups

alice if input.context.identity.user == "alice"

allow if admin

allow if {
	alice
	input.action.operation in {"ExecuteQuery", "AccessCatalog", "FilterCatalogs", "FilterSchemas"}
}

allow if {
	alice
	input.action.resource.table.tableName in {"v1_plain", "evo_partition"}
}

rowFilters contains {"expression": "region = 'eu'"} if {
	alice
	input.action.resource.table.tableName == "v1_plain"
}

columnMask := {"expression": "'x'"} if {
	alice
	input.action.resource.column.columnName == "name"
}
`

// zooServer serves the tables of other writers.
func zooServer(t *testing.T) *server {
	t.Helper()
	zoo := catalogtest.Zoo(t)
	dir := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("policy/trino.rego", zooPolicy)
	write("gatehouse.yaml", fmt.Sprintf(`listen: {flight: "127.0.0.1:0", http: "off"}
auth: {users_file: users.yaml}
catalogs:
  zoo: {type: sql, uri: %q, roots: [%q]}
policy: {dir: policy, lenient: true}
session: {catalog: zoo, schema: spark}
`, filepath.Join(zoo, "catalog.db"), zoo))
	for _, user := range []string{"alice", "admin"} {
		env := environment{getenv: func(string) string { return user }, stdout: newLines(), stderr: os.Stderr}
		if code := run(t.Context(), []string{"user", "add", "--file", filepath.Join(dir, "users.yaml"), "--role", user, user}, env); code != exitOK {
			t.Fatalf("user add %s: %d", user, code)
		}
	}
	s := start(t, "Gatehouse serves", "serve", "--config", filepath.Join(dir, "gatehouse.yaml"))
	t.Cleanup(func() {
		if code := s.end(t); code != exitOK {
			t.Errorf("serve ended with %d", code)
		}
	})
	return s
}

func zooSQL(z catalogtest.ZooTable) string {
	quote := func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
	columns := "*"
	if strings.HasSuffix(z.ID, "@lineage") {
		columns = strings.Join(z.Columns, ", ")
	}
	sql := "SELECT " + columns + " FROM " + quote(z.Namespace) + "." + quote(z.Table)
	switch {
	case z.Ref != "":
		sql += " FOR VERSION AS OF '" + z.Ref + "'"
	case z.SnapshotID != 0:
		sql += fmt.Sprintf(" FOR VERSION AS OF %d", z.SnapshotID)
	}
	return sql
}

// Every real client reads every table of Spark, Java and PyIceberg whole, or gets a clear refusal where the table's class
// says so.
func TestClientsZoo(t *testing.T) {
	s := zooServer(t)
	var entries []catalogtest.ZooTable
	var ss []statement
	for _, z := range catalogtest.ZooTables(t) {
		if z.Class == "view" {
			continue // views of other engines are not read yet
		}
		entries = append(entries, z)
		ss = append(ss, statement{SQL: zooSQL(z)})
	}
	for _, c := range clients() {
		t.Run(c.name, func(t *testing.T) {
			answers := c.run(t, s.flight, "admin", "admin", ss)
			read := 0
			for i, z := range entries {
				a := answers[i]
				switch {
				case a.Error != "" && (z.Class == "error" || strings.Contains(z.Class, "unsupported")):
					if strings.Contains(strings.ToLower(a.Error), "internal") {
						t.Errorf("%s: the refusal explains nothing: %s", z.ID, a.Error)
					}
				case a.Error != "":
					t.Errorf("%s: %s", z.ID, a.Error)
				case z.Class == "error":
					t.Errorf("%s: %d rows of a version that does not exist", z.ID, len(a.Rows))
				default:
					read++
					want := zooRows(t, z)
					if len(a.Rows) != len(want) {
						t.Errorf("%s: %d rows, want %d", z.ID, len(a.Rows), len(want))
					} else if c.name == "adbc-python" {
						comparePlain(t, z.ID, a, want)
					}
				}
			}
			if read < 55 {
				t.Errorf("only %d tables were read", read)
			}
		})
	}
	t.Run("alice", func(t *testing.T) {
		got := pythonClient(t, s.flight, "alice", "alice", []statement{
			{SQL: `SELECT DISTINCT region, name FROM v1_plain`}, {SQL: `SELECT * FROM types_all`}, {SQL: `SELECT count(*) FROM v1_plain FOR VERSION AS OF 'main' WHERE region <> 'eu'`},
		})
		if got[0].text() != "eu|x" || !strings.Contains(got[1].Error, "does not exist") || got[2].text() != "0" {
			t.Errorf("alice sees %q, %q, %q", got[0].text(), got[1].text(), got[2].text())
		}
	})
}

// zooRows reads the rows that the table's own writer reads.
func zooRows(t *testing.T, z catalogtest.ZooTable) []map[string]any {
	t.Helper()
	f, err := os.Open(filepath.Join(catalogtest.Zoo(t), z.File))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []map[string]any
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		dec := json.NewDecoder(strings.NewReader(lines.Text()))
		dec.UseNumber()
		var row map[string]any
		if err := dec.Decode(&row); err != nil {
			t.Fatal(err)
		}
		out = append(out, row)
	}
	return out
}

// comparePlain compares, as multisets, the columns whose text is the same on both sides: whole numbers, NULLs, and text. The
// other types are compared in the executor's own test.
func comparePlain(t *testing.T, id string, a answer, want []map[string]any) {
	t.Helper()
	for i, name := range a.Columns {
		plain := strings.HasPrefix(a.Types[i], "int") || a.Types[i] == "string" || strings.HasPrefix(a.Types[i], "decimal")
		if !plain {
			continue
		}
		var got, exp []string
		for r := range a.Rows {
			got = append(got, deref(a.Rows[r][i]))
			if v := want[r][name]; v != nil {
				exp = append(exp, fmt.Sprint(v))
			} else {
				exp = append(exp, "NULL")
			}
		}
		slices.Sort(got)
		slices.Sort(exp)
		if !slices.Equal(got, exp) {
			t.Errorf("%s, column %q: %.300q, want %.300q", id, name, got, exp)
		}
	}
}

func deref(s *string) string {
	if s == nil {
		return "NULL"
	}
	return *s
}
