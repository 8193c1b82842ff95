package lake

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// definition is one table: how it began and what happened to it since.
type definition struct {
	name   string
	schema *iceberg.Schema
	spec   *iceberg.PartitionSpec
	steps  []step
}

// step is one commit in a table's history.
type step func(context.Context, *writer) error

var (
	long   = iceberg.PrimitiveTypes.Int64
	text   = iceberg.PrimitiveTypes.String
	day    = iceberg.PrimitiveTypes.Date
	cents  = func(precision int) iceberg.Type { return iceberg.DecimalTypeOf(precision, 2) }
	column = func(id int, name string, t iceberg.Type) iceberg.NestedField {
		return iceberg.NestedField{ID: id, Name: name, Type: t}
	}
	key = func(id int, name string, t iceberg.Type) iceberg.NestedField {
		return iceberg.NestedField{ID: id, Name: name, Type: t, Required: true}
	}
)

// definitions returns all tables in the order in which they are written. Sources are the engine's tables of
// values.sql, which have the columns' final names.
func definitions(s scale) []definition {
	return []definition{products(), customers(s), employees(), payroll(), orders(), orderItems()}
}

func products() definition {
	return definition{
		name:   "products",
		schema: iceberg.NewSchemaWithIdentifiers(0, []int{1}, key(1, "id", long), column(2, "name", text), column(3, "category", text), column(4, "price", cents(10))),
		spec:   iceberg.UnpartitionedSpec,
		steps:  []step{appendFiles("2023-01-01", file{"products", "true", "id", 0})},
	}
}

// customers began without note, with telephone for phone and a narrower credit_limit. The first file stays as it
// was written then. Later 600 customers asked to be erased: positional deletes over all files.
func customers(s scale) definition {
	early := s.customers * 7 / 10
	return definition{
		name: "customers",
		schema: iceberg.NewSchemaWithIdentifiers(0, []int{1},
			key(1, "id", long), column(2, "name", text), column(3, "email", text), column(4, "telephone", text),
			column(5, "country", text), column(6, "region", text), column(7, "birth_date", day), column(8, "tax_id", text),
			column(9, "credit_limit", cents(10)), column(10, "signed_up_at", iceberg.PrimitiveTypes.TimestampTz)),
		spec: iceberg.UnpartitionedSpec,
		steps: []step{
			appendFiles("2024-06-14", file{"early", fmt.Sprintf("id <= %d", early), "id", 20_480}),
			evolveSchema(func(u *table.UpdateSchema) {
				u.RenameColumn([]string{"telephone"}, "phone")
				u.UpdateColumn([]string{"credit_limit"}, table.ColumnUpdate{FieldType: iceberg.Optional[iceberg.Type]{Val: cents(12), Valid: true}})
				u.AddColumn([]string{"note"}, text, "what support wrote down", false, nil)
			}),
			appendFiles("2025-07-01",
				file{"late-1", fmt.Sprintf("id > %d AND id <= %d", early, early+(s.customers-early)/2), "id", 20_480},
				file{"late-2", fmt.Sprintf("id > %d", early+(s.customers-early)/2), "id", 20_480}),
			deleteRows("2025-07-02", "erased(id)"),
		},
	}
}

// employees began with an int manager_id.
func employees() definition {
	return definition{
		name: "employees",
		schema: iceberg.NewSchemaWithIdentifiers(0, []int{1},
			key(1, "id", long), column(2, "name", text), column(3, "email", text), column(4, "department", text),
			column(5, "manager_id", iceberg.PrimitiveTypes.Int32), column(6, "region", text), column(7, "salary", cents(12))),
		spec: iceberg.UnpartitionedSpec,
		steps: []step{
			appendFiles("2024-07-01", file{"early", "id <= 380", "id", 0}),
			evolveSchema(func(u *table.UpdateSchema) {
				u.UpdateColumn([]string{"manager_id"}, table.ColumnUpdate{FieldType: iceberg.Optional[iceberg.Type]{Val: long, Valid: true}})
			}),
			appendFiles("2025-07-01", file{"late", "id > 380", "id", 0}),
		},
	}
}

func payroll() definition {
	return definition{
		name: "payroll",
		schema: iceberg.NewSchemaWithIdentifiers(0, []int{1, 2},
			key(1, "employee_id", long), key(2, "month", day), column(3, "gross", cents(12)), column(4, "net", cents(12))),
		spec: iceberg.UnpartitionedSpec,
		steps: []step{
			appendFiles("2025-01-01", file{"2024", "month < DATE '2025-01-01'", "month, employee_id", 0}),
			appendFiles("2025-07-01", file{"2025", "month >= DATE '2025-01-01'", "month, employee_id", 0}),
		},
	}
}

// halves are the half-years that have orders; each was loaded on the day after it ended.
func halves() []time.Time {
	return []time.Time{date(2023, 1), date(2023, 7), date(2024, 1), date(2024, 7), date(2025, 1)}
}

func date(year int, month time.Month) time.Time {
	return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
}

// orders has one file a month.
func orders() definition {
	schema := iceberg.NewSchemaWithIdentifiers(0, []int{1},
		key(1, "id", long), key(2, "customer_id", long), key(3, "order_date", day),
		column(4, "status", text), column(5, "region", text), column(6, "total", cents(12)))
	spec := iceberg.NewPartitionSpec(iceberg.PartitionField{SourceIDs: []int{3}, FieldID: 1000, Name: "order_date_month", Transform: iceberg.MonthTransform{}})
	d := definition{name: "orders", schema: schema, spec: &spec}
	for _, half := range halves() {
		var files []file
		for m := range 6 {
			from := half.AddDate(0, m, 0)
			files = append(files, file{
				"order_date_month=" + from.Format("2006-01") + "/orders",
				between(from, from.AddDate(0, 1, 0)), "id", 0,
			})
		}
		d.steps = append(d.steps, appendFiles(half.AddDate(0, 6, 0).Format(time.DateOnly), files...))
	}
	return d
}

// orderItems was unpartitioned in its first year and is partitioned by region since.
func orderItems() definition {
	d := definition{
		name: "order_items",
		schema: iceberg.NewSchemaWithIdentifiers(0, []int{1, 2},
			key(1, "order_id", long), key(2, "line_number", iceberg.PrimitiveTypes.Int32), key(3, "product_id", long),
			column(4, "quantity", iceberg.PrimitiveTypes.Int32), column(5, "price", cents(10)), column(6, "region", text)),
		spec: iceberg.UnpartitionedSpec,
	}
	for i, half := range halves() {
		end := half.AddDate(0, 6, 0)
		loaded, rows := end.Format(time.DateOnly), between(half, end)
		if i < 2 {
			d.steps = append(d.steps, appendFiles(loaded, file{half.Format("2006-01"), rows, "order_id, line_number", 0}))
			continue
		}
		if i == 2 {
			d.steps = append(d.steps, evolveSpec(func(u *table.UpdateSpec) { u.AddField("region", iceberg.IdentityTransform{}, "region") }))
		}
		var files []file
		for _, region := range []string{"APAC", "EU", "US"} {
			files = append(files, file{"region=" + region + "/" + half.Format("2006-01"), rows + " AND region = " + quote(region), "order_id, line_number", 0})
		}
		d.steps = append(d.steps, appendFiles(loaded, files...))
	}
	return d
}

func between(from, to time.Time) string {
	return fmt.Sprintf("order_date >= DATE '%s' AND order_date < DATE '%s'", from.Format(time.DateOnly), to.Format(time.DateOnly))
}
