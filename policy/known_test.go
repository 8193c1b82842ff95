package policy

import (
	"errors"
	"testing"

	pgquery "github.com/pganalyze/pg_query_go/v6"

	"github.com/google/go-cmp/cmp"

	"gatehouse/auth"
	"gatehouse/classify"
)

// An older version of a table is shown to the policy under the names of today, without what has none.
func TestAsKnown(t *testing.T) {
	name := classify.Name{Catalog: "lake", Schema: "shop", Table: "old"}
	col := func(name string, id int) classify.Column {
		return classify.Column{Name: name, FieldID: id, Type: "BIGINT"}
	}
	use := func(c int) classify.ColumnUse { return classify.ColumnUse{Column: c, Roles: classify.RoleFilter} }
	old := Table{
		Name: name, UUID: "u", Version: "7", Columns: []classify.Column{col("a", 1), col("b", 2), col("c", 3)},
		Known: []string{"x", "", "c"}, Uses: []classify.ColumnUse{use(0), use(1), use(2), use(3), use(-1)},
	}
	want := Table{Name: name, UUID: "u", Version: "7", Columns: []classify.Column{col("x", 1), col("c", 3)}, Uses: []classify.ColumnUse{use(0), use(1)}}
	if d := cmp.Diff(want, old.AsKnown()); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	if d := cmp.Diff(customers, customers.AsKnown()); d != "" {
		t.Errorf("a table of today (-want +got)\n%s", d)
	}

	s, err := classify.Parse("SELECT a FROM old")
	if err != nil {
		t.Fatal(err)
	}
	b, err := s.Bind([]classify.Relation{{Name: name, Columns: old.Columns}})
	if err != nil {
		t.Fatal(err)
	}
	g, err := Apply(b, "r", []Table{old}, []Decision{{Masks: map[string]Expression{"x": {SQL: "c"}}}})
	if err != nil || g.Relations()[0].Columns[0].Mask == nil {
		t.Errorf("a mask by the name of today: %v", err)
	}
	for what, masks := range map[string]map[string]Expression{
		"a mask of a column by its old name": {"a": {SQL: "NULL"}}, "a mask of a column without a name": {"": {SQL: "NULL"}},
		"a mask that reads an old name": {"x": {SQL: "b"}},
	} {
		if _, err := Apply(b, "r", []Table{old}, []Decision{{Masks: masks}}); err == nil {
			t.Error(what)
		}
	}
	_, err = Apply(b, "r", []Table{old}, []Decision{{Masks: map[string]Expression{"nosuch": {SQL: "NULL"}}}})
	if _, ok := errors.AsType[*PolicyError](err); !ok {
		t.Errorf("a mask of no column is the policy's fault: %v", err)
	}
	old.Known = old.Known[1:]
	if _, err := Apply(b, "r", []Table{old}, []Decision{{}}); err == nil {
		t.Error("fewer names than columns")
	}
	if s, err = classify.Parse("SELECT count(*) FROM old"); err != nil {
		t.Fatal(err)
	}
	if b, err = s.Bind([]classify.Relation{{Name: name, Columns: old.Columns}}); err != nil {
		t.Fatal(err)
	}
	old.Known = nil
	if _, err := Apply(b, "r", []Table{old}, []Decision{{}}); err != nil {
		t.Errorf("control: %v", err)
	}
	old.Columns = old.Columns[:1]
	if _, err := Apply(b, "r", []Table{old}, []Decision{{}}); err != nil {
		t.Errorf("one column is enough to count rows: %v", err)
	}
	old.Columns = nil
	if _, err := Apply(b, "r", []Table{old}, []Decision{{}}); err == nil {
		t.Error("a table without columns")
	}
}

// What stands for the caller in an expression is the policy's to give: it is a constant, and nothing without.
func TestExpressionsAboutTheCaller(t *testing.T) {
	all := map[string]any{paramUser: "ann", paramRole: "clerk", paramRoles: []any{"clerk", "lead"}}
	for _, c := range []struct {
		sql    string
		params map[string]any
		want   string // "": refused
	}{
		{"region = current_user", all, "region = 'ann'"},
		{"region = session_user", all, "region = 'ann'"},
		{"region = user", all, "region = 'ann'"},
		{"region = current_role", all, "region = 'clerk'"},
		{"region = current_catalog", all, ""},
		{"region = current_schema", all, ""},
		{"birth_date = current_date", all, ""},
		{"region = current_user", map[string]any{paramUser: 7}, ""},
		{"region = current_user", map[string]any{paramRole: "x"}, ""},
		{"region = current_role", map[string]any{paramUser: "x"}, ""},
		{"is_role_in_session('clerk')", all, "TRUE"},
		{"is_role_in_session('lead')", all, "TRUE"},
		{"IS_ROLE_IN_SESSION('lead')", all, "TRUE"},
		{"is_role_in_session('Lead')", all, "FALSE"},
		{"is_role_in_session('boss')", all, "FALSE"},
		{"is_role_in_session('boss')", nil, ""},
		{"is_role_in_session('boss')", map[string]any{paramRoles: "boss"}, ""},
		{"is_role_in_session('boss')", map[string]any{paramRoles: []any{}}, "FALSE"},
		{"is_role_in_session(region)", all, ""},
		{"is_role_in_session()", all, ""},
		{"is_role_in_session(1)", all, ""},
		{"is_role_in_session('lead', 'clerk')", all, ""},
	} {
		n, _, err := expression(Expression{SQL: c.sql, Params: c.params}, customers)
		got := ""
		if err == nil {
			got = show(t, n)
		}
		if got != c.want {
			t.Errorf("%s with %v: %q, %v", c.sql, c.params, got, err)
		}
	}
}

// A rule's names are bound when it is made, and mean the same columns whatever these are called later.
func TestBindRule(t *testing.T) {
	email := customers.Columns[1]
	for _, c := range []struct {
		sql   string
		mask  bool
		value *classify.Column
		want  map[string]int // nil: refused
		reads bool
	}{
		{"region = 'EU' AND active", false, nil, map[string]int{"region": 3, "active": 5}, false},
		{"Region = 'EU'", false, nil, map[string]int{"region": 3}, false},
		{"true", false, nil, map[string]int{}, false},
		{"region = current_user", false, nil, map[string]int{"region": 3}, false},
		{"is_role_in_session('x')", false, nil, map[string]int{}, false},
		{"region = current_role", false, nil, map[string]int{"region": 3}, false},
		{"region", false, nil, nil, false}, // no condition
		{"customers.region = 'EU'", false, nil, nil, false},
		{"nosuch = 1", false, nil, nil, false},
		{"value = 'x'", false, &email, nil, false}, // a filter has no value
		{"region = :p", false, nil, nil, false},
		{"left(value, 2)", true, &email, map[string]int{}, true},
		{"left(VALUE, 2) || region", true, &email, map[string]int{"region": 3}, true},
		{"region", true, &email, map[string]int{"region": 3}, false},
		{"NULL", true, &email, map[string]int{}, false},
		{"value", true, nil, nil, false},
	} {
		got, reads, err := BindRule(c.sql, customers, c.mask, c.value)
		if err != nil {
			got = nil
		}
		if d := cmp.Diff(c.want, got); d != "" || reads != c.reads {
			t.Errorf("%s: value %v, %v (-want +got)\n%s", c.sql, reads, err, d)
		}
	}
	if n := len(customers.Columns); n != 9 || cap(customers.Columns) > n && customers.Columns[:n+1][n].Name == Value {
		t.Error("the table got a column")
	}
	own := customers
	own.Columns = append([]classify.Column{{Name: "Value", FieldID: 20, Type: "VARCHAR"}}, own.Columns...)
	if got, reads, err := BindRule("value", own, true, &email); err != nil || reads || got["value"] != 20 {
		t.Errorf("a table with a column of that name: %v %v %v", got, reads, err)
	}
}

// Fields decide what names mean, and nothing else does.
func TestFieldsDecide(t *testing.T) {
	fields := map[string]int{"mail": 2, "region": 9, "gone": 77}
	for sql, want := range map[string]string{
		"mail": "email", "region = 'x'": "tax_id = 'x'", "gone": "", "tax_id": "", "customers.mail": "", "customers.region": "",
	} {
		n, _, err := expression(Expression{SQL: sql, Fields: fields}, customers)
		got := ""
		if err == nil {
			got = show(t, n)
		}
		if got != want {
			t.Errorf("%s: %q, %v", sql, got, err)
		}
	}
}

// How rules, tags, objects and principals are written is what audit and messages show.
func TestSpellings(t *testing.T) {
	table := Object{Level: classify.LevelTable, Catalog: "lake", Schema: "shop", Table: "customers"}
	for want, got := range map[string]string{
		"lake.shop.customers":                   table.String(),
		"lake.shop":                             Object{Catalog: "lake", Schema: "shop"}.String(),
		"lake":                                  Object{Catalog: "lake"}.String(),
		"pii":                                   Tag{Key: "pii", Any: true}.String(),
		"pii = 'it''s'":                         Tag{Key: "pii", Value: "it's"}.String(),
		`row filter "f" on lake.shop.customers`: PlacedRule{Rule: Rule{Name: "f"}, Object: table}.Where(),
		`mask "m" on lake.shop.customers`:       PlacedRule{Rule: Rule{Name: "m"}, Object: table, Mask: true}.Where(),
		`mask "m" on tag pii`:                   PlacedRule{Rule: Rule{Name: "m", Tag: &Tag{Key: "pii", Any: true}}, Mask: true}.Where(),
		"user:ann":                              string(UserPrincipal(auth.Identity{User: "ann", Issuer: "i"}, "i")),
		"user:bob":                              string(UserPrincipal(auth.Identity{User: "bob", Issuer: "i"}, "")),
		"user:cid":                              string(UserPrincipal(auth.Identity{User: "cid"}, "i")),
		"user@j dora":                           string(UserPrincipal(auth.Identity{User: "dora", Issuer: "j"}, "i")),
		"e.rego:1":                              identify(Expression{Rule: "e.rego:1"}),
		"id":                                    identify(Expression{Rule: "e.rego:1", ID: "id"}),
		"unnamed":                               identify(Expression{}),
	} {
		if got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	for p, want := range map[Principal][3]string{
		"user:ann": {"user", "ann", ""}, "user@j dora d": {"user", "dora d", "j"}, "group:a:b": {"group", "a:b", ""}, "public": {"public", "", ""},
	} {
		kind, name, issuer := p.Split()
		if got := [3]string{kind, name, issuer}; got != want {
			t.Errorf("%s: %v", p, got)
		}
	}
}

// A condition of the statement goes below the filter only if it reads columns that are there and shown.
func TestPushable(t *testing.T) {
	rel := classify.Relation{Columns: customers.Columns[:2]}
	id := operator("=", columnNode("id"), intConst(1))
	for what, c := range map[string]struct {
		c  classify.Conjunct
		ok bool
	}{
		"control":          {classify.Conjunct{Expr: id, Columns: []int{0}}, true},
		"a masked column":  {classify.Conjunct{Expr: id, Columns: []int{1}}, false},
		"past the end":     {classify.Conjunct{Expr: id, Columns: []int{2}}, false},
		"before the start": {classify.Conjunct{Expr: id, Columns: []int{-1}}, false},
		"nothing":          {classify.Conjunct{Columns: []int{0}}, false},
		"what may fail":    {classify.Conjunct{Expr: castTo(columnNode("id"), "date"), Columns: []int{0}}, false},
		"a type not known": {classify.Conjunct{Expr: operator("=", columnNode("nosuch"), intConst(1)), Columns: []int{0}}, false},
	} {
		if pushable(c.c, rel, map[int]bool{2: true}) != c.ok {
			t.Errorf("%s: %v", what, !c.ok)
		}
	}
	var none *pgquery.Node
	if edit(none, nil) != nil {
		t.Error("nothing became something")
	}
}
