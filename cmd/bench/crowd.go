package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"gatehouse/cmd/bench/site"
)

// crowd lets 64 clients run statements at once, each with a session of its own.
func (b *bench) crowd(ctx context.Context) error {
	const clients, statements = 64, 10
	var mu sync.Mutex
	var times []time.Duration
	var faults []error
	var wg sync.WaitGroup
	started := time.Now()
	for i := range clients {
		wg.Go(func() {
			user := []string{site.Admin, site.Eve}[i%2]
			ds, err := b.visitor(ctx, user, statements)
			mu.Lock()
			defer mu.Unlock()
			times = append(times, ds...)
			if err != nil {
				faults = append(faults, fmt.Errorf("client %d: %w", i, err))
			}
		})
	}
	wg.Wait()
	b.line("64 clients: failed / statements", fmt.Sprintf("%d / %d", len(faults), clients*statements), "0 failed")
	if len(times) > 0 {
		b.line("64 clients: statements/s", fmt.Sprintf("%.0f", float64(len(times))/time.Since(started).Seconds()), "")
		b.line("64 clients: p50 / p99", ms(quantile(times, 0.5))+" / "+ms(quantile(times, 0.99)), "")
	}
	return errors.Join(faults...)
}

func (b *bench) visitor(ctx context.Context, user string, statements int) ([]time.Duration, error) {
	c, err := b.connect(ctx, user)
	if err != nil {
		return nil, err
	}
	defer c.close()
	var out []time.Duration
	for i := range statements {
		r, err := c.run(ctx, fmt.Sprintf("SELECT count(*), sum(o_totalprice) FROM orders WHERE o_custkey %% 64 = %d", i))
		if err != nil {
			return out, err
		}
		out = append(out, r.total)
	}
	return out, nil
}
