package executortest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"gatehouse/classify"
	"gatehouse/executors"
	"gatehouse/plan"
	"gatehouse/policy"
)

// Run runs the contract. open builds an executor of the parts.
func Run(t *testing.T, open func(Parts) (executors.Executor, error)) {
	t.Run("answers", func(t *testing.T) { answers(t, Zoo(t, open)) })
	t.Run("policies", func(t *testing.T) { policies(t, Zoo(t, open)) })
	t.Run("parameters", func(t *testing.T) { parameters(t, Zoo(t, open)) })
	t.Run("errors", func(t *testing.T) { failures(t, Zoo(t, open)) })
	t.Run("schema", func(t *testing.T) { schemas(t, Zoo(t, open)) })
	t.Run("credentials", func(t *testing.T) { credentials(t, open) })
	t.Run("cancel", func(t *testing.T) { cancels(t, Zoo(t, open)) })
	t.Run("closed", func(t *testing.T) { closed(t, open) })
}

// check runs text and compares its rows, each joined with spaces, in any order.
func check(t *testing.T, p *Pipeline, text string, demands Policy, want []string, args ...any) {
	t.Helper()
	rows, err := p.Rows(t.Context(), text, demands, args...)
	if err != nil {
		t.Errorf("%s: %v (%v)", text, err, errors.Unwrap(err))
		return
	}
	var got []string
	for _, r := range rows {
		got = append(got, strings.Join(r, " "))
	}
	slices.Sort(got)
	want = slices.Clone(want)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n got %q\nwant %q", text, got, want)
	}
}

// answers checks statements of all shapes without a policy.
func answers(t *testing.T, p *Pipeline) {
	for _, c := range []struct {
		text string
		want []string
	}{
		{"SELECT 1 AS one", []string{"1"}},
		{"SELECT count(*) FROM orders", []string{"4"}},
		{"SELECT count(*) FROM v2_many_row_groups", []string{"2869"}},
		{"SELECT count(*) FROM v3_dv", []string{"54"}},
		{"SELECT count(*) FROM orders a JOIN orders b ON a.id = b.id", []string{"4"}},
		{"WITH x AS (SELECT id FROM orders) SELECT count(*) FROM x WHERE id IN (SELECT id FROM orders)", []string{"4"}},
		{"WITH RECURSIVE n AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT count(*) FROM n, orders", []string{"12"}},
		{"SELECT count(*) FROM (SELECT id FROM orders UNION ALL SELECT id FROM orders)", []string{"8"}},
		{"SELECT (SELECT count(*) FROM orders) + 1", []string{"5"}},
		{"SELECT count(*) FROM empty_no_snapshot", []string{"0"}},
		{"SELECT count(*) FROM orders o WHERE EXISTS (SELECT 1 FROM orders i WHERE i.id = o.id)", []string{"4"}},
	} {
		check(t, p, c.text, nil, c.want)
	}
}

// policies checks that filters and masks lie under everything that the user wrote.
func policies(t *testing.T, p *Pipeline) {
	all := "SELECT id FROM orders"
	rows, err := p.Rows(t.Context(), all, nil)
	if err != nil || len(rows) != 4 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	some := rows[0][0]
	filter := Policy{"spark.orders": {ID: "d1", Filters: []policy.Expression{{ID: "f", SQL: "id = " + some}}}}
	check(t, p, all, filter, []string{some})
	check(t, p, "SELECT count(*) FROM orders", filter, []string{"1"})
	check(t, p, "SELECT count(*) FROM orders WHERE id <> "+some, filter, []string{"0"})
	check(t, p, "SELECT count(*) FROM orders WHERE id <> "+some, nil, []string{"3"})
	check(t, p, "SELECT count(*) FROM orders a, orders b", filter, []string{"1"})
	// A condition of the user's that could raise makes the relation a barrier.
	check(t, p, "SELECT count(*) FROM orders WHERE CAST(id::VARCHAR AS INTEGER) > 0", filter, []string{"1"})

	mask := Policy{"spark.orders": {ID: "d2", Masks: map[string]policy.Expression{"id": {ID: "m", SQL: "7"}}}}
	check(t, p, all, mask, []string{"7", "7", "7", "7"})
	check(t, p, "SELECT count(*) FROM orders WHERE id = 7", mask, []string{"4"})
	check(t, p, "SELECT count(*) FROM orders WHERE id = "+some, mask, []string{"0"})
	check(t, p, "SELECT DISTINCT id FROM orders ORDER BY id", mask, []string{"7"})

	both := Policy{"spark.orders": {ID: "d3", Filters: filter["spark.orders"].Filters, Masks: mask["spark.orders"].Masks}}
	check(t, p, all, both, []string{"7"})
	hash := Policy{"spark.strings": {ID: "d4", Masks: map[string]policy.Expression{"s": {ID: "h", SQL: "gw_hash(s)"}}}}
	hashed, err := p.Rows(t.Context(), "SELECT s FROM strings WHERE s IS NOT NULL", hash)
	if err != nil {
		t.Errorf("hash mask: %v (%v)", err, errors.Unwrap(err))
	}
	for _, r := range hashed {
		if len(strings.Trim(r[0], `"0123456789abcdef`)) != 0 || len(r[0]) != 66 {
			t.Errorf("hash mask shows %s", r[0])
		}
	}
}

func parameters(t *testing.T, p *Pipeline) {
	check(t, p, "SELECT count(*) FROM orders WHERE id = $1", nil, []string{"1"}, int64(1))
	check(t, p, "SELECT count(*) FROM orders WHERE id = ?", nil, []string{"0"}, nil)
	check(t, p, "SELECT CAST($1 AS INTEGER) + CAST($2 AS INTEGER)", nil, []string{"5"}, int64(2), int64(3))
	check(t, p, "SELECT count(*) FROM generate_series(1, $1) JOIN orders ON true", nil, []string{"8"}, int64(2))
	check(t, p, "WITH x AS (SELECT id FROM orders WHERE id > $1) SELECT count(*) FROM x LIMIT $2", nil, []string{"4"}, int64(0), int64(1))
	check(t, p, "SELECT CAST($1 AS VARCHAR)", nil, []string{`"it's"`}, "it's")
	check(t, p, "SELECT CAST($1 AS DECIMAL(9,2))", nil, []string{`"-1.25"`}, "-1.25")

	pl, err := p.Plan(t.Context(), Alice, "SELECT CAST($1 AS INTEGER) FROM orders WHERE id = $2", nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Executor.Prepare(t.Context(), pl)
	if err != nil {
		t.Fatalf("%v (%v)", err, errors.Unwrap(err))
	}
	defer s.Close()
	if s.Params().NumFields() != 2 {
		t.Fatalf("parameters %s", s.Params())
	}
	if _, err := s.Execute(t.Context(), []any{int64(1)}); kindOf(err) != executors.KindArgument {
		t.Errorf("one value for two parameters: %v", err)
	}
}

func kindOf(err error) executors.Kind {
	if e, ok := errors.AsType[*executors.Error](err); ok {
		return e.Kind
	}
	return -1
}

// failures checks the class of errors, and that their words hold neither values nor anything that the user did not write.
func failures(t *testing.T, p *Pipeline) {
	for _, c := range []struct {
		text string
		kind executors.Kind
		hint string
	}{
		{"SELECT CAST('12x4secret' AS INTEGER)", executors.KindConversion, ""},
		{"SELECT CAST(id || 'secret' AS INTEGER) FROM orders", executors.KindConversion, ""},
		{"SELECT CAST(300 AS TINYINT)", executors.KindConversion, ""},
		{"SELECT CAST(9223372036854775807 AS BIGINT) + id FROM orders WHERE id > 0", executors.KindRange, ""},
		{"SELECT (SELECT id FROM orders)", executors.KindCardinality, ""},
		{"SELECT upper(id, id) FROM orders", executors.KindBind, "upper"},
		{"SELECT id FROM orders GROUP BY ()", executors.KindBind, "GROUP BY"},
		{"SELECT id, count(*) FROM orders", executors.KindBind, "GROUP BY"},
		{"SELECT count(*) FROM orders WHERE id = DATE '2024-01-01'", executors.KindBind, "cannot"},
		{"SELECT count(*) FROM orders WHERE count(*) > 1", executors.KindBind, "HAVING"},
	} {
		_, err := p.Rows(t.Context(), c.text, nil)
		if classified(err) {
			continue // refused before the executor
		}
		if kindOf(err) != c.kind {
			t.Errorf("%s: kind %d, want %d: %v (%v)", c.text, kindOf(err), c.kind, err, errors.Unwrap(err))
			continue
		}
		if !strings.Contains(err.Error(), c.hint) {
			t.Errorf("%s: %q does not speak of %q (%v)", c.text, err, c.hint, errors.Unwrap(err))
		}
		for _, leak := range []string{"secret", "__gw", "read_parquet", "/", "LINE", "c1"} {
			if strings.Contains(err.Error(), leak) {
				t.Errorf("%s: %q shows %q", c.text, err, leak)
			}
		}
	}
	// A policy that does not bind is not the user's fault, and the words say nothing of it.
	broken := Policy{"spark.orders": {ID: "d", Filters: []policy.Expression{{ID: "f", SQL: "upper(id) = 'A'"}}}}
	_, err := p.Rows(t.Context(), "SELECT id FROM orders", broken)
	if _, early := errors.AsType[*policy.PolicyError](err); !early && (kindOf(err) != executors.KindInternal || strings.Contains(err.Error(), "upper")) {
		t.Errorf("a policy that does not bind: %v", err)
	}
}

func classified(err error) bool {
	_, syntax := errors.AsType[*classify.SyntaxError](err)
	_, unsupported := errors.AsType[*classify.UnsupportedError](err)
	_, name := errors.AsType[*classify.NameError](err)
	return syntax || unsupported || name
}

// schemas checks that the announced schema is the stream's.
func schemas(t *testing.T, p *Pipeline) {
	for _, text := range []string{
		"SELECT * FROM orders", "SELECT id, id, count(*) AS n FROM orders GROUP BY 1, 2", "SELECT sum(id) AS s FROM orders", "SELECT * FROM nested_plain",
	} {
		s, r, err := p.Open(t.Context(), text, nil)
		if err != nil {
			t.Errorf("%s: %v (%v)", text, err, errors.Unwrap(err))
			continue
		}
		if !s.Schema().Equal(r.Schema()) {
			t.Errorf("%s: announced %s, streamed %s", text, s.Schema(), r.Schema())
		}
		for r.Next() {
			if !r.RecordBatch().Schema().Equal(r.Schema()) {
				t.Errorf("%s: a batch has another schema", text)
			}
		}
		r.Release()
		_ = s.Close()
	}
}

// credentials checks that a plan with any fault in its credentials is refused.
func credentials(t *testing.T, open func(Parts) (executors.Executor, error)) {
	var ahead time.Duration
	clock := func() time.Time { return time.Now().Add(ahead) }
	p := newPipeline(t, open, zooFolder(t), clock)
	good := func() *plan.Plan {
		pl, err := p.Plan(t.Context(), Alice, "SELECT id FROM orders", nil)
		if err != nil {
			t.Fatal(err)
		}
		return pl
	}
	for name, fault := range map[string]func() *plan.Plan{
		"nil":        func() *plan.Plan { return nil },
		"zero value": func() *plan.Plan { return new(plan.Plan) },
		"another file": func() *plan.Plan {
			pl := good()
			pl.Relations()[0].Scan.Files[0].Path = "/etc/hostname"
			return pl
		},
		"a delete less": func() *plan.Plan {
			pl, err := p.Plan(t.Context(), Alice, "SELECT * FROM v3_dv", nil)
			if err != nil {
				t.Fatal(err)
			}
			for i := range pl.Relations()[0].Scan.Files {
				pl.Relations()[0].Scan.Files[i].Deletes = nil
			}
			return pl
		},
		"no filter": func() *plan.Plan {
			demands := Policy{"spark.orders": {ID: "d", Filters: []policy.Expression{{ID: "f", SQL: "id = 1"}}}}
			pl, err := p.Plan(t.Context(), Alice, "SELECT id FROM orders", demands)
			if err != nil {
				t.Fatal(err)
			}
			pl.Relations()[0].Filter = nil
			return pl
		},
		"another digest": func() *plan.Plan {
			pl := good()
			pl.Relations()[0].Task.Digest = strings.Repeat("A", 43)
			return pl
		},
		"another user's token": func() *plan.Plan {
			pl := good()
			other, err := p.Plan(t.Context(), Bob, "SELECT id FROM orders", nil)
			if err != nil {
				t.Fatal(err)
			}
			pl.Relations()[0].Task.Token = other.Relations()[0].Task.Token
			return pl
		},
		"another query's token": func() *plan.Plan {
			pl := good()
			pl.Relations()[0].Task.Token = good().Relations()[0].Task.Token
			return pl
		},
		"no token": func() *plan.Plan {
			pl := good()
			pl.Relations()[0].Task.Token = plan.Task{}.Token
			return pl
		},
	} {
		s, err := p.Executor.Prepare(t.Context(), fault())
		if kindOf(err) != executors.KindCredential {
			t.Errorf("%s: got %v (%v)", name, err, errors.Unwrap(err))
		}
		if err == nil {
			_ = s.Close()
		}
	}
	pl := good()
	if s, err := p.Executor.Prepare(t.Context(), pl); err != nil {
		t.Errorf("the control: %v (%v)", err, errors.Unwrap(err))
	} else {
		_ = s.Close()
	}
	bare, err := p.Plan(t.Context(), Alice, "SELECT 1", nil)
	if err != nil {
		t.Fatal(err)
	}
	ahead = time.Until(pl.Deadline()) + time.Second
	if _, err := p.Executor.Prepare(t.Context(), bare); kindOf(err) != executors.KindCredential {
		t.Errorf("expired, without a relation: got %v", err)
	}
	if _, err := p.Executor.Prepare(t.Context(), pl); kindOf(err) != executors.KindCredential {
		t.Errorf("expired: got %v", err)
	}
}

// endless gives rows for hours.
const endless = "SELECT a.id FROM v2_many_row_groups a, v2_many_row_groups b, v2_many_row_groups c, v2_many_row_groups d"

func cancels(t *testing.T, p *Pipeline) {
	for name, end := range map[string]func(cancel func(), s executors.Prepared){
		"context": func(cancel func(), _ executors.Prepared) { cancel() },
		"close":   func(_ func(), s executors.Prepared) { _ = s.Close() },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		s, r, err := p.Open(ctx, endless, nil)
		if err != nil {
			cancel()
			t.Fatalf("%v (%v)", err, errors.Unwrap(err))
		}
		if !r.Next() {
			t.Fatal(r.Err())
		}
		go end(cancel, s)
		for r.Next() {
		}
		if r.Err() == nil {
			t.Errorf("%s: the stream ended early without an error", name)
		}
		if name == "context" && !errors.Is(r.Err(), context.Canceled) {
			t.Errorf("%s: %v", name, r.Err())
		}
		r.Release()
		_ = s.Close()
		cancel()
	}
	// Release without reading on is enough.
	s, r, err := p.Open(t.Context(), endless, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Release()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := p.Open(ctx, "SELECT count(*) FROM orders", nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
}

func closed(t *testing.T, open func(Parts) (executors.Executor, error)) {
	p := Zoo(t, open)
	pl, err := p.Plan(t.Context(), Alice, "SELECT id FROM orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := p.Executor.Prepare(t.Context(), pl)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Executor.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Execute(t.Context(), nil); !errors.Is(err, executors.ErrClosed) {
		t.Errorf("Execute after Close: %v", err)
	}
	if _, err := p.Executor.Prepare(t.Context(), pl); !errors.Is(err, executors.ErrClosed) {
		t.Errorf("Prepare after Close: %v", err)
	}
	_ = fmt.Sprint(s.Schema())
}
