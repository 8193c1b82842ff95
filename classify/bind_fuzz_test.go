package classify

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// FuzzBind holds the laws of Bind for every statement that Parse accepts, whatever tables it names: no panic, errors of our
// own types only, a rewrite that reads nothing but what it is given, and uses that lie inside of the relation.
func FuzzBind(f *testing.F) {
	files, err := filepath.Glob("testdata/bind/*.dd")
	if err != nil || len(files) == 0 {
		f.Fatal("no seeds", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for block := range strings.SplitSeq(string(data), "\n\n") {
			if _, text, ok := strings.Cut(block, "\n"); ok {
				text, _, _ = strings.Cut(text, "\n----")
				f.Add(text)
			}
		}
	}
	columns := []Column{
		{"id", 1, "BIGINT"},
		{"region", 2, "VARCHAR"},
		{"name", 3, "VARCHAR"},
		{"ssn", 4, "VARCHAR"},
		{"note", 5, "VARCHAR"},
		{"code", 6, "INTEGER"},
		{"d", 7, "DATE"},
		{"qty", 8, "INTEGER"},
		{"home", 9, "STRUCT(city VARCHAR)"},
		{"tags", 10, "VARCHAR[]"},
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		if s.Kind() == KindExplain {
			s = s.Inner()
		}
		rels := make([]Relation, len(s.Tables()))
		for i, ref := range s.Tables() {
			rels[i] = Relation{Name: ref.Resolve(testNamespace), Columns: columns}
		}
		b, err := s.Bind(rels)
		if err != nil {
			var name *NameError
			var unsupported *UnsupportedError
			if !errors.As(err, &name) && !errors.As(err, &unsupported) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		before := proto.Clone(b.tree)
		checkRewrite(t, b, b.Rewrite(cteNames(len(rels))))
		for i := range rels {
			for _, u := range b.Uses(i) {
				if u.Column < 0 || u.Column >= len(columns) || u.Roles == 0 {
					t.Errorf("use %+v of table %d", u, i)
				}
			}
			for _, c := range b.Conjuncts(i) {
				for _, ref := range all[*pgquery.ColumnRef](c.Expr) {
					if names, star := parts(ref); star || len(names) != 1 {
						t.Errorf("conjunct of table %d reads %v", i, names)
					}
				}
				if !c.Raises && len(c.Columns) == 0 {
					t.Errorf("conjunct of table %d reads no column", i)
				}
			}
		}
		if !proto.Equal(before, b.tree) {
			t.Error("the statement's own tree was changed")
		}
	})
}
