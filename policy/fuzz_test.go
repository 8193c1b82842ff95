package policy

import (
	"strings"
	"testing"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// FuzzExpression: whatever the text of a policy is, an accepted expression holds only the nodes and functions of
// the lists, reads only the table's columns, and stays one expression when it is printed into a statement.
func FuzzExpression(f *testing.F) {
	for _, s := range []string{
		"region = 'EU'", "a = 1) OR (1 = 1", "gw_hash(email)", "'***' || right(tax_id, 4)", "region IN (:p)", "region = :p",
		"if(active, email, 'x')", "to_hex(sha256(to_utf8(email)))", "x::text", "E'\\'' || U&'\\0041'", "$$a$$", "a -- b",
		"CASE WHEN active THEN 1 END", "id BETWEEN 1 AND 2", "\"gw:p\"", "trim(both 'x' from email)", "(SELECT 1)", "1; SELECT 2",
	} {
		f.Add(s, "x' OR '1'='1")
	}
	f.Fuzz(func(t *testing.T, sql, value string) {
		n, reads, err := expression(Expression{SQL: sql, Params: map[string]any{"p": value}}, customers)
		if err != nil {
			return
		}
		if err := checkShape(n.ProtoReflect()); err != nil {
			t.Fatalf("%q: %v", sql, err)
		}
		for _, id := range reads {
			if id < 1 || id > len(customers.Columns) {
				t.Fatalf("%q reads field %d", sql, id)
			}
		}
		text := show(t, n)
		for _, s := range []string{"SELECT ", "FROM "} {
			if strings.HasPrefix(text, s) {
				t.Fatalf("%q became %q", sql, text)
			}
		}
		again, err := pgquery.Parse("SELECT " + text)
		if err != nil || len(again.Stmts) != 1 {
			t.Fatalf("%q became %q: %v", sql, text, err)
		}
	})
}

// FuzzLiteral: a string parameter is one literal with exactly its value, and nothing else of the expression changes.
func FuzzLiteral(f *testing.F) {
	for _, s := range []string{"EU", "", "'", "''", "\\'", "x' OR '1'='1", "\"", ":p", "$1", "--", "/*", "*/", ";", "é", "\n", "%", "\\", "gw:p"} {
		f.Add(s)
	}
	want, _, err := expression(Expression{SQL: "region = :p", Params: map[string]any{"p": "EU"}}, customers)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, value string) {
		got, _, err := expression(Expression{SQL: "region = :p", Params: map[string]any{"p": value}}, customers)
		if err != nil {
			if !strings.ContainsRune(value, 0) && strings.ToValidUTF8(value, "") == value {
				t.Fatalf("%q: %v", value, err)
			}
			return
		}
		c := got.GetAExpr().GetRexpr().GetAConst()
		if c.GetSval().GetSval() != value {
			t.Fatalf("%q became %v", value, got)
		}
		same := proto.CloneOf(got)
		same.GetAExpr().GetRexpr().GetAConst().GetSval().Sval = "EU"
		clear := proto.CloneOf(want)
		clear.GetAExpr().Location, same.GetAExpr().Location = 0, 0
		if !proto.Equal(same, clear) {
			t.Fatalf("%q changed the expression: %v", value, same)
		}
	})
}
