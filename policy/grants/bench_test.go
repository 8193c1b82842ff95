package grants_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"gatehouse/auth"
	"gatehouse/classify"
	"gatehouse/policy"
	"gatehouse/policy/grants"
	"gatehouse/policy/opa"
)

// The size of the benchmarks: 100,000 grants to 10,000 roles on 5,000 tables in 50 schemas.
const (
	benchTables = 5000
	benchRoles  = 10000
	benchGrants = 100000
)

func benchName(i int) classify.Name {
	return classify.Name{Catalog: "c", Schema: fmt.Sprintf("s%d", i%50), Table: fmt.Sprintf("t%d", i)}
}

// filled makes a store of roles and grants, and a user "ann" with five roles that inherit five others.
func filled(b *testing.B, roles, perRole int) (*grants.Store, *opa.Decider) {
	ctx := context.Background()
	store, err := grants.New(ctx, grants.Config{File: filepath.Join(b.TempDir(), "grants.db"), Admin: "admin"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = store.Close() })
	var changes []policy.Change
	for r := range roles {
		changes = append(changes, policy.Change{Op: policy.OpCreateRole, Role: fmt.Sprintf("r%d", r)})
	}
	for r := range roles {
		for g := range perRole {
			n := benchName((r*perRole + g) % benchTables)
			changes = append(changes, policy.Change{
				Op: policy.OpAllow, Principal: policy.Principal(fmt.Sprintf("role:r%d", r)), Privilege: "SELECT",
				Object: policy.Object{Level: classify.LevelTable, Catalog: n.Catalog, Schema: n.Schema, Table: n.Table},
			})
		}
	}
	for r := range 5 {
		changes = append(changes, policy.Change{Op: policy.OpAddMember, Role: fmt.Sprintf("r%d", r), Principal: "user:ann"},
			policy.Change{Op: policy.OpAddMember, Role: fmt.Sprintf("r%d", r+5), Principal: policy.Principal(fmt.Sprintf("role:r%d", r))})
	}
	base, err := store.Current()
	if err != nil {
		b.Fatal(err)
	}
	if _, err := store.Apply(ctx, base, policy.Author{User: "bench"}, changes); err != nil {
		b.Fatal(err)
	}
	return store, newDecider(b, &source{store})
}

// eachUser runs f for a user whose statements were asked before, and for one new user after the other.
func eachUser(b *testing.B, f func(b *testing.B, d *opa.Decider, subject func() string)) {
	sizes(b, func(b *testing.B, _ *grants.Store, d *opa.Decider) {
		for _, first := range []bool{false, true} {
			b.Run(map[bool]string{false: "warm", true: "first"}[first], func(b *testing.B) {
				n := 0
				before := used()
				f(b, d, func() string {
					if first {
						n++
					}
					return fmt.Sprint("ann", n)
				})
				b.ReportMetric(float64(used()-before)/1e6/float64(b.N), "cpu-ms/op")
			})
		}
	})
}

func sizes(b *testing.B, f func(b *testing.B, store *grants.Store, d *opa.Decider)) {
	for _, s := range []struct{ roles, perRole int }{{100, 10}, {benchRoles, benchGrants / benchRoles}} {
		b.Run(fmt.Sprintf("grants=%d", s.roles*s.perRole), func(b *testing.B) {
			store, d := filled(b, s.roles, s.perRole)
			b.ResetTimer()
			f(b, store, d)
		})
	}
}

// used is the processor time of this process so far, which other processes hardly disturb.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// benchJudge is ann's, and with a subject that was not here before, that of an ann who has asked nothing yet.
func benchJudge(b *testing.B, d *opa.Decider, subject string) policy.Judge {
	j, err := d.Judge(context.Background(), policy.Caller{Identity: auth.Identity{Issuer: "test", Subject: subject, User: "ann"}})
	if err != nil {
		b.Fatal(err)
	}
	return j
}

// BenchmarkFiveTables is all that a statement over five tables, with two of four columns each, asks of the policy.
func BenchmarkFiveTables(b *testing.B) {
	eachUser(b, func(b *testing.B, d *opa.Decider, subject func() string) {
		ctx := context.Background()
		columns := []classify.Column{{Name: "a", FieldID: 1, Type: "BIGINT"}, {Name: "b", FieldID: 2, Type: "VARCHAR"}, {Name: "c", FieldID: 3, Type: "VARCHAR"}, {Name: "d", FieldID: 4, Type: "DATE"}}
		for b.Loop() {
			j := benchJudge(b, d, subject())
			allow := func(op policy.Operation, rs ...policy.Resource) {
				ok, err := j.Allow(ctx, op, rs)
				if err != nil || slices.Contains(ok, false) {
					b.Fatal(op, ok, err)
				}
			}
			allow(policy.ExecuteQuery, policy.Resource{})
			allow(policy.AccessCatalog, policy.Resource{Catalog: "c"})
			for i := range 5 {
				n := benchName(i * 10)
				res := policy.Resource{Catalog: n.Catalog, Schema: n.Schema, Table: n.Table}
				allow(policy.SelectColumns, res)
				first, second := res, res
				first.Columns, second.Columns = []string{"a"}, []string{"b"}
				allow(policy.FilterColumns, first, second)
				table := policy.Table{Name: n, Columns: columns}
				res.Columns, res.Detail = []string{"a", "b"}, &table
				allow(policy.SelectColumns, res)
				if _, err := j.Table(ctx, table, res.Columns); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// BenchmarkListing is SHOW TABLES: every table is asked for twice.
func BenchmarkListing(b *testing.B) {
	eachUser(b, func(b *testing.B, d *opa.Decider, subject func() string) {
		ctx := context.Background()
		var all []policy.Resource
		for i := range benchTables {
			n := benchName(i)
			all = append(all, policy.Resource{Catalog: n.Catalog, Schema: n.Schema, Table: n.Table})
		}
		for b.Loop() {
			j := benchJudge(b, d, subject())
			ok, err := j.Allow(ctx, policy.FilterTables, all)
			if err != nil {
				b.Fatal(err)
			}
			var seen []policy.Resource
			for i := range ok {
				if ok[i] {
					seen = append(seen, all[i])
				}
			}
			if again, err := j.Allow(ctx, policy.SelectColumns, seen); err != nil || len(again) < 50 {
				b.Fatal(len(again), err)
			}
		}
	})
}

// BenchmarkGrant is one GRANT, on the disk and in force.
func BenchmarkGrant(b *testing.B) {
	sizes(b, func(b *testing.B, store *grants.Store, _ *opa.Decider) {
		for i := 0; b.Loop(); i++ {
			base, err := store.Current()
			if err != nil {
				b.Fatal(err)
			}
			n := benchName(i % benchTables)
			_, err = store.Apply(context.Background(), base, policy.Author{User: "bench"}, []policy.Change{{
				Op: []policy.RightsOp{policy.OpAllow, policy.OpRevoke}[i%2], Principal: "user:bob", Privilege: "INSERT",
				Object: policy.Object{Level: classify.LevelTable, Catalog: n.Catalog, Schema: n.Schema, Table: n.Table},
			}})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}
