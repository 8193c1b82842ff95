package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"google.golang.org/grpc/metadata"
	_ "modernc.org/sqlite"

	"gatehouse/classify"
	"gatehouse/cmd/bench/site"
	"gatehouse/executors/duckdb/tpc"
	"gatehouse/policy"
	"gatehouse/policy/grants"
)

// many is the catalog of the part about grants: this many tables in fifty schemas, all of them TPC-H's region.
const (
	many       = "many"
	manyTables = 5000
)

const (
	// fiveTables is a statement over five of them that eve may read.
	fiveTables = "SELECT count(*) FROM many.s0.t0 a, many.s1.t1 b, many.s2.t2 c, many.s3.t3 d, many.s4.t4 e " +
		"WHERE a.r_name = b.r_name AND b.r_name = c.r_name AND c.r_name = d.r_name AND d.r_name = e.r_name"
	statements = 120 // of each kind that are timed
)

// grants measures what a statement's decision and a listing cost with few grants and with many: with a server of its own for each,
// 5,000 tables, and a user who holds ten roles that open a hundred of them.
func (b *bench) grants(ctx context.Context) error {
	for _, size := range []struct{ roles, each int }{{100, 10}, {10000, 10}} {
		if err := b.withGrants(ctx, size.roles, size.each); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) withGrants(ctx context.Context, roles, each int) (err error) {
	home, err := os.MkdirTemp("", "gatehouse-bench-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	catalog, rights := filepath.Join(home, "many.db"), filepath.Join(home, "grants.db")
	if err := manyInto(ctx, filepath.Join(b.dirs[tpc.TPCH], tpc.CatalogFile), catalog); err != nil {
		return err
	}
	if err := grantsInto(ctx, rights, roles, each); err != nil {
		return err
	}
	file, err := site.Write(site.Config{
		Dir: filepath.Join(home, "site"), Sets: b.dirs, Default: tpc.TPCH, Listen: "127.0.0.1:0", Threads: b.threads,
		Catalogs: map[string]string{many: catalog}, Grants: rights,
	})
	if err != nil {
		return err
	}
	own := *b
	if own.server, err = startServer(ctx, b.binary, file, b.stderr); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, own.server.stop()) }()
	eve, err := own.connect(ctx, site.Eve)
	if err != nil {
		return err
	}
	defer eve.close()
	admin, err := own.connect(ctx, site.Admin)
	if err != nil {
		return err
	}
	defer admin.close()
	name := fmt.Sprintf("%d grants: ", roles*each)
	if err := own.decisions(ctx, name+"five tables", eve, nil); err != nil {
		return err
	}
	// Any change of rights makes every answer so far worthless.
	change := func(i int) error {
		_, err := admin.run(ctx, fmt.Sprintf("%s SELECT ON many.s1.t51 %s USER zoe", [...]string{"GRANT", "REVOKE"}[i%2], [...]string{"TO", "FROM"}[i%2]))
		return err
	}
	if err := own.decisions(ctx, name+"five tables, first after a change", eve, change); err != nil {
		return err
	}
	if err := own.listings(ctx, name+"tables of one user", eve, nil); err != nil {
		return err
	}
	return own.listings(ctx, name+"tables of one user, first after a change", eve, change)
}

// decisions prints what the stages of a statement that ask the policy take: may it run, which tables and columns are there, which
// filters and masks apply.
func (b *bench) decisions(ctx context.Context, name string, c *client, before func(int) error) error {
	from, err := b.auditSize()
	if err != nil {
		return err
	}
	for i := range statements {
		if before != nil {
			if err := before(i); err != nil {
				return err
			}
		}
		if _, err := c.run(ctx, fiveTables); err != nil {
			return err
		}
	}
	times, err := b.stageTimes(from, "admit", "resolve", "decide")
	if err != nil {
		return err
	}
	goal := ""
	if before == nil {
		goal = "1 ms at p50"
	}
	b.line(name+": decision, p50 / p99", ms(quantile(times["sum"], 0.5))+" / "+ms(quantile(times["sum"], 0.99)), goal)
	return nil
}

// listings prints how long a client waits for the list of all tables that its user may see.
func (b *bench) listings(ctx context.Context, name string, c *client, before func(int) error) error {
	var times []time.Duration
	var cost []float64
	var rows int64
	for i := range statements / 6 {
		if before != nil {
			if err := before(i); err != nil {
				return err
			}
		}
		used, err := b.server.cpu()
		if err != nil {
			return err
		}
		started := time.Now()
		n, err := c.tables(ctx, many)
		if err != nil {
			return err
		}
		times, rows = append(times, time.Since(started)), n
		after, err := b.server.cpu()
		if err != nil {
			return err
		}
		cost = append(cost, (after-used).Seconds()*1e3)
	}
	b.line(fmt.Sprintf("%s: %d of %d, p50 / p99", name, rows, manyTables), ms(quantile(times, 0.5))+" / "+ms(quantile(times, 0.99))+
		fmt.Sprintf(", %.1f ms of processor time", median(cost)), "100 ms")
	return nil
}

// tables counts the tables of a catalog that the client's user may see.
func (c *client) tables(ctx context.Context, catalog string) (int64, error) {
	ctx = metadata.NewOutgoingContext(ctx, c.header)
	info, err := c.sql.GetTables(ctx, &flightsql.GetTablesOpts{Catalog: &catalog})
	if err != nil {
		return 0, err
	}
	var rows int64
	for _, e := range info.Endpoint {
		stream, err := c.sql.DoGet(ctx, e.Ticket)
		if err != nil {
			return 0, err
		}
		for stream.Next() {
			rows += stream.RecordBatch().NumRows()
		}
		err = stream.Err()
		stream.Release()
		if err != nil {
			return 0, err
		}
	}
	return rows, nil
}

// manyInto makes a catalog whose tables all have the metadata of the table region.
func manyInto(ctx context.Context, from, to string) (err error) {
	db, err := sql.Open("sqlite", to)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	for _, text := range []string{
		"ATTACH '" + from + "' AS tpch",
		"CREATE TABLE iceberg_tables AS SELECT * FROM tpch.iceberg_tables WHERE false",
		"CREATE TABLE iceberg_namespace_properties AS SELECT * FROM tpch.iceberg_namespace_properties WHERE false",
		fmt.Sprintf(`WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < %d)
			INSERT INTO iceberg_tables SELECT '%s', 's' || (i %% 50), 't' || i, iceberg_type, metadata_location, NULL
			FROM n, tpch.iceberg_tables WHERE table_namespace = 'tpch' AND table_name = 'region'`, manyTables-1, many),
		"CREATE UNIQUE INDEX one ON iceberg_tables (catalog_name, table_namespace, table_name)",
		"INSERT INTO iceberg_namespace_properties SELECT DISTINCT catalog_name, table_namespace, 'exists', 'true' FROM iceberg_tables",
	} {
		if _, err := db.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// grantsInto makes a store with roles that may read a few tables each, of which eve has ten, five through the other five.
func grantsInto(ctx context.Context, file string, roles, each int) (err error) {
	store, err := grants.New(ctx, grants.Config{File: file, Admin: site.Admin})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	var changes []policy.Change
	name := func(i int) string { return fmt.Sprint("r", i) }
	for r := range roles {
		changes = append(changes, policy.Change{Op: policy.OpCreateRole, Role: name(r)})
	}
	for i := range roles * each {
		t := i % manyTables
		changes = append(changes, policy.Change{
			Op: policy.OpAllow, Principal: policy.Principal("role:" + name(i/each)), Privilege: "SELECT",
			Object: policy.Object{Level: classify.LevelTable, Catalog: many, Schema: fmt.Sprint("s", t%50), Table: fmt.Sprint("t", t)},
		})
	}
	for r := range 5 {
		changes = append(changes, policy.Change{Op: policy.OpAddMember, Role: name(r), Principal: "user:" + site.Eve},
			policy.Change{Op: policy.OpAddMember, Role: name(r + 5), Principal: policy.Principal("role:" + name(r))})
	}
	base, err := store.Current()
	if err != nil {
		return err
	}
	_, err = store.Apply(ctx, base, policy.Author{User: "bench"}, slices.Clip(changes))
	return err
}
