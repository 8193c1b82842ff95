package duckdb_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"

	"gatehouse/classify"
)

// syntaxNames are functions that DuckDB's parser replaces, so that its catalog does not list them, and those that
// classify replaces itself.
var syntaxNames = map[string]bool{
	"if": true, "ifnull": true, "nullif": true, "coalesce": true, "grouping": true, "grouping_id": true, "unnest": true,
	"percentile_cont": true, "percentile_disc": true,
	"version": true, "current_schema": true, "current_catalog": true, "current_database": true,
}

// TestAllowedFunctionsAreKnown compares classify's table with the functions of the engine we ship: each name exists, none
// is volatile, and none is a macro over a table function.
func TestAllowedFunctionsAreKnown(t *testing.T) {
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	table, err := os.ReadFile(filepath.Join("..", "..", "classify", "functions.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := db.Query(`SELECT lower(function_name), count(*) FILTER (WHERE stability = 'VOLATILE'),
		count(*) FILTER (WHERE macro_definition ILIKE '%select%' OR macro_definition ILIKE '%duckdb_%')
		FROM duckdb_functions() WHERE function_type IN ('scalar', 'aggregate', 'macro') GROUP BY 1`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	type fact struct{ volatile, reads int }
	known := map[string]fact{}
	for rows.Next() {
		var name string
		var f fact
		if err := rows.Scan(&name, &f.volatile, &f.reads); err != nil {
			t.Fatal(err)
		}
		known[name] = f
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	checked := 0
	for line := range strings.Lines(string(table)) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if strings.HasPrefix(line, "#") || f[1] == "operator" || syntaxNames[f[0]] {
			continue
		}
		if classify.ClassOf(f[0]) == classify.ClassForbidden {
			t.Errorf("%s is listed and forbidden", f[0])
		}
		if fact, ok := known[f[0]]; !ok || fact.volatile > 0 || fact.reads > 0 {
			t.Errorf("%s: known %v, %d volatile overloads, %d that read tables", f[0], ok, fact.volatile, fact.reads)
		}
		checked++
	}
	if checked < 400 {
		t.Errorf("only %d functions checked", checked)
	}
}
