package ballista

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"gatehouse/executors"
	"gatehouse/executors/executortest"
)

// TestPlace: the record says where a statement ran. Ids of task credentials begin with that of the plan's own, and are never used twice.
func TestPlace(t *testing.T) {
	c := sharedCluster(t)
	p := executortest.Zoo(t, c.opener(t, func(c *Config) { c.Choices, c.LocalBytes, c.GroupBytes = []string{Auto}, 1, 4<<10 }))
	for text, want := range map[string]string{
		"SELECT count(*) FROM v2_many_row_groups": "ballista",
		"SELECT 1": "duckdb", // reads nothing
		"SELECT list(id) FROM v2_many_row_groups GROUP BY id % 7": "duckdb", // the cluster has no lists
	} {
		s, r, err := p.Open(t.Context(), text, nil)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := r.(executors.Placed).Place(); got != want {
			t.Errorf("%s: in %s, want %s", text, got, want)
		}
		r.Release()
		_ = s.Close()
	}
	if _, ok := p.Executor.(*Executor).Choose(Local); ok {
		t.Error("a session may choose what is not offered")
	}
	plan, err := p.Plan(t.Context(), executortest.Alice, "SELECT count(*) FROM v2_many_row_groups", nil)
	if err != nil {
		t.Fatal(err)
	}
	x := p.Executor.(*Executor)
	seen := map[string]bool{}
	for range 2 {
		relations, err := x.relations(t.Context(), plan)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range relations[0].Groups {
			id := idOf(t, g.Token)
			if !strings.HasPrefix(id, plan.Relations()[0].Task.ID+".") || seen[id] {
				t.Errorf("a task credential's id is %s, seen %v", id, seen[id])
			}
			seen[id] = true
		}
	}
	if len(seen) < 4 {
		t.Errorf("%d credentials prove nothing", len(seen))
	}
}

// TestChoices: a session has its statements run where it chose, of what is offered.
func TestChoices(t *testing.T) {
	p := executortest.Zoo(t, sharedCluster(t).opener(t, func(c *Config) { c.Choices, c.LocalBytes = []string{Auto, Local, Alone}, 1 }))
	x := p.Executor.(*Executor)
	if got := x.Choices(); !slices.Equal(got, []string{Auto, Local, Alone}) {
		t.Errorf("choices %v", got)
	}
	const reads, lists = "SELECT count(*) FROM v2_many_row_groups", "SELECT list(id) FROM v2_many_row_groups GROUP BY id % 7"
	for _, c := range []struct{ choice, text, place string }{
		{Auto, reads, Alone},
		{Auto, lists, Local},
		{Local, reads, Local},
		{Alone, reads, Alone},
		{Alone, lists, ""},
	} {
		chosen, ok := x.Choose(c.choice)
		if !ok {
			t.Fatalf("%s is not offered", c.choice)
		}
		p.Executor = chosen
		s, r, err := p.Open(t.Context(), c.text, nil)
		if c.place == "" {
			if kindIs(err) != executors.KindUnsupported {
				t.Errorf("%s: %s: %v", c.choice, c.text, err)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %s: %v", c.choice, c.text, err)
		}
		if got := r.(executors.Placed).Place(); got != c.place {
			t.Errorf("%s: %s: in %s, want %s", c.choice, c.text, got, c.place)
		}
		r.Release()
		_ = s.Close()
	}
	for _, name := range []string{"", "spark", "Auto"} {
		if _, ok := x.Choose(name); ok {
			t.Errorf("%q can be chosen", name)
		}
	}
	p.Executor = x
}

// idOf reads a credential without verifying it.
func idOf(t *testing.T, token string) string {
	t.Helper()
	bytes, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	if err != nil {
		t.Fatal(err)
	}
	var claims struct {
		ID string `json:"jti"`
	}
	if err := json.Unmarshal(bytes, &claims); err != nil {
		t.Fatal(err)
	}
	return claims.ID
}

// BenchmarkTwoStages is the least that a statement takes whose rows change executors once.
func BenchmarkTwoStages(b *testing.B) {
	p := executortest.Zoo(b, sharedCluster(b).opener(b, nil))
	for b.Loop() {
		if _, err := p.Rows(b.Context(), "SELECT a.id, count(*) AS n FROM v2_many_row_groups a GROUP BY a.id", nil); err != nil {
			b.Fatal(err)
		}
	}
}

// TestStagesStartAtOnce: a stage starts when its input is there. An executor that is not told asks once a second.
func TestStagesStartAtOnce(t *testing.T) {
	p := executortest.Zoo(t, sharedCluster(t).opener(t, nil))
	least := time.Hour
	for range 10 {
		started := time.Now()
		if _, err := p.Rows(t.Context(), "SELECT id, count(*) AS n FROM v2_many_row_groups GROUP BY id", nil); err != nil {
			t.Fatal(err)
		}
		least = min(least, time.Since(started))
	}
	if least > 900*time.Millisecond {
		t.Errorf("the fastest of 10 statements with two stages took %v", least)
	}
}
