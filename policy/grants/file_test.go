package grants_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"gatehouse/policy"
	"gatehouse/policy/grants"
)

func export(t rapid.TB, r policy.Rights) string {
	f, err := grants.Export(r)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := f.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func planOf(t rapid.TB, r policy.Rights, text string) []policy.Change {
	f, err := grants.ReadFile([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	changes, err := grants.Plan(r, f)
	if err != nil {
		t.Fatal(err)
	}
	return changes
}

// What one store exports makes any other store the same, and then there is nothing left to do.
func TestExportPlanApply(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := tempDir()
		if err != nil {
			rt.Fatal(err)
		}
		defer dir.remove()
		var texts [2]string
		var stores [2]*grants.Store
		for i := range stores {
			s, err := grants.New(t.Context(), grants.Config{File: filepath.Join(dir.path, []string{"a", "b"}[i]), Admin: "admin"})
			if err != nil {
				rt.Fatal(err)
			}
			defer s.Close()
			stores[i] = s
			for range rapid.IntRange(0, 15).Draw(rt, "changes") {
				c, _, _ := draw(rt, everything)
				base, _ := s.Current()
				_, _ = s.Apply(t.Context(), base, policy.Author{}, []policy.Change{c}) // some make no sense
			}
			now, _ := s.Current()
			texts[i] = export(rt, now)
			if left := planOf(rt, now, texts[i]); len(left) > 0 {
				rt.Fatalf("a store differs from its own export: %+v\n%s", left, texts[i])
			}
		}
		base, _ := stores[1].Current()
		now, err := stores[1].Apply(t.Context(), base, policy.Author{}, planOf(rt, base, texts[0]))
		if err != nil {
			rt.Fatalf("%v\nfrom\n%s\nto\n%s", err, texts[1], texts[0])
		}
		if got := export(rt, now); got != texts[0] {
			rt.Fatalf("after apply:\n%s\nwant:\n%s", got, texts[0])
		}
	})
}

func TestFileIsStrict(t *testing.T) {
	for _, bad := range []string{"roles: [a]\nright: []\n", "rights:\n- principal: user:a\n  privilige: SELECT\n", "roles: {"} {
		if _, err := grants.ReadFile([]byte(bad)); err == nil || !strings.HasPrefix(err.Error(), "grants: ") {
			t.Errorf("%q was read: %v", bad, err)
		}
	}
}
