package grants_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gatehouse/classify"
	"gatehouse/policy"
	"gatehouse/policy/grants"
)

var table = policy.Object{Level: classify.LevelTable, Catalog: "c", Schema: "s", Table: "t"}

func open(t *testing.T, file string, now func() time.Time) *grants.Store {
	t.Helper()
	s, err := grants.New(t.Context(), grants.Config{File: file, Admin: "admin", Now: now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func apply(t *testing.T, s *grants.Store, changes ...policy.Change) policy.Rights {
	t.Helper()
	base, err := s.Current()
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.Apply(t.Context(), base, policy.Author{User: "root", Query: "q1"}, changes)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func allow(p policy.Principal, privilege string, columns ...string) policy.Change {
	return policy.Change{Op: policy.OpAllow, Principal: p, Privilege: privilege, Object: table, Columns: columns}
}

func revoke(c policy.Change) policy.Change {
	c.Op = policy.OpRevoke
	return c
}

func privileges(r policy.Rights, p policy.Principal) (out []string) {
	for _, right := range r.List(&table, p) {
		out = append(out, right.Privilege)
	}
	return out
}

// What was granted is there after a restart, and every day of the past can be asked for.
func TestHistory(t *testing.T) {
	file, now := filepath.Join(t.TempDir(), "grants #1.db"), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := func() time.Time { now = now.Add(24 * time.Hour); return now }
	s := open(t, file, clock)
	apply(t, s, allow("user:ann", "SELECT"))         // 2 January
	apply(t, s, revoke(allow("user:ann", "SELECT"))) // 3 January
	v := apply(t, s, allow("user:ann", "INSERT"))    // 4 January
	same := apply(t, s, allow("user:ann", "INSERT")) // nothing new
	nothing := apply(t, s, revoke(allow("user:bob", "SELECT")))
	if v.Version() != 3 || same.Version() != 3 || nothing.Version() != 3 {
		t.Errorf("versions are %d, %d, %d, want 3 each: what changes nothing is no version", v.Version(), same.Version(), nothing.Version())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open(t, file, clock)
	for day, want := range map[int][]string{1: nil, 2: {"SELECT"}, 3: nil, 4: {"INSERT"}} {
		r, err := s.At(t.Context(), time.Date(2026, 1, day, 12, 0, 0, 0, time.UTC))
		if err != nil {
			t.Fatal(err)
		}
		if got := privileges(r, "user:ann"); !slices.Equal(got, want) {
			t.Errorf("on day %d ann held %v, want %v", day, got, want)
		}
	}
	h, err := s.History(t.Context(), 2)
	if err != nil || len(h) != 2 || h[0].Version != 3 || h[0].Author.User != "root" || h[1].Changes[0].Before != "allow (*)" || h[1].Changes[0].After != "" {
		t.Errorf("the history is %+v, %v", h, err)
	}
}

// The log refuses to be rewritten.
func TestAppendOnly(t *testing.T) {
	file := filepath.Join(t.TempDir(), "grants.db")
	s := open(t, file, nil)
	apply(t, s, allow("user:ann", "SELECT"))
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, q := range []string{`DELETE FROM gatehouse_grants`, `UPDATE gatehouse_grants SET author = 'x'`} {
		if _, err := db.Exec(q); err == nil {
			t.Errorf("%s was possible", q)
		}
	}
}

// A statement is all or nothing, and one that was decided with older rights is decided anew.
func TestAtomic(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "grants.db"), nil)
	old, err := s.Current()
	if err != nil {
		t.Fatal(err)
	}
	var refused *policy.RightsError
	_, err = s.Apply(t.Context(), old, policy.Author{}, []policy.Change{allow("user:ann", "SELECT"), allow("role:none", "SELECT")})
	if !errors.As(err, &refused) {
		t.Errorf("a grant to a role that does not exist gave %v", err)
	}
	if now, _ := s.Current(); now.Version() != 0 || privileges(now, "user:ann") != nil {
		t.Error("half of a statement is in force")
	}
	apply(t, s, allow("user:ann", "SELECT"))
	if _, err := s.Apply(t.Context(), old, policy.Author{}, []policy.Change{allow("user:bob", "SELECT")}); !errors.Is(err, policy.ErrRightsChanged) {
		t.Errorf("a change of old rights gave %v", err)
	}
	if privileges(old, "user:ann") != nil {
		t.Error("rights that were read before have changed")
	}
}

func TestChanges(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "grants.db"), nil)
	ann := policy.Principal("user:ann")
	r := apply(t, s, allow(ann, "SELECT", "a"), allow(ann, "SELECT", "b"), allow(ann, "INSERT"))
	if got := r.List(&table, ann); len(got) != 2 || !slices.Equal(got[1].Columns, []string{"a", "b"}) || got[0].Columns != nil {
		t.Errorf("ann holds %+v", got)
	}
	if got := privileges(apply(t, s, revoke(allow(ann, "INSERT"))), ann); !slices.Equal(got, []string{"SELECT"}) {
		t.Errorf("after the loss of INSERT ann holds %v", got)
	}
	r = apply(t, s, revoke(allow(ann, "SELECT", "a")))
	if got := r.List(&table, ann); len(got) != 1 || !slices.Equal(got[0].Columns, []string{"b"}) {
		t.Errorf("after the loss of a column ann holds %+v", got)
	}
	r = apply(t, s, policy.Change{Op: policy.OpCreateRole, Role: "r"}, policy.Change{Op: policy.OpAddMember, Role: "r", Principal: ann},
		allow("role:r", "SELECT"), policy.Change{Op: policy.OpDropRole, Role: "r"}, policy.Change{Op: policy.OpCreateRole, Role: "r"})
	if roles, _ := r.RolesOf(ann); len(roles) != 0 || r.List(nil, "role:r") != nil {
		t.Error("a new role has what an old one of its name had")
	}
	base, _ := s.Current()
	for name, c := range map[string]policy.Change{
		"unknown privilege":    {Op: policy.OpAllow, Principal: ann, Privilege: "EXECUTE", Object: table},
		"wrong level":          {Op: policy.OpAllow, Principal: ann, Privilege: "USAGE", Object: table},
		"no principal":         {Op: policy.OpAllow, Principal: "user:", Privilege: "SELECT", Object: table},
		"odd principal":        {Op: policy.OpAllow, Principal: "table:t", Privilege: "SELECT", Object: table},
		"no table":             {Op: policy.OpAllow, Principal: ann, Privilege: "SELECT", Object: policy.Object{Level: classify.LevelTable, Catalog: "c", Schema: "s"}},
		"the admins' role":     {Op: policy.OpDropRole, Role: "admin"},
		"members of nothing":   {Op: policy.OpAddMember, Role: "none", Principal: ann},
		"everybody in a role":  {Op: policy.OpAddMember, Role: "r", Principal: "public"},
		"denied ownership":     {Op: policy.OpDeny, Principal: ann, Privilege: "OWNERSHIP", Object: table},
		"part of a whole":      {Op: policy.OpRevoke, Principal: "user:whole", Privilege: "SELECT", Object: table, Columns: []string{"a"}},
		"denial of the future": {Op: policy.OpDeny, Principal: ann, Privilege: "SELECT", Object: policy.Object{Level: classify.LevelFutureTables, Catalog: "c", Schema: "s"}},
	} {
		var refused *policy.RightsError
		if _, err := s.Apply(context.Background(), base, policy.Author{}, []policy.Change{allow("user:whole", "SELECT"), c}); !errors.As(err, &refused) {
			t.Errorf("%s: %v, want a refusal", name, err)
		}
	}
}

// Below a value there is nothing to read.
func TestReadBelowAValue(t *testing.T) {
	r := apply(t, open(t, filepath.Join(t.TempDir(), "grants.db"), nil), allow("user:ann", "SELECT"))
	for path, want := range map[string]any{"version": 1, "version/x": nil, "admin/x/y": nil, "nosuch": nil, "nosuch/x": nil} {
		if v, ok := r.Read(strings.Split(path, "/")); v != want || ok != (want != nil) {
			t.Errorf("%s: %v %v", path, v, ok)
		}
	}
}
