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
// filtered and masked beforehand; under filters that hide nothing against no policy; against an administrator who types the filters and
// masks as subqueries, through the same gateway; and
// against the engine alone with the same subqueries. All take turns.
func (b *bench) policy(ctx context.Context) error {
	p, err := b.parties(ctx)
	if err != nil {
		return err
	}
	defer p.close()
	files, err := filepath.Glob("classify/testdata/queries/tpch/*.sql")
	if err != nil {
		return err
	}
	var copies, copiesCPU, open, openCPU, typed, typedCPU, alone []float64
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		m, err := b.price(ctx, p, string(text))
		if err != nil {
			return fmt.Errorf("%s: %w", f, err)
		}
		copies, copiesCPU = append(copies, m.policy.over(m.copies)), append(copiesCPU, m.policy.cpuOver(m.copies))
		open, openCPU = append(open, m.open.over(m.bare)), append(openCPU, m.open.cpuOver(m.bare))
		typed, typedCPU = append(typed, m.policy.over(m.typed)), append(typedCPU, m.policy.cpuOver(m.typed))
		alone = append(alone, m.policy.over(m.alone))
		why := ""
		if m.policy.cpuOver(m.copies) > 1.25 {
			if why, err = b.barriers(ctx, p.governed, string(text)); err != nil {
				return err
			}
		}
		name := strings.TrimSuffix(filepath.Base(f), ".sql")
		b.line(name+": policy / copies, / typed, / alone", fmt.Sprintf("%.2f, %.2f; %.2f, %.2f; %.2f  (%.0f, %.0f, %.0f, %.0f ms)",
			m.policy.over(m.copies), m.policy.cpuOver(m.copies), m.policy.over(m.typed), m.policy.cpuOver(m.typed), m.policy.over(m.alone),
			median(m.policy.clock), median(m.copies.clock), median(m.typed.clock), median(m.alone.clock)), "")
		if why != "" {
			b.line("", "above 1.25: "+why, "")
		}
	}
	b.line("TPC-H: policy / physical copies", spread("%.2f", copies), "1.10 at the median")
	b.line("TPC-H: the same by processor time", spread("%.2f", copiesCPU), "")
	b.line("TPC-H: filters that hide no row / no policy", spread("%.2f", open), "1.10 at the median")
	b.line("TPC-H: the same by processor time", spread("%.2f", openCPU), "")
	b.line("TPC-H: policy / the same subqueries typed by an administrator", spread("%.2f", typed), "1.10 at the median")
	b.line("TPC-H: the same by processor time", spread("%.2f", typedCPU), "")
	b.line("TPC-H: policy / plain subqueries, no gateway", spread("%.2f", alone), "")
	return nil
}

// parties are those who take turns.
type parties struct {
	governed, copied, typist *client
	open, bare               *client // the same rows through filters, and without any
	plain                    *tpc.Reference
}

func (b *bench) parties(ctx context.Context) (_ *parties, err error) {
	p := &parties{}
	defer func() {
		if err != nil {
			p.close()
		}
	}()
	if p.governed, err = b.connect(ctx, site.Eve); err != nil {
		return nil, err
	}
	if p.copied, err = b.connect(ctx, site.Admin); err != nil {
		return nil, err
	}
	if _, err = p.copied.run(ctx, "USE tpch."+tpc.TPCH.Eve()); err != nil {
		return nil, err
	}
	if p.typist, err = b.connect(ctx, site.Admin); err != nil {
		return nil, err
	}
	if p.open, err = b.connect(ctx, site.Nell); err != nil {
		return nil, err
	}
	if p.bare, err = b.connect(ctx, site.Admin); err != nil {
		return nil, err
	}
	p.plain, err = tpc.NewReference(ctx, tpc.ReferenceConfig{Dir: b.dirs[tpc.TPCH], Set: tpc.TPCH, Namespace: "tpch", Filtered: true, Threads: b.threads})
	return p, err
}

func (p *parties) close() {
	for _, c := range []*client{p.governed, p.copied, p.typist, p.open, p.bare} {
		if c != nil {
			c.close()
		}
	}
	if p.plain != nil {
		_ = p.plain.Close()
	}
}

// times are those of one party, in milliseconds.
type times struct{ clock, cpu []float64 }

func (t times) over(o times) float64    { return median(t.clock) / median(o.clock) }
func (t times) cpuOver(o times) float64 { return median(t.cpu) / median(o.cpu) }

// measured is what one statement took.
type measured struct{ policy, copies, open, bare, typed, alone times }

func (b *bench) price(ctx context.Context, p *parties, text string) (*measured, error) {
	m := &measured{}
	turns := []struct {
		client *client
		text   string
		into   *times
	}{
		{p.governed, text, &m.policy},
		{p.copied, text, &m.copies},
		{p.open, text, &m.open},
		{p.bare, text, &m.bare},
		{p.typist, p.plain.Typed(text), &m.typed},
	}
	for i := range b.rounds + 1 {
		for _, t := range turns {
			r, cpu, err := b.timed(ctx, t.client, t.text)
			if err != nil {
				return nil, err
			}
			if i > 0 {
				t.into.clock, t.into.cpu = append(t.into.clock, r.total.Seconds()*1e3), append(t.into.cpu, cpu.Seconds()*1e3)
			}
		}
		started := time.Now()
		if _, err := p.plain.Query(ctx, text); err != nil {
			return nil, err
		}
		if i > 0 {
			m.alone.clock = append(m.alone.clock, time.Since(started).Seconds()*1e3)
		}
	}
	return m, nil
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
