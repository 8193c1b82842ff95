package grants_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"gatehouse/auth"
	"gatehouse/classify"
	"gatehouse/policies"
	"gatehouse/policy"
	"gatehouse/policy/grants"
	"gatehouse/policy/opa"
)

// world is a store with the shipped Rego over it, and the model beside it.
type world struct {
	store   *grants.Store
	decider *opa.Decider
	model   *model
}

// source lets one compiled policy decide with one store after the other.
type source struct{ *grants.Store }

func newDecider(t testing.TB, s *source) *opa.Decider {
	files, err := policies.Files(policies.Skeleton)
	if err != nil {
		t.Fatal(err)
	}
	decider, err := opa.New(opa.Config{Files: files, Rights: s, Timeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = decider.Close() })
	return decider
}

func identity(user string) auth.Identity {
	return auth.Identity{Issuer: "test", Subject: user, User: user}
}

func (w *world) judge(t rapid.TB, user string) policy.Judge {
	id := identity(user)
	if user == "root" {
		id.Roles = []string{"admin"}
	}
	j, err := w.decider.Judge(context.Background(), policy.Caller{Identity: id})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func allowed(t rapid.TB, j policy.Judge, op policy.Operation, res policy.Resource) bool {
	ok, err := j.Allow(context.Background(), op, []policy.Resource{res})
	if err != nil {
		t.Fatal(err)
	}
	return ok[0]
}

var (
	actors     = []string{"root", "ann", "bob", "cy"}
	roleNames  = []string{"r1", "r2", "r3", "admin"}
	tableNames = []string{"t1", "t2", "new"}
	columnSets = [][]string{nil, {"a"}, {"b"}, {"a", "b"}}
)

// cells are all things that can be done here.
func cells() []cell {
	var out []cell
	for _, p := range []string{"SELECT", "INSERT"} {
		for _, t := range tableNames {
			for _, c := range []string{"a", "b"} {
				out = append(out, cell{p, t, c})
			}
		}
	}
	return out
}

// may asks the Rego what the model answers with model.may.
func (w *world) may(t rapid.TB, j policy.Judge, c cell) bool {
	res := policy.Resource{Catalog: "c", Schema: "s", Table: c.table, Columns: []string{c.column}}
	if c.privilege == "SELECT" {
		return allowed(t, j, policy.SelectColumns, res)
	}
	res.Grant = &policy.GrantRequest{Privilege: c.privilege}
	return allowed(t, j, policy.CheckAccess, res)
}

// draw makes one change and what the gateway asks the policy about it.
func draw(t *rapid.T, ops []policy.RightsOp) (policy.Change, policy.Operation, policy.Resource) {
	grantees := []policy.Principal{"user:ann", "user:bob", "user:cy", "role:r1", "role:r2", "role:r3", "public"}
	c := policy.Change{
		Op:     rapid.SampledFrom(ops).Draw(t, "op"),
		Option: rapid.Bool().Draw(t, "option"),
	}
	switch c.Op {
	case policy.OpCreateRole, policy.OpDropRole:
		c.Option = false
		c.Role = rapid.SampledFrom(roleNames).Draw(t, "role")
		op := map[policy.RightsOp]policy.Operation{policy.OpCreateRole: policy.CreateRole, policy.OpDropRole: policy.DropRole}[c.Op]
		return c, op, policy.Resource{Grant: &policy.GrantRequest{Role: c.Role}}
	case policy.OpAddMember, policy.OpRemoveMember:
		c.Role = rapid.SampledFrom(roleNames).Draw(t, "role")
		c.Principal = rapid.SampledFrom(grantees[:6]).Draw(t, "grantee")
		op := map[policy.RightsOp]policy.Operation{policy.OpAddMember: policy.GrantRoles, policy.OpRemoveMember: policy.RevokeRoles}[c.Op]
		return c, op, policy.Resource{Grant: &policy.GrantRequest{Role: c.Role, Option: c.Option}}
	}
	c.Principal = rapid.SampledFrom(grantees).Draw(t, "grantee")
	c.Privilege = rapid.SampledFrom([]string{"SELECT", "SELECT", "INSERT", "OWNERSHIP"}).Draw(t, "privilege")
	c.Object = policy.Object{Level: rapid.SampledFrom([]classify.Level{
		classify.LevelTable, classify.LevelTable, classify.LevelTable, classify.LevelFutureTables, classify.LevelSchema, classify.LevelCatalog,
	}).Draw(t, "level"), Catalog: "c"}
	op := map[classify.Level]policy.Operation{
		classify.LevelTable: policy.GrantTable, classify.LevelFutureTables: policy.GrantFuture, classify.LevelSchema: policy.GrantSchema, classify.LevelCatalog: policy.GrantCatalog,
	}[c.Object.Level]
	if c.Object.Level != classify.LevelCatalog {
		c.Object.Schema = "s"
	}
	switch c.Object.Level {
	case classify.LevelTable:
		c.Object.Table = rapid.SampledFrom(tableNames).Draw(t, "table")
		if c.Privilege != "OWNERSHIP" {
			c.Columns = rapid.SampledFrom(columnSets).Draw(t, "columns")
		}
	case classify.LevelFutureTables:
		c.Except = rapid.SampledFrom([][]string{{"t1", "t2"}, {"t1"}, {"t1", "t2", "new"}, {}}).Draw(t, "existing")
	}
	switch c.Op {
	case policy.OpRevoke:
		op = policy.Revoke
	case policy.OpDeny, policy.OpUndeny:
		op, c.Option = policy.Deny, false
	}
	return c, op, policy.Resource{
		Catalog: c.Object.Catalog, Schema: c.Object.Schema, Table: c.Object.Table, Columns: c.Columns,
		Grant: &policy.GrantRequest{Privilege: c.Privilege, Option: c.Option, Except: c.Except},
	}
}

// held is what each user may do, by the model.
func (w *world) held() map[string]map[cell]bool {
	out := map[string]map[cell]bool{}
	for _, u := range actors[1:] {
		out[u] = map[cell]bool{}
		for _, c := range cells() {
			out[u][c] = w.model.may(policy.Principal("user:"+u), c)
		}
	}
	return out
}

var (
	everything = []policy.RightsOp{
		policy.OpCreateRole, policy.OpDropRole, policy.OpAddMember, policy.OpAddMember, policy.OpRemoveMember, policy.OpAllow, policy.OpAllow,
		policy.OpRevoke, policy.OpDeny, policy.OpUndeny,
	}
	giving = []policy.RightsOp{policy.OpAddMember, policy.OpAllow, policy.OpAllow, policy.OpDeny}
)

// Whatever anybody types: the Rego agrees with the model, and nobody but an administrator makes anybody hold what he did
// not hold himself.
func TestNobodyHandsOutMoreThanHeHolds(t *testing.T) {
	src, passed := &source{}, map[policy.RightsOp]int{}
	decider := newDecider(t, src)
	rapid.Check(t, func(t *rapid.T) {
		dir, err := tempDir()
		if err != nil {
			t.Fatal(err)
		}
		defer dir.remove()
		store, err := grants.New(context.Background(), grants.Config{File: filepath.Join(dir.path, "grants.db"), Admin: "admin"})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		src.Store = store
		w := &world{store, decider, newModel()}
		for _, r := range roleNames[:3] {
			w.do(t, "root", policy.Change{Op: policy.OpCreateRole, Role: r}, policy.CreateRole, policy.Resource{Grant: &policy.GrantRequest{Role: r}})
		}
		for range rapid.IntRange(4, 12).Draw(t, "setup") {
			c, op, res := draw(t, giving)
			w.do(t, "root", c, op, res)
		}
		for range rapid.IntRange(10, 60).Draw(t, "steps") {
			actor := rapid.SampledFrom(actors[1:]).Draw(t, "actor")
			c, op, res := draw(t, everything)
			if w.do(t, actor, c, op, res) && !w.model.administers(policy.Principal("user:"+actor)) {
				passed[c.Op]++
			}
		}
		w.agree(t)
	})
	for _, op := range []policy.RightsOp{policy.OpAllow, policy.OpAddMember, policy.OpRevoke} {
		if passed[op] == 0 {
			t.Errorf("nobody but administrators ever made a change %q: the test shows nothing", op)
		}
	}
	t.Logf("changes by others than administrators: %v", passed)
}

// do makes a change if the policy lets actor, and checks that nobody gained what actor did not hold. It reports whether
// the change was made.
func (w *world) do(t rapid.TB, actor string, change policy.Change, op policy.Operation, res policy.Resource) bool {
	j := w.judge(t, actor)
	if !allowed(t, j, op, res) {
		return false
	}
	admin := actor == "root" || w.model.administers(policy.Principal("user:"+actor))
	before := w.held()
	_, err := w.store.Apply(context.Background(), j.(policy.Pinned).Rights(), policy.Author{User: actor}, []policy.Change{change})
	var refused *policy.RightsError
	if errors.As(err, &refused) {
		return false
	}
	if err != nil {
		t.Fatal(err)
	}
	w.model.do(change)
	for u, now := range w.held() {
		for c, ok := range now {
			if ok && !before[u][c] && !admin && !before[actor][c] {
				t.Fatalf("%s gave %s to %s without holding it, by %+v; now %s", actor, c, u, change, w.model)
			}
		}
	}
	return true
}

// agree compares the Rego with the model for every user and cell.
func (w *world) agree(t rapid.TB) {
	for _, u := range actors[1:] {
		j := w.judge(t, u)
		for _, c := range cells() {
			if got, want := w.may(t, j, c), w.model.may(policy.Principal("user:"+u), c); got != want {
				t.Fatalf("%s: %s is %v by the Rego and %v by the model; %s", u, c, got, want, w.model)
			}
		}
	}
}

func (c cell) String() string { return fmt.Sprintf("%s of %s.%s", c.privilege, c.table, c.column) }
