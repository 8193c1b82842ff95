package ballista

import (
	"context"
	"fmt"
	"time"

	"google.golang.org/protobuf/proto"

	"gatehouse/executors/ballista/wire"
)

// How much one task reads, and how many tasks a core has of a relation that is neither small nor large. Each task pays for its footers, makes its own
// copy of what joins gather, and writes a file for each exchange; but statements of many users share cores by whole tasks.
const (
	leastGroup   = 32 << 20
	mostGroup    = 256 << 20
	tasksForCore = 2
)

// censusAge is for how long the cluster's number of cores is taken for known.
const censusAge = 30 * time.Second

// capacity is how many cores the cluster has.
type capacity struct {
	members func(context.Context) (*wire.Members, error)
	now     func() time.Time
	turn    chan struct{} // holds one while somebody looks or asks, whose the rest is

	cores int64
	until time.Time
}

func newCapacity(members func(context.Context) (*wire.Members, error), now func() time.Time) *capacity {
	return &capacity{members: members, now: now, turn: make(chan struct{}, 1)}
}

// of returns the number of cores, or the last one known: a scheduler that does not answer will say so when it gets the statement. One statement asks and the
// others wait for the answer, each until its own end, which is the only error.
func (c *capacity) of(ctx context.Context) (int64, error) {
	select {
	case c.turn <- struct{}{}:
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	defer func() { <-c.turn }()
	if now := c.now(); !now.Before(c.until) {
		if m, err := c.members(ctx); err == nil {
			c.cores, c.until = 0, now.Add(censusAge)
			for _, e := range m.Executors {
				c.cores += int64(e.Cores)
			}
		}
	}
	return max(c.cores, 1), ctx.Err()
}

// groupBytes is how much of a relation one task reads, about. The only error is the end of ctx.
func (x *Executor) groupBytes(ctx context.Context, files []*wire.File) (int64, error) {
	if x.config.GroupBytes > 0 {
		return x.config.GroupBytes, nil
	}
	var all int64
	for _, f := range files {
		all += f.Size
	}
	if all <= leastGroup {
		return leastGroup, nil
	}
	cores, err := x.capacity.of(ctx)
	if err != nil {
		return 0, err
	}
	return min(max(all/(tasksForCore*cores), leastGroup), mostGroup), nil
}

// groupWords is groupBytes for people. It says nothing of the files that there are.
func (x *Executor) groupWords() string {
	if x.config.GroupBytes > 0 {
		return fmt.Sprintf("one for each %d MiB of files", max(x.config.GroupBytes>>20, 1))
	}
	return fmt.Sprintf("%d for each core, of %d to %d MiB of files each", tasksForCore, leastGroup>>20, mostGroup>>20)
}

// split makes groups of about size bytes, large files cut by ranges. There is always a group: one without files has no rows.
func split(files []*wire.File, size int64) [][]*wire.File {
	var out [][]*wire.File
	var group []*wire.File
	var filled int64
	for _, f := range files {
		if f.Size > size+size/2 {
			n := (f.Size + size - 1) / size
			for i := range n {
				part := proto.CloneOf(f)
				part.Start, part.Length = i*f.Size/n, (i+1)*f.Size/n-i*f.Size/n
				out = append(out, []*wire.File{part})
			}
			continue
		}
		if filled += f.Size; filled > size && len(group) > 0 {
			out, group, filled = append(out, group), nil, f.Size
		}
		group = append(group, f)
	}
	if len(group) > 0 || len(out) == 0 {
		out = append(out, group)
	}
	return out
}
