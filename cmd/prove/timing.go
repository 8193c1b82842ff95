package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/crypto/argon2"

	"gatehouse/auth"
	"gatehouse/auth/basic"
	"gatehouse/catalog"
	"gatehouse/catalog/sql"
	"gatehouse/classify"
	"gatehouse/executors/duckdb"
	"gatehouse/gateway"
	"gatehouse/policies"
	"gatehouse/policy/opa"
)

// timing is a pair of questions which differ in what is hidden alone, so that the same time has to pass.
type timing struct {
	name string
	a, b timed
	kept bool // the product promises equal times
	seen bool // a difference is known, and has to be found
	slow bool // tests run fewer
}

// timings measures each pair n times and prints t and the mean times.
func timings(ctx context.Context, dir string, n int, out io.Writer) error {
	w, err := newClockWorld(ctx, dir)
	if err != nil {
		return err
	}
	bad := 0
	for _, c := range w.timings() {
		t, means, err := compareTimes(ctx, n, c.a, c.b)
		if err != nil {
			return errors.Join(fmt.Errorf("%s: %w", c.name, err), w.close())
		}
		word := "not promised"
		switch differ := math.Abs(t) >= limitT; {
		case c.kept && differ:
			word = "TOLD APART"
			bad++
		case c.kept:
			word = "equal"
		case c.seen && differ:
			word = "told apart, as is known"
		}
		fmt.Fprintf(out, "%-70s t %8.2f  %9v %9v  %s\n", c.name, t, means[0].Round(time.Microsecond), means[1].Round(time.Microsecond), word)
	}
	if err := w.close(); err != nil || bad == 0 {
		return err
	}
	return fmt.Errorf("%d of the pairs are told apart by time", bad)
}

// largest is the largest id of all, that of a hidden row.
const largest = int64(1) << 41

// ledgerRows is more than the 122,880 rows of an engine's row group.
const ledgerRows = 150_000

// clockWorld is one warehouse with a table of which every seventh row is hidden, and a gateway in each mode.
type clockWorld struct {
	dir                     string
	visible, hidden, absent []int64 // ids
	catalog                 *sql.Catalog
	executor                *duckdb.Executor
	decider                 *opa.Decider
	fast, steady            *gateway.Gateway
	users                   *basic.Users
}

func newClockWorld(ctx context.Context, dir string) (w *clockWorld, err error) {
	w = &clockWorld{dir: dir}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.close())
		}
	}()
	if err := w.write(ctx); err != nil {
		return nil, err
	}
	if err := w.open(); err != nil {
		return nil, err
	}
	return w, w.signIn()
}

// write makes the tables: ledger, and closed, which nobody may read.
func (w *clockWorld) write(ctx context.Context) error {
	r := rand.New(rand.NewPCG(5, 6))
	id := func() int64 { return r.Int64N(1 << 40) }
	rows := make([]row, 0, ledgerRows)
	for i := range ledgerRows {
		region, at := "EU", id()
		if i%7 == 3 {
			region = "US"
			w.hidden = append(w.hidden, at)
		} else {
			w.visible = append(w.visible, at)
		}
		rows = append(rows, row{values: []any{at, region, fmt.Sprintf("%020d", r.Int64()), fmt.Sprintf("%09d", r.IntN(1e9))}})
	}
	for range len(w.hidden) {
		w.absent = append(w.absent, id())
	}
	// One more hidden row has the largest id of all.
	rows = append(rows, row{values: []any{largest, "US", "last", "000000000"}})
	columns := []column{{name: "id", typ: long}, {name: "region", typ: str}, {name: "note", typ: str}, {name: "tax", typ: str}}
	tables := map[string][]row{"ledger": rows, "closed": rows[:100]}
	return withWarehouse(ctx, w.dir, func(w *warehouse) error {
		for name, rows := range tables {
			if err := w.table(ctx, twinTable{name: name, columns: columns}, [][]row{rows}); err != nil {
				return err
			}
		}
		return nil
	})
}

func (w *clockWorld) open() (err error) {
	files, err := policies.Files(policies.Skeleton)
	if err != nil {
		return err
	}
	files["tables/lake/shop/ledger.rego"] = []byte(`package tables.lake.shop.ledger

read if input.context.identity.user == "eve"

row_filters contains {"id": "eu", "expression": "region = 'EU'"}

`)
	if w.decider, err = opa.New(opa.Config{Files: files, Version: "prove", Timeout: 10 * time.Second}); err != nil {
		return err
	}
	planner, verifier, err := newPlanner()
	if err != nil {
		return err
	}
	if w.catalog, err = sql.New(sql.Config{Name: catalogName, SQLite: filepath.Join(w.dir, catalogFile), Roots: []string{w.dir}}); err != nil {
		return err
	}
	if w.executor, err = duckdb.New(duckdb.Config{Verifier: verifier, Issuer: "prove", Dir: w.dir, MemoryBytes: 1 << 30, SpillBytes: 1 << 30, Threads: 1}); err != nil {
		return err
	}
	for _, steady := range []bool{false, true} {
		g, err := gateway.New(gateway.Config{
			Decider: w.decider, Catalogs: map[string]catalog.Catalog{catalogName: w.catalog}, Planner: planner, Executor: w.executor, Audit: nowhere{},
			Default: classify.Namespace{Catalog: catalogName, Schema: namespace}, Steady: steady,
		})
		if err != nil {
			return err
		}
		w.fast, w.steady = w.steady, g
	}
	return nil
}

// signIn makes one user who exists, and no limit on guesses: the limiter is not what is timed.
func (w *clockWorld) signIn() error {
	// The cheapest hash that is accepted: other work weighs most beside it.
	salt := []byte("0123456789abcdef")
	encode := base64.RawStdEncoding.EncodeToString
	hash := fmt.Sprintf("$argon2id$v=19$m=7168,t=1,p=1$%s$%s", encode(salt), encode(argon2.IDKey([]byte("right"), salt, 1, 7168, 1, 32)))
	file := filepath.Join(w.dir, "users.yaml")
	if err := os.WriteFile(file, []byte("users:\n  - {name: known, password: \""+hash+"\"}\n"), 0o600); err != nil {
		return err
	}
	many := auth.Rate{Burst: 1 << 30, Every: time.Nanosecond}
	var err error
	w.users, err = basic.New(basic.Config{File: file, Limits: auth.Limits{Peer: many, User: many, PeerUser: many}})
	return err
}

func (w *clockWorld) timings() []timing {
	hidden := func(i int) any { return w.hidden[i%len(w.hidden)] }
	absent := func(i int) any { return w.absent[i%len(w.absent)] }
	visible := func(i int) any { return w.visible[i%len(w.visible)] }
	fixed := func(v any) func(int) any { return func(int) any { return v } }
	look, count := "SELECT note FROM ledger WHERE id = %v", "SELECT count(*) FROM ledger WHERE id >= %v"
	return []timing{
		{name: "hidden table, absent table", kept: true, a: w.ask(w.fast, "SELECT * FROM %v", fixed("closed")), b: w.ask(w.fast, "SELECT * FROM %v", fixed("absent"))},
		{name: "SHOW COLUMNS of a hidden table, of an absent one", kept: true, a: w.ask(w.fast, "SHOW COLUMNS FROM %v", fixed("closed")), b: w.ask(w.fast, "SHOW COLUMNS FROM %v", fixed("absent"))},
		{name: "sign-in with a wrong password: known user, unknown user", kept: true, a: w.guess("known"), b: w.guess("nobod")},
		{name: "look-up, steady: hidden id, absent id", kept: true, slow: true, a: w.ask(w.steady, look, hidden), b: w.ask(w.steady, look, absent)},
		{name: "look-up, steady: hidden largest id, larger id", kept: true, slow: true, a: w.ask(w.steady, look, fixed(largest)), b: w.ask(w.steady, look, fixed(largest+1))},
		{name: "count, steady: of hidden rows, of none", kept: true, slow: true, a: w.ask(w.steady, count, fixed(largest)), b: w.ask(w.steady, count, fixed(largest+1))},
		{name: "look-up: hidden id, absent id", kept: true, a: w.ask(w.fast, look, hidden), b: w.ask(w.fast, look, absent)},
		{name: "look-up: hidden largest id, larger id", seen: true, a: w.ask(w.fast, look, fixed(largest)), b: w.ask(w.fast, look, fixed(largest+1))},
		{name: "look-up: visible id, absent id", a: w.ask(w.fast, look, visible), b: w.ask(w.fast, look, absent)},
	}
}

// ask runs a statement with one value to its end.
func (w *clockWorld) ask(g *gateway.Gateway, text string, value func(int) any) timed {
	session, err := g.NewSession(eve, "", "")
	return func(ctx context.Context, n int) error {
		if err != nil {
			return err
		}
		res, err := g.Query(ctx, session, fmt.Sprintf(text, value(n)))
		var absent *classify.NameError
		if errors.As(err, &absent) {
			return nil
		}
		if err != nil {
			return err
		}
		r, err := res.Run(ctx)
		if err != nil {
			return err
		}
		defer r.Release()
		for r.Next() {
		}
		return r.Err()
	}
}

// guess tries a new wrong password each time.
func (w *clockWorld) guess(user string) timed {
	return func(ctx context.Context, n int) error {
		_, err := w.users.Authenticate(ctx, auth.Credential{User: user, Password: auth.NewSecret(fmt.Sprintf("wrong%06d", n)), Peer: "192.0.2.1"})
		if !errors.Is(err, auth.ErrUnauthenticated) {
			return fmt.Errorf("a wrong password for %s: %w", user, err)
		}
		return nil
	}
}

func (w *clockWorld) close() error {
	var errs []error
	if w.executor != nil {
		errs = append(errs, w.executor.Close())
	}
	if w.catalog != nil {
		errs = append(errs, w.catalog.Close())
	}
	if w.decider != nil {
		errs = append(errs, w.decider.Close())
	}
	return errors.Join(append(errs, os.RemoveAll(w.dir))...)
}
