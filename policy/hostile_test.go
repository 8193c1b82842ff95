package policy

import (
	"strings"
	"testing"
	"unicode/utf8"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"pgregory.net/rapid"
)

// Whatever value an attribute has, the printed condition compares the column with exactly that value.
func TestHostileValues(t *testing.T) {
	piece := rapid.OneOf(
		rapid.SampledFrom([]string{"'", "''", `\`, `\'`, `"`, "' OR '1'='1", "--", "/*", "*/", ";", "$1", "$$", ":p", "gw:p", "E'", "U&'", "\n", "\r", "\t", "%", "_", "é", "\u2028", "\U0001F600", "\ufeff"}),
		rapid.String(),
	)
	rapid.Check(t, func(t *rapid.T) {
		value := strings.Join(rapid.SliceOfN(piece, 0, 6).Draw(t, "value"), "")
		n, reads, err := expression(Expression{SQL: "region = :p AND active", Params: map[string]any{"p": value}}, customers)
		if !utf8.ValidString(value) || strings.ContainsRune(value, 0) {
			if err == nil {
				t.Fatalf("%q was accepted", value)
			}
			return
		}
		if err != nil || len(reads) != 2 {
			t.Fatalf("%q: reads %v, %v", value, reads, err)
		}
		text := show(t, n)
		again, err := pgquery.Parse("SELECT " + text)
		if err != nil || len(again.Stmts) != 1 {
			t.Fatalf("%q became %s: %v", value, text, err)
		}
		and := again.Stmts[0].Stmt.GetSelectStmt().TargetList[0].GetResTarget().Val.GetBoolExpr()
		if len(and.GetArgs()) != 2 || and.Args[0].GetAExpr().GetRexpr().GetAConst().GetSval().GetSval() != value {
			t.Fatalf("%q became %s", value, text)
		}
	})
}
