package main

import (
	"context"
	"fmt"
	"time"

	"gatehouse/cmd/bench/site"
)

// memory measures how much the gateway grows while one client reads a result of more than 2 GB. The same scan runs before, counting
// only, so that what the engine keeps of files is there already.
func (b *bench) memory(ctx context.Context) error {
	c, err := b.connect(ctx, site.Admin)
	if err != nil {
		return err
	}
	defer c.close()
	if _, err := c.run(ctx, "SELECT * FROM wide.wide.numbers LIMIT 3000000"); err != nil {
		return err
	}
	before, err := b.server.resident()
	if err != nil {
		return err
	}
	done := make(chan int64)
	stop := make(chan struct{})
	go func() {
		peak := before
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-stop:
				done <- peak
				return
			case <-tick.C:
				if now, err := b.server.resident(); err == nil {
					peak = max(peak, now)
				}
			}
		}
	}()
	const numbers = "SELECT * FROM wide.wide.numbers"
	r, err := c.run(ctx, numbers+" UNION ALL "+numbers+" UNION ALL "+numbers+" UNION ALL "+numbers+" UNION ALL "+numbers+" UNION ALL "+numbers)
	close(stop)
	peak := <-done
	if err != nil {
		return err
	}
	b.line(fmt.Sprintf("growth during a result of %.1f GB, MiB", float64(r.bytes)/1e9), fmt.Sprintf("%.0f (from %.0f to %.0f)",
		mebi(peak-before), mebi(before), mebi(peak)), "64")
	return nil
}

func mebi(n int64) float64 { return float64(n) / (1 << 20) }
