package plan

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"gatehouse/auth"
	"gatehouse/catalog"
	"gatehouse/classify"
	"gatehouse/policy"
)

// govern takes a statement through the real stages before this one. decide says what policy demands of each reference.
func govern(t testing.TB, c catalog.Catalog, text string, decide func(policy.Table) policy.Decision) (*policy.Governed, []*catalog.Table) {
	t.Helper()
	stmt, err := classify.Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	var tables []*catalog.Table
	var shapes []classify.Relation
	var described []policy.Table
	var decisions []policy.Decision
	for _, ref := range stmt.Tables() {
		n := ref.Resolve(classify.Namespace{Catalog: "zoo", Schema: "spark"})
		tbl, err := c.Table(t.Context(), alice, n.Schema, n.Table)
		if err != nil {
			t.Fatal(err)
		}
		if tbl, err = tbl.At(catalog.Version(ref.Travel)); err != nil {
			t.Fatal(err)
		}
		shape := classify.Relation{Name: classify.Name{Catalog: tbl.Catalog, Schema: tbl.Schema, Table: tbl.Name}}
		for _, col := range tbl.Columns {
			shape.Columns = append(shape.Columns, classify.Column{Name: col.Name, FieldID: col.FieldID, Type: col.SQLType})
		}
		full := policy.Table{Name: shape.Name, UUID: tbl.UUID, Columns: shape.Columns}
		tables, shapes = append(tables, tbl), append(shapes, shape)
		described, decisions = append(described, full), append(decisions, decide(full))
	}
	bound, err := stmt.Bind(shapes)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	g, err := policy.Apply(bound, "r1", described, decisions)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return g, tables
}

func open(policy.Table) policy.Decision { return policy.Decision{ID: "d1"} }

var now = time.Date(2026, 3, 1, 12, 0, 0, 500, time.UTC)

func TestPlan(t *testing.T) {
	c, m := openZoo(t), &minter{}
	p, err := New(Config{Minter: m, Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	filtered := func(policy.Table) policy.Decision {
		return policy.Decision{
			ID:      "d1",
			Filters: []policy.Expression{{ID: "eu-only", SQL: "region = 'eu'"}},
			Masks:   map[string]policy.Expression{"name": {ID: "hidden", SQL: "NULL"}},
		}
	}
	g, tables := govern(t, c, "SELECT a.name, count(*) FROM v1_plain a JOIN v1_plain b ON a.id = b.id WHERE a.id > 1 GROUP BY 1", filtered)
	got, err := p.Plan(t.Context(), alice, "q1", g, tables, now.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Relations()) != 2 || !got.Deadline().Equal(now.Add(time.Minute)) || got.Query() != "q1" || got.Identity().User != "alice" {
		t.Errorf("plan: %+v", got)
	}
	for i, r := range got.Relations() {
		digest, err := r.PayloadDigest()
		if err != nil || digest != r.Task.Digest || len(digest) != 43 {
			t.Errorf("digest %q, task has %q (%v)", digest, r.Task.Digest, err)
		}
		want := auth.TaskClaims{
			Issuer: "gatehouse", Subject: "alice", UserIss: "test", Query: "q1", Relation: r.CTE, Digest: digest,
			Expires: now.Add(time.Minute).Truncate(time.Second).Add(time.Second),
		}
		if m.claims[i] != want {
			t.Errorf("claims %+v, want %+v", m.claims[i], want)
		}
		if r.Scan.Snapshot != tables[0].Snapshot.SnapshotID {
			t.Errorf("snapshot %d", r.Scan.Snapshot)
		}
	}
	// a needs name's stand-in and id; the filter's region comes along, amount does not.
	var names []string
	for _, f := range got.Relations()[0].Scan.Fields {
		names = append(names, f.Name)
	}
	if s := strings.Join(names, " "); s != "id name region" {
		t.Errorf("reads %q", s)
	}
	for _, r := range got.Relations() {
		for _, f := range r.Scan.Files {
			if v := f.Constants[3]; v == nil || *v != "eu" {
				t.Errorf("a file of another region is read: %s", f.Path)
			}
		}
	}
}

// What is refused before anything is read.
func TestPlanRefuses(t *testing.T) {
	c, p := openZoo(t), newPlanner(t)
	g, tables := govern(t, c, "SELECT * FROM orders", open)
	past := alice
	past.ExpiresAt = time.Now().Add(-time.Second)
	other, err := c.Table(t.Context(), alice, "spark", "strings")
	if err != nil {
		t.Fatal(err)
	}
	restricted := *tables[0]
	restricted.Restrictions = []byte(`{"required-row-filter":true}`)
	for _, x := range []struct {
		name     string
		id       auth.Identity
		query    string
		g        *policy.Governed
		tables   []*catalog.Table
		deadline time.Time
	}{
		{"nobody", auth.Identity{}, "q", g, tables, time.Time{}},
		{"expired", past, "q", g, tables, time.Time{}},
		{"too late", alice, "q", g, tables, time.Now().Add(-time.Minute)},
		{"no query", alice, "", g, tables, time.Time{}},
		{"no statement", alice, "q", nil, tables, time.Time{}},
		{"zero statement", alice, "q", &policy.Governed{}, tables, time.Time{}},
		{"no table", alice, "q", g, nil, time.Time{}},
		{"nil table", alice, "q", g, []*catalog.Table{nil}, time.Time{}},
		{"another table", alice, "q", g, []*catalog.Table{other}, time.Time{}},
	} {
		if _, err := p.Plan(t.Context(), x.id, x.query, x.g, x.tables, x.deadline); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s: got %v, want ErrInvalid", x.name, err)
		}
	}
	_, err = p.Plan(t.Context(), alice, "q", g, []*catalog.Table{&restricted}, time.Time{})
	if u, ok := errors.AsType[*UnreadableError](err); !ok || u.Table != "zoo.spark.orders" {
		t.Errorf("read restrictions: got %v", err)
	}
	if _, err := p.Plan(t.Context(), alice, "q", g, tables, time.Time{}); err != nil {
		t.Errorf("the control: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newPlanner(t).Plan(ctx, alice, "q", g, tables, time.Time{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: got %v", err)
	}
}

// A self-join sees one state of the table or is refused.
func TestOneState(t *testing.T) {
	c, p := openZoo(t), newPlanner(t)
	g, tables := govern(t, c, "SELECT 1 FROM orders a, orders b", open)
	other, err := c.Table(t.Context(), alice, "spark", "strings")
	if err != nil {
		t.Fatal(err)
	}
	moved := *tables[1]
	moved.Iceberg = other.Iceberg
	if _, err := p.Plan(t.Context(), alice, "q", g, []*catalog.Table{tables[0], &moved}, time.Time{}); !errors.Is(err, ErrInvalid) {
		t.Errorf("got %v, want ErrInvalid", err)
	}
}

// A plan's text says that a filter or mask applies, never which, and says nothing that changes with hidden rows.
func TestExplain(t *testing.T) {
	c, p := openZoo(t), newPlanner(t)
	g, tables := govern(t, c, "SELECT name FROM v1_plain WHERE id = 1", open)
	free, err := p.Plan(t.Context(), alice, "q", g, tables, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"scan zoo.spark.v1_plain\n", "columns   id, name\n", fmt.Sprint(tables[0].Snapshot.SnapshotID), " of "} {
		if !strings.Contains(free.Explain(), want) {
			t.Errorf("without a policy, %q is missing in\n%s", want, free.Explain())
		}
	}
	g, tables = govern(t, c, "SELECT name FROM v1_plain WHERE id = 1", func(policy.Table) policy.Decision {
		return policy.Decision{
			ID: "d", Filters: []policy.Expression{{ID: "f1", SQL: "region = 'sesame'"}},
			Masks: map[string]policy.Expression{"name": {ID: "m1", SQL: "'opensesame'"}},
		}
	})
	hidden, err := p.Plan(t.Context(), alice, "q", g, tables, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"filter    yes\n", "masked    name\n"} {
		if !strings.Contains(hidden.Explain(), want) {
			t.Errorf("%q is missing in\n%s", want, hidden.Explain())
		}
	}
	for _, never := range []string{"sesame", "f1", "m1", fmt.Sprint(tables[0].Snapshot.SnapshotID), "at most", " of 2"} {
		if strings.Contains(hidden.Explain(), never) {
			t.Errorf("%q is in\n%s", never, hidden.Explain())
		}
	}
}

// Each single fact of a relation changes its digest.
func TestDigestCoversEverything(t *testing.T) {
	c, p := openZoo(t), newPlanner(t)
	seen := map[string]string{}
	for _, z := range []string{"spark.v2_pos_partition", "java.eq_and_dv_v3", "java.defaults_v3", "py.add_files", "spark.nested_plain"} {
		ns, name, _ := strings.Cut(z, ".")
		tbl, err := c.Table(t.Context(), alice, ns, name)
		if err != nil {
			t.Fatal(err)
		}
		r := whole(tbl)
		r.Filter = where(t, "id = 1")
		r.Columns[0].Mask = where(t, "NULL")
		scan, err := p.scan(t.Context(), tbl, r, nil)
		if err != nil {
			t.Fatal(err)
		}
		rel := Relation{Relation: r, Scan: scan}
		before, err := rel.PayloadDigest()
		if err != nil {
			t.Fatal(err)
		}
		mutations := 0
		mutate(reflect.ValueOf(&rel).Elem(), z, func(path string) {
			mutations++
			after, err := rel.PayloadDigest()
			if err != nil {
				t.Fatal(err)
			}
			if after == before {
				t.Errorf("%s is not covered", path)
			}
			if other, dup := seen[after]; dup {
				t.Errorf("%s and %s have one digest", path, other)
			}
			seen[after] = path
		})
		if again, _ := rel.PayloadDigest(); again != before || mutations < 40 {
			t.Errorf("%s: %d mutations, and the digest is another one after them: %v", z, mutations, again != before)
		}
	}
}

// uncovered are what executors do not act on: the credential itself, what the planner has settled, and what only audit needs.
var uncovered = map[string]bool{"Steady": true, "Restricted": true, "Task": true, "Filters": true, "Masks": true, "Decision": true, "Table": true}

// mutate changes one fact after the other, calls check and changes it back.
func mutate(v reflect.Value, path string, check func(string)) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.IsExported() && (!uncovered[f.Name] || v.Field(i).Kind() == reflect.String && f.Name == "Table") {
				mutate(v.Field(i), path+"."+f.Name, check)
			}
		}
	case reflect.Slice:
		for i := range min(v.Len(), 2) {
			mutate(v.Index(i), fmt.Sprintf("%s[%d]", path, i), check)
		}
		if v.Len() > 0 {
			old := reflect.ValueOf(v.Interface())
			v.Set(old.Slice(0, old.Len()-1))
			check(path + " shortened")
			v.Set(old)
		}
	case reflect.Map:
		for _, k := range v.MapKeys()[:min(v.Len(), 2)] {
			old := v.MapIndex(k)
			v.SetMapIndex(k, reflect.Value{})
			check(fmt.Sprintf("%s[%v] removed", path, k))
			v.SetMapIndex(k, old)
		}
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		old := reflect.ValueOf(v.Interface())
		v.SetZero()
		check(path + " removed")
		v.Set(old)
	case reflect.String:
		old := v.String()
		v.SetString(old + "x")
		check(path)
		v.SetString(old)
	case reflect.Int, reflect.Int64:
		old := v.Int()
		v.SetInt(old + 1)
		check(path)
		v.SetInt(old)
	case reflect.Bool:
		v.SetBool(!v.Bool())
		check(path)
		v.SetBool(!v.Bool())
	}
}

// BenchmarkWarmPlan is what the stages catalog and plan add to a statement over a table that was used before.
func BenchmarkWarmPlan(b *testing.B) {
	for _, name := range []string{"v1_plain", "many_files", "evo_partition"} {
		b.Run(name, func(b *testing.B) {
			c, p := openZoo(b), newPlanner(b)
			g, _ := govern(b, c, "SELECT * FROM "+name+" WHERE id > 3", open)
			for b.Loop() {
				tbl, err := c.Table(b.Context(), alice, "spark", name)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := p.Plan(b.Context(), alice, "q", g, []*catalog.Table{tbl}, time.Time{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
