package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/status"

	"gatehouse/cmd/bench/site"
)

// exhausting are ways in which one user may try to keep the gateway from all others.
var exhausting = []struct{ way, text string }{
	{"count without end", "SELECT count(*) FROM range(1000000000000)"},
	{"cross join of series", "SELECT count(*) FROM range(1000000000) a, range(1000000000) b"},
	{"cross join of tables", "SELECT count(*) FROM lineitem a, lineitem b WHERE a.l_comment < b.l_comment"},
	{"triple cross join", "SELECT max(a.l_comment || b.l_comment || c.o_comment) FROM lineitem a, lineitem b, orders c"},
	{"recursion in numbers", "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM r) SELECT count(*) FROM r"},
	{"recursion with UNION", "WITH RECURSIVE r(n) AS (SELECT 1::BIGINT UNION SELECT (n * 7919 + 1) % 1000000007 FROM r) SELECT count(*) FROM r"},
	{"recursion that doubles", "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT r.n FROM r, range(2)) SELECT count(*) FROM r"},
	{"recursion that grows", "WITH RECURSIVE r(s) AS (SELECT repeat('x', 10000) UNION ALL SELECT s || repeat('x', 10000) FROM r) SELECT count(*) FROM r WHERE s = 'y'"},
	{"long text", "SELECT string_agg(repeat('x', 1000), ',') FROM range(1000000000)"},
	{"long list", "SELECT list(i) FROM range(1000000000000) r(i)"},
	{"distinct", "SELECT count(DISTINCT i) FROM range(1000000000000) r(i)"},
	{"groups", "SELECT count(*) FROM (SELECT i, count(*) FROM range(1000000000000) r(i) GROUP BY i)"},
	{"sort", "SELECT i FROM range(1000000000000) r(i) ORDER BY hash(i) OFFSET 1000000000"},
	{"top", "SELECT i FROM range(1000000000000) r(i) ORDER BY hash(i) DESC LIMIT 5"},
	{"window", "SELECT sum(i) OVER (ORDER BY hash(i)) FROM range(1000000000000) r(i)"},
	{"wide frame", "SELECT max(m) FROM (SELECT median(i) OVER (ORDER BY i ROWS BETWEEN 100000 PRECEDING AND CURRENT ROW) m FROM range(10000000) r(i))"},
	{"quantiles", "SELECT quantile_cont(hash(i), 0.5) FROM range(1000000000000) r(i)"},
	{"histogram", "SELECT histogram(i) FROM range(1000000000) r(i)"},
	{"regular expression", "SELECT count(*) FROM range(1000000000000) r(i) WHERE regexp_matches(repeat('a', 10000) || i, '(x+x+)+y')"},
	{"regular expression by row", "SELECT count(*) FROM range(1000000000000) r(i) WHERE regexp_matches(repeat('a', 100), '(a?){30}' || i)"},
	{"LIKE", "SELECT count(*) FROM range(1000000000000) r(i) WHERE (repeat('a', 2000) || i) LIKE '%_a%_a%_a%_b'"},
	{"ILIKE", "SELECT count(*) FROM range(1000000000000) r(i) WHERE (repeat('a', 2000) || i) ILIKE '%_A%_a%_a%_b'"},
	{"LIKE by row", "SELECT count(*) FROM range(1000000000000) r(i) WHERE (repeat('a', 2000) || i) LIKE ('%_a%_a%_b' || i)"},
	{"pattern as expression", "SELECT count(*) FROM range(1000000000000) r(i) WHERE regexp_matches(repeat('a', 2000) || i, '^.*.a.*.a.*.b$', 's')"},
	{"levenshtein", "SELECT count(*) FROM range(1000000000000) r(i) WHERE levenshtein(repeat('a', 1000) || i, 'smith') = 1"},
	{"list in a lambda", "WITH c AS (SELECT list(i) l FROM range(100000) r(i)) SELECT len(list_filter(l, x -> list_contains(l, -x))) FROM c"},
	{"list sort", "SELECT count(*) FROM range(1000000000) r(i) WHERE len(list_sort(list_transform(range(10000), x -> hash(x + i)))) = 1"},
	{"CTEs that double", site.Doubling(18)},
	{"digests", "SELECT max(sha256(repeat('x', 10000) || i)) FROM range(1000000000000) r(i)"},
	{"join with one key", "SELECT count(*) FROM range(100000000) a(i) JOIN range(100000000) b(j) ON a.i % 1 = b.j % 1"},
	{"join by inequality", "SELECT count(*) FROM range(100000000) a(i) JOIN range(100000000) b(j) ON a.i < b.j AND a.i + b.j > 5"},
	{"wide result", "SELECT * FROM lineitem a, range(1000000000)"},
	{"large values", "SELECT repeat('x', 10000) || i FROM range(1000000000) r(i)"},
}

const (
	pointQuery = "SELECT o_totalprice FROM orders WHERE o_orderkey = 7"
	patience   = 3 * time.Second // of the user who exhausts
)

// exhaust measures one user's point query while another one tries each way, with four statements at once.
func (b *bench) exhaust(ctx context.Context) error {
	victim, err := b.connect(ctx, site.Eve)
	if err != nil {
		return err
	}
	defer victim.close()
	point := func(until <-chan struct{}) (times []time.Duration, failed int) {
		for {
			r, err := victim.run(ctx, pointQuery)
			if err != nil {
				failed++
			} else {
				times = append(times, r.total)
			}
			select {
			case <-until:
				return times, failed
			default:
			}
		}
	}
	quiet := make(chan struct{})
	time.AfterFunc(patience, func() { close(quiet) })
	times, failed := point(quiet)
	b.line("quiet: p50 / p99", fmt.Sprintf("%s / %s (%d failed)", ms(quantile(times, 0.5)), ms(quantile(times, 0.99)), failed), "")
	var all []time.Duration
	failures := 0
	for _, e := range exhausting {
		done := make(chan struct{})
		var how string
		go func() {
			defer close(done)
			how = b.attack(ctx, e.text)
		}()
		times, failed := point(done)
		all, failures = append(all, times...), failures+failed
		worst := "none"
		if len(times) > 0 {
			worst = ms(quantile(times, 0.5)) + " / " + ms(quantile(times, 0.99))
		}
		b.line(e.way, fmt.Sprintf("%s (%d of %d failed), %s", worst, failed, len(times)+failed, how), "")
	}
	if len(all) == 0 {
		return errors.New("no point query came through")
	}
	b.line(fmt.Sprintf("%d ways: p50 / p99", len(exhausting)), fmt.Sprintf("%s / %s (%d failed)", ms(quantile(all, 0.5)), ms(quantile(all, 0.99)), failures), "0 failed")
	return nil
}

// attack runs a statement four times at once, until patience ends, and says how the first of them ended and when the last.
func (b *bench) attack(ctx context.Context, text string) string {
	started := time.Now()
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	ends := make([]string, 4)
	var wg sync.WaitGroup
	for i := range ends {
		wg.Go(func() {
			c, err := b.connect(ctx, site.Admin)
			if err == nil {
				_, err = c.run(ctx, text)
				c.close()
			}
			ends[i] = "rows"
			if s, ok := status.FromError(err); ok && err != nil {
				ends[i] = s.Code().String()
			} else if errors.Is(err, context.DeadlineExceeded) {
				ends[i] = "DeadlineExceeded"
			} else if err != nil {
				ends[i] = "error"
			}
		})
	}
	wg.Wait()
	return fmt.Sprintf("%s after %.1f s", ends[0], time.Since(started).Seconds())
}
