package classify

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// wordForms are statements with a word, W, in each kind of place in which one may mean something.
var wordForms = []string{
	"W", "W a b c", "W TABLE t", "W (SELECT 1)", "EXPLAIN W a", "EXPLAIN (W) SELECT 1", "EXPLAIN (W x", "EXPLAIN ANALYZE W a", "SHOW W", "SHOW W a", "SHOW W FROM a", "SET W = 1", "SET W a", "SET W TO DEFAULT", "SET a = W", "SET a W 1", "SET TIME W 1",
	"RESET W", "RESET W a", "DESCRIBE W", "DESC W a", "USE W", "USE a.W", "BEGIN W", "START W", "COMMIT W a", "W;", "ROLLBACK TRANSACTION W", "SHOW COLUMNS W t", "SHOW TABLES W 'a'",
	"SELECT W", "SELECT W FROM t", "SELECT a W FROM t", "SELECT a AS W FROM t", "SELECT t.W FROM t", "SELECT (a).W FROM t", "SELECT W(a) FROM t", "SELECT W(a).b FROM t", "SELECT W [1]", "SELECT a W [1]", "SELECT a, W FROM t", "SELECT a, W",
	"SELECT a W b", "SELECT CAST(a AS W)", "SELECT a::W", "SELECT W 'a'", "SELECT INTERVAL 1 W", "SELECT INTERVAL '1' W", "SELECT INTERVAL (a) W", "SELECT INTERVAL W DAY", "SELECT {W: 1}", "SELECT sum(a W)", "SELECT sum(a W NULLS)", "SELECT lag(a) W NULLS OVER ()",
	"SELECT sum(a) W (WHERE b)", "SELECT W FROM", "SELECT a FROM W", "SELECT a FROM t W", "SELECT a FROM t AS W", "SELECT a FROM t W JOIN u ON true", "SELECT a FROM t W b", "SELECT a FROM t W (b)", "SELECT a FROM t W BY b", "SELECT a FROM t W SELECT b", "SELECT a, W FROM t",
	"SELECT a FROM t W SAMPLE 1", "SELECT a FROM t USING W", "SELECT a FROM t UNION W SELECT b", "SELECT a FROM t UNION W NAME", "SELECT a FROM t LIMIT 1 W", "SELECT a FROM t GROUP BY ALL W", "SELECT a FROM t GROUP BY a, W b", "SELECT a FROM t ORDER BY ALL W",
	"SELECT a FROM t ORDER BY a W", "FROM t W", "FROM t W b", "W t SELECT a", "(W t)", "SELECT * W (a) FROM t", "SELECT t.* W (a AS b) FROM t", "SELECT W * EXCLUDE (a) FROM t", "SELECT a FROM t FOR VERSION AS OF 1 W", "SELECT a FROM t W AS OF 1", "SELECT a FROM t FOR W AS OF '2020-01-01'",
	"SELECT a FROM t AT (W => 1)", "SELECT a FROM t TIMESTAMP AS OF W '2020-01-01'", "SELECT a FROM t FOR VERSION AS OF 1 AS W", "SELECT a FROM t FOR VERSION AS OF 1 W (b)", "SELECT [a W a in b]", "SELECT a FROM t QUALIFY a W b", "SELECT a FROM t WINDOW W AS (ORDER BY a)",
	"SELECT W x: x", "SELECT list_transform(a, W -> W)", "WITH W AS (SELECT 1) SELECT 1", "WITH a AS W (SELECT 1) SELECT 1", "SELECT a COLLATE W", "SELECT a IS W", "SELECT a = W (SELECT 1)", "SELECT a AT TIME W b", "SELECT EXTRACT(W FROM a)", "SELECT TRIM(W a)", "SELECT {W '2020-01-01'}",
	"GRANT W ON t TO USER x", "GRANT W (a) ON t TO USER x", "GRANT W TO USER x", "GRANT SELECT ON W TO USER x", "GRANT SELECT ON W t TO USER x", "GRANT SELECT ON a.W TO USER x", "GRANT SELECT ON W TABLES IN SCHEMA s TO USER x", "GRANT SELECT ON t W USER x", "GRANT SELECT ON t TO W",
	"GRANT SELECT ON t TO W x", "GRANT SELECT ON t TO USER W", "GRANT SELECT ON t TO USER x W", "GRANT SELECT (W) ON t TO USER x", "GRANT SELECT ON t TO USER x WITH W OPTION", "REVOKE W ON t FROM USER x", "REVOKE W SELECT ON t FROM USER x", "REVOKE SELECT ON t FROM USER x W", "DENY W ON SCHEMA s TO USER x",
	"CREATE W a", "CREATE W FILTER a ON t USING (b)", "CREATE MASK a ON W USING (b)", "CREATE MASK W ON t (a) USING (b)", "CREATE MASK a ON t (b) W (c)", "CREATE MASK a ON t (b) USING (c) W 1", "CREATE MASK a ON t (b) USING (c) EXCEPT W", "DROP W a", "DROP ROLE W", "DROP ROLE a W", "ALTER W a", "ALTER TABLE t W TAG a",
	"ALTER TABLE t ALTER W a SET TAG b", "ALTER TABLE t SET W a = 'b'", "SHOW W GRANTS", "SHOW GRANTS W t", "SHOW EFFECTIVE W ON t", "SHOW GRANT W", "SHOW CURRENT W", "CHECK W SELECT ON t FOR USER x", "CHECK ACCESS W ON t FOR USER x", "SET ROLE W", "RESET W", "SHOW ROW W", "SHOW GRANTS ON W t",
}

// ownWords are words that mean something to the code of this package, and some of each class of the grammars'.
var ownWords = []string{
	"abort", "absolute", "access", "admin", "all", "alter", "analyse", "analyze", "and", "anti", "apply", "array", "array_apply", "array_filter", "array_reduce",
	"as", "asc", "asof", "asymmetric", "at", "attach", "authorization", "begin", "between", "bigint", "binary", "bit", "both", "by", "call", "cascade", "cast",
	"catalog", "catalogs", "centuries", "century", "char", "check", "checkpoint", "close", "cluster", "collate", "collation", "column", "columns", "comment",
	"commit", "concurrently", "constraints", "copy", "create", "cross", "current", "current_catalog", "current_role", "current_time", "d", "databases", "date",
	"day", "days", "deallocate", "decade", "decades", "declare", "default", "deferrable", "delete", "deny", "desc", "describe", "detach", "discard", "distinct",
	"do", "drop", "effective", "end", "escape", "except", "exclude", "execute", "exists", "explain", "export", "false", "fetch", "filter", "filters", "float",
	"fn", "for", "force", "freeze", "from", "full", "functions", "future", "global", "grant", "grants", "group", "having", "history", "hour", "hours", "if",
	"ignore", "ilike", "import", "in", "inner", "insert", "install", "int", "intersect", "interval", "is", "isnull", "isolation", "issuer", "join", "key",
	"lambda", "lateral", "left", "level", "like", "limit", "list", "list_apply", "list_filter", "list_reduce", "list_transform", "listen", "load", "local",
	"lock", "map", "mask", "masks", "merge", "microsecond", "microseconds", "millennia", "millennium", "millisecond", "milliseconds", "minute", "minutes",
	"modify", "month", "months", "move", "name", "namespaces", "national", "natural", "none", "nosuch", "not", "notify", "notnull", "null", "nullif", "nulls",
	"numeric", "of", "offset", "on", "optimize", "option", "or", "order", "ordinality", "outer", "over", "overlaps", "ownership", "partition", "percent",
	"permissive", "pivot", "pivot_longer", "pivot_wider", "policy", "position", "positional", "pragma", "precision", "prepare", "prepared", "priority", "privileges",
	"public", "qualify", "quarter", "quarters", "read", "real", "reassign", "reduce", "refresh", "reindex", "release", "rename", "replace", "reset", "respect",
	"restrict", "revoke", "right", "role", "roles", "rollback", "row", "sample", "savepoint", "schema", "schemas", "second", "seconds", "security", "select",
	"semi", "session", "set", "setof", "show", "similar", "smallint", "start", "stats", "struct", "summarize", "symmetric", "system_time", "system_version",
	"table", "tables", "tablesample", "tag", "tags", "time", "timestamp", "timestamptz", "timezone", "to", "trailing", "transaction", "transform", "trim",
	"true", "truncate", "try_cast", "ts", "union", "unlisten", "unpivot", "unset", "update", "upsert", "usage", "use", "user", "users", "using", "vacuum",
	"values", "varchar", "variable", "verbose", "version", "view", "week", "weeks", "where", "wider", "window", "with", "work", "xmltable", "year", "years",
	"yes", "zone",
}

// nameForms are those in which the grammars' classes of words matter: all key words are tried there.
var nameForms = map[string]bool{
	"W a b c": true, "SELECT W FROM t": true, "SELECT a W FROM t": true, "SELECT t.W FROM t": true, "SELECT W(a) FROM t": true, "SELECT a W [1]": true, "SELECT a FROM W": true, "SELECT a FROM t W": true, "SELECT a FROM t AS W": true,
	"SELECT a, W FROM t": true, "SELECT W [1]": true, "SELECT CAST(a AS W)": true, "SELECT a FROM t FOR VERSION AS OF 1 W": true, "USE W": true, "USE a.W": true, "SET ROLE W": true, "FROM t W": true,
}

// TestWords writes down what each key word does in each place: which words are refused by name, and which are names.
func TestWords(t *testing.T) {
	data, err := os.ReadFile("keyword/keywords.tsv")
	if err != nil {
		t.Fatal(err)
	}
	all := slices.Clone(ownWords)
	for line := range strings.Lines(string(data)) {
		if word, _, ok := strings.Cut(line, "\t"); ok && !strings.HasPrefix(line, "#") && !slices.Contains(ownWords, word) {
			all = append(all, word)
		}
	}
	slices.Sort(all)
	var out strings.Builder
	out.WriteString("# What is said of each statement with a key word in place of W. See words_test.go.\n")
	for i, form := range wordForms {
		groups := map[string][]string{}
		words := ownWords
		if nameForms[form] {
			words = all
		}
		for _, w := range words {
			said := sayWord(t, form, w)
			if i%2 == 0 {
				if upper := sayWord(t, form, strings.ToUpper(w)); !strings.EqualFold(upper, said) {
					t.Errorf("%s, %s: %s, in upper case %s", form, w, said, upper)
				}
			}
			said = replaceWord(replaceWord(said, w, "W"), strings.ToUpper(w), "W")
			groups[said] = append(groups[said], w)
		}
		fmt.Fprintf(&out, "\n%s\n", form)
		most := ""
		for said, ws := range groups {
			if len(ws) > len(groups[most]) || len(ws) == len(groups[most]) && said < most {
				most = said
			}
		}
		for _, said := range slices.Sorted(maps.Keys(groups)) {
			if who := groups[said]; said == most {
				fmt.Fprintf(&out, "  %s: the other %d\n", said, len(who))
			} else {
				fmt.Fprintf(&out, "  %s: %s\n", said, strings.Join(who, " "))
			}
		}
	}
	golden(t, "testdata/words.txt", out.String())
}

// sayWord says what Parse makes of a form with a word in it.
func sayWord(t *testing.T, form, word string) string {
	t.Helper()
	text := replaceWord(form, "W", word)
	what, err := sayParsed(text)
	if err != nil {
		refusal, mark := sayRefused(t, text, err)
		what = refusal + mark
	} else {
		what, _, _ = strings.Cut(what, "=")
	}
	return what
}

// golden compares with a file, which -update writes.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(data) == got {
		return
	}
	want, lines := strings.Split(string(data), "\n"), strings.Split(got, "\n")
	for i := 0; i < min(len(want), len(lines)); i++ {
		if want[i] != lines[i] {
			t.Fatalf("%s:%d, -update accepts all changes\n-%s\n+%s", path, i+1, want[i], lines[i])
		}
	}
	t.Fatalf("%s: %d lines, want %d; -update accepts that", path, len(lines), len(want))
}
