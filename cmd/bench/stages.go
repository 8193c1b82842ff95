package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"time"

	"gatehouse/audit"
	"gatehouse/cmd/bench/site"
)

// The gateway's own stages, in order. prepare and run are the engine's.
var own = []string{"classify", "admit", "resolve", "bind", "decide", "plan"}

// stages reads the audit log for the time of each stage, for a filtered and masked table that is in use.
func (b *bench) stages(ctx context.Context) error {
	c, err := b.connect(ctx, site.Eve)
	if err != nil {
		return err
	}
	defer c.close()
	for name, text := range map[string]string{
		"one table": "SELECT c_name, c_phone, c_acctbal FROM customer WHERE c_custkey = 42",
		"TPC-H 3":   "SELECT l_orderkey, sum(l_extendedprice * (1 - l_discount)) AS revenue, o_orderdate FROM customer, orders, lineitem WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey GROUP BY l_orderkey, o_orderdate ORDER BY revenue DESC LIMIT 10",
		"no table":  "SELECT 1 + 1",
	} {
		from, err := b.auditSize()
		if err != nil {
			return err
		}
		for range 220 {
			if _, err := c.run(ctx, text); err != nil {
				return err
			}
		}
		times, err := b.stageTimes(from, own...)
		if err != nil {
			return err
		}
		var parts []string
		for _, s := range append(slices.Clone(own), "prepare") {
			if len(times[s]) > 0 {
				parts = append(parts, s+" "+ms(quantile(times[s], 0.5)))
			}
		}
		b.line(name+": stages, p50", strings.Join(parts, ", "), "")
		b.line(name+": own stages together, p50 / p99", ms(quantile(times["sum"], 0.5))+" / "+ms(quantile(times["sum"], 0.99)), "1 ms at p50")
	}
	return nil
}

func (b *bench) auditSize() (int64, error) {
	info, err := os.Stat(b.server.audit)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// stageTimes collects the stages of the finished statements that were logged after the first from bytes, without the first 20,
// and the sum of some of them.
func (b *bench) stageTimes(from int64, some ...string) (_ map[string][]time.Duration, err error) {
	f, err := os.Open(b.server.audit)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	if _, err := f.Seek(from, 0); err != nil {
		return nil, err
	}
	out := map[string][]time.Duration{}
	seen := 0
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e audit.Event
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, err
		}
		if e.Outcome != audit.Done || e.Kind != "select" {
			continue
		}
		if seen++; seen <= 20 {
			continue
		}
		var sum time.Duration
		for _, s := range e.Stages {
			out[s.Name] = append(out[s.Name], s.Duration)
			if slices.Contains(some, s.Name) {
				sum += s.Duration
			}
		}
		out["sum"] = append(out["sum"], sum)
	}
	return out, lines.Err()
}
