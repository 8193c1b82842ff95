package plan

import "testing"

// TestPruningIsNotSeen: where a filter or deletes hide rows, a condition for which no file has a row leaves one file to read, so that the engine cannot see
// from the plan what bounds hidden values have, and it reckons with the same rough number of rows whatever is asked.
func TestPruningIsNotSeen(t *testing.T) {
	c := openZoo(t)
	tbl, err := c.Table(t.Context(), alice, "spark", "many_files")
	if err != nil {
		t.Fatal(err)
	}
	p := newPlanner(t)
	scan := func(filter string, conditions ...string) Scan {
		r := whole(tbl)
		if filter != "" {
			r.Filter = where(t, filter)
		}
		for _, text := range conditions {
			r.Pushed = append(r.Pushed, where(t, text))
		}
		s, err := p.scan(t.Context(), tbl, r, nil)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	all := scan("id IS NOT NULL")
	if all.Rough < all.Rows || all.Rough > 4*max(16, all.Rows) {
		t.Errorf("%d roughly for %d rows", all.Rough, all.Rows)
	}
	for _, condition := range []string{"id = 1", "id > 1000000000", "id < -1000000000"} {
		s := scan("id IS NOT NULL", condition)
		if len(s.Files) == 0 || len(s.Files) > len(all.Files)/2 || s.Rough != all.Rough {
			t.Errorf("%s: %d of %d files, %d roughly instead of %d", condition, len(s.Files), len(all.Files), s.Rough, all.Rough)
		}
	}
	if s := scan("", "id > 1000000000"); len(s.Files) != 0 || s.Rough != 0 {
		t.Errorf("the control: nothing is hidden, and %d files are read, %d roughly", len(s.Files), s.Rough)
	}
	for n, want := range map[int64]int64{0: 64, 64: 64, 65: 256, 256: 256, 257: 1024, 1 << 40: 1 << 40, 1<<40 + 1: 1 << 42} {
		if got := rough(n); got != want {
			t.Errorf("%d is roughly %d, want %d", n, got, want)
		}
	}
}
