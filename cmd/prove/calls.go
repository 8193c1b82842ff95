package main

import (
	"context"
	"fmt"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"google.golang.org/grpc"
)

// call is a call of the protocol that is no statement. It may note what it sees itself and return nil.
type call func(ctx context.Context, d *door, o *observation, opt grpc.CallOption) (*flight.FlightInfo, error)

// protocol makes a call other than a statement: listings, keys, schemas of statements that do not run, facts about the server.
func (g *generator) protocol() *statement {
	place := func(s string) *string {
		if s == "" {
			return nil
		}
		return &s
	}
	table := pick(g.r, "customers", "orders", "employees", "events", "payroll", "nothing", "PAYROLL")
	home := pick(g.r, "", namespace, namespace, "vault", "%", "SHOP")
	pattern := pick(g.r, "", "%", "pay%", "%s", "k_ys", table)
	lake := pick(g.r, "", catalogName, "nowhere")
	query := pick(g.r, "SELECT * FROM ", "SELECT count(*) FROM ", "SELECT id, salary FROM ", "SELECT diagnosis FROM ", "SELECT level FROM ") + table
	ref := flightsql.TableRef{Catalog: place(lake), DBSchema: place(home), Table: table}
	columns := g.chance(60)
	n := g.r.IntN(12)
	what := fmt.Sprintf("call %d: catalog %q, schema %q, table %q, pattern %q, columns %v, query %q", n, lake, home, table, pattern, columns, query)
	st := &statement{root: word("", what), door: true}
	st.call = func(ctx context.Context, d *door, o *observation, opt grpc.CallOption) (*flight.FlightInfo, error) {
		switch n {
		case 0:
			return d.client.GetCatalogs(ctx, opt)
		case 1:
			return d.client.GetDBSchemas(ctx, &flightsql.GetDBSchemasOpts{Catalog: place(lake), DbSchemaFilterPattern: place(home)}, opt)
		case 2:
			return d.client.GetPrimaryKeys(ctx, ref, opt)
		case 3:
			return d.client.GetExportedKeys(ctx, ref, opt)
		case 4:
			return d.client.GetImportedKeys(ctx, ref, opt)
		case 5:
			return d.client.GetCrossReference(ctx, ref, flightsql.TableRef{Table: "customers"}, opt)
		case 6:
			return d.client.GetSqlInfo(ctx, nil, opt)
		case 7:
			return d.schemaOf(ctx, query, o, opt)
		case 8:
			return d.prepared(ctx, query+" WHERE id = ?", o, opt)
		}
		return d.client.GetTables(ctx, &flightsql.GetTablesOpts{
			Catalog: place(lake), DbSchemaFilterPattern: place(home), TableNameFilterPattern: place(pattern), IncludeSchema: columns,
		}, opt)
	}
	return st
}

func (d *door) schemaOf(ctx context.Context, query string, o *observation, opt grpc.CallOption) (*flight.FlightInfo, error) {
	s, err := d.client.GetExecuteSchema(ctx, query, opt)
	if err == nil {
		o.look(s.Schema)
		o.note("schema", fmt.Sprintf("%x", s.Schema))
	}
	return nil, err
}

func (d *door) prepared(ctx context.Context, query string, o *observation, opt grpc.CallOption) (*flight.FlightInfo, error) {
	s, err := d.client.Prepare(ctx, query, opt)
	if err != nil {
		return nil, err
	}
	o.note("prepared", schemaText(s.DatasetSchema())+" of "+schemaText(s.ParameterSchema()))
	return nil, s.Close(ctx)
}
