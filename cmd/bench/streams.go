package main

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"gatehouse/cmd/bench/site"
	"gatehouse/executors/duckdb/tpc"
)

// streams measures results of 10 million rows against the same engine in this process, which makes Arrow of the same rows. The two
// take turns.
func (b *bench) streams(ctx context.Context) error {
	c, err := b.connect(ctx, site.Admin)
	if err != nil {
		return err
	}
	defer c.close()
	for _, table := range []string{"mixed", "strings", "numbers"} {
		text := "SELECT * FROM " + table
		var ratio, mega, rows, first, alone, cost []float64
		for i := range b.rounds + 1 {
			before, err := b.server.cpu()
			if err != nil {
				return err
			}
			got, err := c.run(ctx, "SELECT * FROM wide.wide."+table)
			if err != nil {
				return err
			}
			after, err := b.server.cpu()
			if err != nil {
				return err
			}
			started, used := time.Now(), ownTime()
			want, err := tpc.RunStream(ctx, tpc.ReferenceConfig{Dir: b.dirs[tpc.Wide], Set: tpc.Wide, Namespace: string(tpc.Wide), Threads: b.threads}, text, nil)
			if err != nil {
				return err
			}
			inside := time.Since(started)
			used = ownTime() - used
			if got.rows != want.Rows {
				return fmt.Errorf("%s: %d rows, want %d", table, got.rows, want.Rows)
			}
			if i == 0 {
				continue
			}
			cost = append(cost, used.Seconds()/(after-before).Seconds())
			ratio = append(ratio, inside.Seconds()/got.total.Seconds())
			mega = append(mega, float64(got.bytes)/1e6/got.total.Seconds())
			rows = append(rows, float64(got.rows)/1e6/got.total.Seconds())
			alone = append(alone, float64(want.Bytes)/1e6/inside.Seconds())
			first = append(first, float64(got.first)/1e6)
		}
		goal := "0.75"
		if table == "numbers" {
			goal = ""
		}
		b.line(table+": speed against the engine in process", spread("%.2f", ratio), goal)
		b.line(table+": the same by processor time of the server", spread("%.2f", cost), "")
		b.line(table+": million rows/s", spread("%.2f", rows), "")
		if table == "numbers" {
			goal = "250"
		} else {
			goal = ""
		}
		b.line(table+": MB/s", spread("%.0f", mega), goal)
		b.line(table+": MB/s of the engine in process", spread("%.0f", alone), "")
		b.line(table+": time to the first batch, ms", spread("%.1f", first), "20")
	}
	return nil
}

// ownTime is the processor time that this process has used so far.
func ownTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
