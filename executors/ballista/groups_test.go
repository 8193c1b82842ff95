package ballista

import (
	"context"
	"errors"
	"testing"
	"time"

	"gatehouse/executors/ballista/wire"
)

// TestGroupBytes: a relation is cut into two tasks a core, within bounds; where a size is configured, by that.
func TestGroupBytes(t *testing.T) {
	const mib = 1 << 20
	for name, c := range map[string]struct {
		configured int64
		cores      []int32
		files      []int64
		want       int64
	}{
		"small":                       {0, []int32{1, 1}, []int64{mib, 3 * mib}, 32 * mib},
		"two tasks a core":            {0, []int32{1, 1}, []int64{100 * mib, 100 * mib}, 50 * mib},
		"more cores":                  {0, []int32{1, 2}, []int64{240 * mib}, 40 * mib},
		"so many that tasks are min":  {0, []int32{64}, []int64{1 << 30}, 32 * mib},
		"so large that tasks are max": {0, []int32{1, 1}, []int64{1 << 34}, 256 * mib},
		"no executors yet":            {0, nil, []int64{100 * mib}, 50 * mib},
		"configured":                  {4096, []int32{8}, []int64{1 << 34}, 4096},
	} {
		members := func(context.Context) (*wire.Members, error) {
			out := new(wire.Members)
			for _, n := range c.cores {
				out.Executors = append(out.Executors, &wire.Member{Cores: n})
			}
			return out, nil
		}
		x := &Executor{config: Config{GroupBytes: c.configured}, capacity: &capacity{members: members, now: time.Now}}
		var files []*wire.File
		for _, n := range c.files {
			files = append(files, &wire.File{Size: n})
		}
		if got := x.groupBytes(t.Context(), files); got != c.want {
			t.Errorf("%s: %d bytes a task, want %d", name, got, c.want)
		}
	}
}

// TestCapacity: the scheduler is asked once in a while, and one that does not answer leaves what was known.
func TestCapacity(t *testing.T) {
	now, asked := time.Unix(0, 0), 0
	var down error
	c := &capacity{now: func() time.Time { return now }, members: func(context.Context) (*wire.Members, error) {
		asked++
		return &wire.Members{Executors: []*wire.Member{{Cores: int32(asked)}}}, down
	}}
	for _, step := range []struct {
		after time.Duration
		down  error
		want  int64
		asked int
	}{
		{0, nil, 1, 1},
		{censusAge - 1, nil, 1, 1},
		{1, nil, 2, 2},
		{censusAge, errors.New("down"), 2, 3},
		{0, errors.New("down"), 2, 4},
		{0, nil, 5, 5},
	} {
		now, down = now.Add(step.after), step.down
		if got := c.of(t.Context()); got != step.want || asked != step.asked {
			t.Errorf("at %v: %d cores after %d questions, want %d after %d", now, got, asked, step.want, step.asked)
		}
	}
}
