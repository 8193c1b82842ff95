package flight

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql/schema_ref"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc/codes"
)

func text(s string) *string { return &s }

// names returns column i of all rows.
func names(rows [][]string, i int) string {
	var out []string
	for _, r := range rows {
		out = append(out, r[i])
	}
	return strings.Join(out, " ")
}

func TestListings(t *testing.T) {
	r := newRig(t)
	people := map[string]*client{"alice": r.login("alice"), "admin": r.login("admin"), "eve": r.login("eve")}
	tables := func(o *flightsql.GetTablesOpts) func(c *client) (string, error) {
		return func(c *client) (string, error) {
			info, err := c.GetTables(c.ctx, o)
			rows, err := c.texts(info, err)
			return names(rows, 2), err
		}
	}
	for name, tt := range map[string]struct {
		list        func(c *client) (string, error)
		alice, full string
	}{
		"catalogs": {func(c *client) (string, error) {
			info, err := c.GetCatalogs(c.ctx)
			rows, err := c.texts(info, err)
			return names(rows, 0), err
		}, "lake", "lake"},
		"schemas": {func(c *client) (string, error) {
			info, err := c.GetDBSchemas(c.ctx, &flightsql.GetDBSchemasOpts{Catalog: text("lake"), DbSchemaFilterPattern: text("sh%")})
			rows, err := c.texts(info, err)
			return names(rows, 1), err
		}, "shop", "shop"},
		"schemas of no catalog": {func(c *client) (string, error) {
			info, err := c.GetDBSchemas(c.ctx, &flightsql.GetDBSchemasOpts{Catalog: text("")})
			rows, err := c.texts(info, err)
			return names(rows, 1), err
		}, "", ""},
		"tables":            {tables(&flightsql.GetTablesOpts{}), "orderXitems order_items orders", "orderXitems order_items orders payroll"},
		"pattern":           {tables(&flightsql.GetTablesOpts{TableNameFilterPattern: text("%r%")}), "orderXitems order_items orders", "orderXitems order_items orders payroll"},
		"one character":     {tables(&flightsql.GetTablesOpts{TableNameFilterPattern: text("order_items")}), "order_items orderXitems", "order_items orderXitems"},
		"escaped":           {tables(&flightsql.GetTablesOpts{TableNameFilterPattern: text(`order\_items`)}), "order_items", "order_items"},
		"hidden by name":    {tables(&flightsql.GetTablesOpts{TableNameFilterPattern: text("payroll")}), "", "payroll"},
		"of another schema": {tables(&flightsql.GetTablesOpts{DbSchemaFilterPattern: text("attic")}), "", ""},
		"type TABLE":        {tables(&flightsql.GetTablesOpts{TableTypes: []string{"TABLE"}, TableNameFilterPattern: text("orders")}), "orders", "orders"},
		"type BASE TABLE":   {tables(&flightsql.GetTablesOpts{TableTypes: []string{"BASE TABLE", "table"}, TableNameFilterPattern: text("orders")}), "orders", "orders"},
		"type VIEW":         {tables(&flightsql.GetTablesOpts{TableTypes: []string{"VIEW"}}), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			for who, want := range map[string]string{"alice": tt.alice, "admin": tt.full, "eve": ""} {
				got, err := tt.list(people[who])
				if err != nil || got != want {
					t.Errorf("%s sees %q, want %q (%v)", who, got, want, err)
				}
			}
		})
	}
}

// The columns that GetTables describes are those that a query returns, with the same types.
func TestTableSchemas(t *testing.T) {
	r := newRig(t)
	for who, want := range map[string]string{"alice": "id price", "admin": "id price secret"} {
		c := r.login(who)
		info, err := c.GetTables(c.ctx, &flightsql.GetTablesOpts{TableNameFilterPattern: text("orders"), IncludeSchema: true})
		if err != nil {
			t.Fatal(err)
		}
		reader, err := c.DoGet(c.ctx, info.Endpoint[0].Ticket)
		if err != nil {
			t.Fatal(err)
		}
		if !reader.Next() {
			t.Fatal(reader.Err())
		}
		got, err := flight.DeserializeSchema(reader.RecordBatch().Column(4).(*array.Binary).Value(0), memory.DefaultAllocator)
		if err != nil {
			t.Fatal(err)
		}
		var columns []string
		for _, f := range got.Fields() {
			columns = append(columns, f.Name)
		}
		if strings.Join(columns, " ") != want {
			t.Errorf("%s sees %v", who, columns)
		}
		price := got.Field(1)
		if !arrow.TypeEqual(price.Type, &arrow.Decimal128Type{Precision: 12, Scale: 2}) {
			t.Errorf("price is %s", price.Type)
		}
		m := flightsql.ColumnMetadata{Data: &price.Metadata}
		name, _ := m.TypeName()
		precision, _ := m.Precision()
		table, _ := m.TableName()
		if name != "DECIMAL" || precision != 12 || table != "orders" {
			t.Errorf("metadata %v", price.Metadata)
		}
		id := got.Field(0)
		if remarks, _ := id.Metadata.GetValue(flightsql.RemarksKey); id.Nullable || remarks != "the key" {
			t.Errorf("id: nullable %t, remarks %q", id.Nullable, remarks)
		}
		reader.Release()
	}
}

// Keys: the same bytes for a hidden table, an absent one and one that is there.
func TestKeys(t *testing.T) {
	r := newRig(t)
	c := r.login("alice")
	ref := func(n string) flightsql.TableRef { return flightsql.TableRef{Table: n} }
	for name, f := range map[string]struct {
		call   func(table string) (*flight.FlightInfo, error)
		schema *arrow.Schema
	}{
		"primary":  {func(n string) (*flight.FlightInfo, error) { return c.GetPrimaryKeys(c.ctx, ref(n)) }, schema_ref.PrimaryKeys},
		"exported": {func(n string) (*flight.FlightInfo, error) { return c.GetExportedKeys(c.ctx, ref(n)) }, schema_ref.ExportedKeys},
		"imported": {func(n string) (*flight.FlightInfo, error) { return c.GetImportedKeys(c.ctx, ref(n)) }, schema_ref.ImportedKeys},
		"cross":    {func(n string) (*flight.FlightInfo, error) { return c.GetCrossReference(c.ctx, ref(n), ref(n)) }, schema_ref.CrossReference},
	} {
		for _, table := range []string{"orders", "payroll", "nope"} {
			info, err := f.call(table)
			rows, err := c.texts(info, err)
			if err != nil || len(rows) != 0 {
				t.Errorf("%s of %s: %v, %v", name, table, rows, err)
			}
			if got, _ := flight.DeserializeSchema(info.GetSchema(), memory.DefaultAllocator); !got.Equal(f.schema) {
				t.Errorf("%s: %s", name, got)
			}
		}
		_, err := f.call("")
		wantCode(t, err, codes.InvalidArgument)
	}
}

func TestXdbcTypeInfo(t *testing.T) {
	c := newRig(t).login("alice")
	info, err := c.GetXdbcTypeInfo(c.ctx, nil)
	all, err := c.texts(info, err)
	if err != nil || len(all) != len(xdbcTypes) || len(all[0]) != 19 {
		t.Fatalf("%d types, %v", len(all), err)
	}
	if !slices.IsSortedFunc(xdbcTypes, func(a, b xdbcType) int { return int(a.kind - b.kind) }) {
		t.Error("not ordered by data_type")
	}
	for _, f := range schema_ref.XdbcTypeInfo.Fields() {
		i := schema_ref.XdbcTypeInfo.FieldIndices(f.Name)[0]
		for _, row := range all {
			if row[i] == array.NullValueStr && !f.Nullable {
				t.Errorf("%s of %s is NULL", f.Name, row[0])
			}
		}
	}
	varchar := int32(pb.XdbcDataType_XDBC_VARCHAR)
	info, err = c.GetXdbcTypeInfo(c.ctx, &varchar)
	some, err := c.texts(info, err)
	if err != nil || names(some, 0) != "VARCHAR UUID" {
		t.Errorf("%v, %v", some, err)
	}
	// Each type of a result has a row.
	for name, typ := range simpleTypes {
		n := typeName(arrow.Field{Type: typ})
		if n != "LIST" && !slices.ContainsFunc(xdbcTypes, func(x xdbcType) bool { return x.name == n }) {
			t.Errorf("%s (%s) has no row", name, n)
		}
	}
}

func TestSQLInfo(t *testing.T) {
	c := newRig(t).login("alice")
	ask := func(ids ...flightsql.SqlInfo) map[string]string {
		info, err := c.GetSqlInfo(c.ctx, ids)
		rows, err := c.texts(info, err)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]string{}
		for _, r := range rows {
			out[r[0]] = r[1]
		}
		return out
	}
	some := ask(0, 1, 8, 999_999, 8)
	if len(some) != 3 || !strings.Contains(some["0"], "Gatehouse") || !strings.Contains(some["1"], "duckdb v") {
		t.Errorf("%v", some)
	}
	info, err := c.GetSqlInfo(c.ctx, []flightsql.SqlInfo{8, 1, 8, 999_999, 1})
	if rows, err := c.texts(info, err); err != nil || len(rows) != 2 || rows[0][0] != "1" || rows[1][0] != "8" {
		t.Errorf("what was asked for twice: %v, %v", rows, err)
	}
	all := ask()
	for id := range pb.SqlInfo_name {
		if _, ok := all[fmt.Sprint(id)]; !ok {
			t.Errorf("%s has no answer", pb.SqlInfo(id))
		}
	}
}

// Drivers cast without asking. The table follows SqlInfo in FlightSql.proto and the casts of the JDBC driver.
func TestSQLInfoTypes(t *testing.T) {
	for id, v := range sqlInfo("x") {
		name := pb.SqlInfo(id).String()
		var want string
		switch n := strings.TrimPrefix(name, "SQL_"); {
		case n == "MAX_ROW_SIZE_INCLUDES_BLOBS":
			want = "bool"
		case strings.HasPrefix(n, "MAX_"), n == "DB_SCHEMA_NAME_LENGTH", n == "DEFAULT_TRANSACTION_ISOLATION":
			want = "int64"
		case n == "KEYWORDS", strings.HasSuffix(n, "_FUNCTIONS"):
			want = "[]string"
		case n == "SUPPORTS_CONVERT":
			want = "map[int32][]int32"
		case strings.HasSuffix(n, "_TERM"), strings.HasSuffix(n, "_VERSION"), n == "FLIGHT_SQL_SERVER_NAME", n == "IDENTIFIER_QUOTE_CHAR",
			n == "SEARCH_STRING_ESCAPE", n == "EXTRA_NAME_CHARACTERS":
			want = "string"
		case strings.HasSuffix(n, "_TIMEOUT"), n == "FLIGHT_SQL_SERVER_TRANSACTION", strings.HasSuffix(n, "_CASE"), n == "NULL_ORDERING",
			strings.HasPrefix(n, "SUPPORTED_"), strings.HasSuffix(n, "_LEVEL"), strings.HasSuffix(n, "_SUPPORTED_ACTIONS"):
			want = "int32"
		default:
			want = "bool"
		}
		if got := fmt.Sprintf("%T", v); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}
