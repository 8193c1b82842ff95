package grants_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"gatehouse/policy"
	"gatehouse/policy/grants"
)

// A long listing shows exactly the tables that are found when they are asked for one by one.
func TestListingIsWhatQueriesFind(t *testing.T) {
	src, shown := &source{}, 0
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
		for range rapid.IntRange(1, 12).Draw(t, "setup") {
			c, op, res := draw(t, giving)
			w.do(t, "root", c, op, res)
		}
		var all []policy.Resource
		for i := range 37 {
			all = append(all, policy.Resource{Catalog: "c", Schema: "s", Table: fmt.Sprint("other", i)})
		}
		for _, name := range tableNames {
			all = append(all, policy.Resource{Catalog: "c", Schema: "s", Table: name})
		}
		for _, u := range actors[1:] {
			j := w.judge(t, u)
			together, err := j.Allow(context.Background(), policy.FilterTables, all)
			if err != nil {
				t.Fatal(err)
			}
			alone := make([]bool, len(all))
			for i, r := range all {
				alone[i] = allowed(t, j, policy.FilterTables, r)
			}
			if !slices.Equal(together, alone) {
				t.Fatalf("%s sees %v in a listing and %v one by one; %s", u, together, alone, w.model)
			}
			if slices.Contains(together, true) && slices.Contains(together, false) {
				shown++
			}
		}
	})
	if shown == 0 {
		t.Fatal("nobody ever saw some tables and not others: the test shows nothing")
	}
}
