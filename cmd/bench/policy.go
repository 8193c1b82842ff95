package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gatehouse/cmd/bench/site"
	"gatehouse/executors/duckdb/tpc"
)

// policy measures TPC-H under row filters and masks against the same queries, through the same gateway, over copies that were
// filtered and masked beforehand; and against the engine alone with the filters and masks as plain subqueries. All take turns.
func (b *bench) policy(ctx context.Context) error {
	governed, err := b.connect(ctx, site.Eve)
	if err != nil {
		return err
	}
	defer governed.close()
	copied, err := b.connect(ctx, site.Admin)
	if err != nil {
		return err
	}
	defer copied.close()
	if _, err := copied.run(ctx, "USE tpch."+tpc.TPCH.Eve()); err != nil {
		return err
	}
	plain, err := tpc.NewReference(ctx, tpc.ReferenceConfig{Dir: b.dirs[tpc.TPCH], Set: tpc.TPCH, Namespace: "tpch", Filtered: true, Threads: b.threads})
	if err != nil {
		return err
	}
	defer func() { _ = plain.Close() }()
	files, err := filepath.Glob("classify/testdata/queries/tpch/*.sql")
	if err != nil {
		return err
	}
	var ratios, cpus, subquery []float64
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		var under, over, alone, underCPU, overCPU []float64
		for i := range b.rounds + 1 {
			g, gc, err := b.timed(ctx, governed, string(text))
			if err != nil {
				return err
			}
			c, cc, err := b.timed(ctx, copied, string(text))
			if err != nil {
				return err
			}
			started := time.Now()
			if _, err := plain.Query(ctx, string(text)); err != nil {
				return err
			}
			if i > 0 {
				under, over = append(under, g.total.Seconds()*1e3), append(over, c.total.Seconds()*1e3)
				underCPU, overCPU = append(underCPU, gc.Seconds()), append(overCPU, cc.Seconds())
				alone = append(alone, time.Since(started).Seconds()*1e3)
			}
		}
		ratio, cpu := median(under)/median(over), median(underCPU)/median(overCPU)
		cpus = append(cpus, cpu)
		ratios, subquery = append(ratios, ratio), append(subquery, median(under)/median(alone))
		name := strings.TrimSuffix(filepath.Base(f), ".sql")
		why := ""
		if cpu > 1.25 {
			if why, err = b.barriers(ctx, governed, string(text)); err != nil {
				return err
			}
		}
		b.line(name+": policy / copies: time, processor; / subquery", fmt.Sprintf("%.2f, %.2f; %.2f  (%.0f, %.0f, %.0f ms)", ratio, cpu,
			median(under)/median(alone), median(under), median(over), median(alone)), "")
		if why != "" {
			b.line("", "above 1.25: "+why, "")
		}
	}
	b.line("TPC-H: policy / physical copies", spread("%.2f", ratios), "1.10 at the median")
	b.line("TPC-H: the same by processor time", spread("%.2f", cpus), "")
	b.line("TPC-H: policy / plain subqueries, no gateway", spread("%.2f", subquery), "")
	return nil
}

// timed runs a statement and says how much processor time it took the server.
func (b *bench) timed(ctx context.Context, c *client, text string) (result, time.Duration, error) {
	before, err := b.server.cpu()
	if err != nil {
		return result{}, 0, err
	}
	r, err := c.run(ctx, text)
	if err != nil {
		return result{}, 0, err
	}
	after, err := b.server.cpu()
	return r, after - before, err
}

// barriers says which tables of a statement are read behind a barrier.
func (b *bench) barriers(ctx context.Context, c *client, text string) (string, error) {
	lines, err := c.texts(ctx, "EXPLAIN "+text)
	if err != nil {
		return "", err
	}
	var out []string
	for _, l := range lines {
		if strings.Contains(strings.ToLower(l), "barrier") || strings.Contains(l, "MATERIALIZED") {
			out = append(out, strings.TrimSpace(l))
		}
	}
	if len(out) == 0 {
		return "no barrier", nil
	}
	return strings.Join(out, "; "), nil
}
