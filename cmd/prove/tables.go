package main

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/apache/iceberg-go"
)

// twinTable is one table of the twins.
type twinTable struct {
	name    string
	columns []column
	rows    int // visible ones
	// hiddenRows is how many hidden rows each side has.
	hiddenRows map[side]int
	// files is over how many data files the rows are spread.
	files       map[side]int
	group       int64 // the rows of a row group, 0: see groupRows
	partitioned bool  // by region
	deletes     bool  // some further rows are deleted by position
	equals      bool  // some further rows are deleted by their ids, which are in the first column
	// version is that of the format, 0: 2. past: the tag "past" names the table as it was before its columns were renamed and dropped.
	version int
	past    bool
	// filter is the table's own, "": one of filters.
	filter string
	// namespace is "" for the one of all the others.
	namespace string
	// open tables have no policy and are the same on all sides; denied ones may not be read, and B and C lack them.
	open, denied bool
}

var (
	long      = iceberg.PrimitiveTypes.Int64
	short     = iceberg.PrimitiveTypes.Int32
	str       = iceberg.PrimitiveTypes.String
	double    = iceberg.PrimitiveTypes.Float64
	boolean   = iceberg.PrimitiveTypes.Bool
	date      = iceberg.PrimitiveTypes.Date
	timestamp = iceberg.PrimitiveTypes.Timestamp
	zoned     = iceberg.PrimitiveTypes.TimestampTz
)

// The columns that decide which rows are visible: every shape of filter gives the same rows.
func deciding() []column {
	return []column{
		{name: "region", kind: "varchar", typ: str, visible: text("EU"), masks: []string{"", "", "'**'", "left(region, 1)", "NULL"}, hidden: func(s side, r *rand.Rand, i int) any {
			// By number, so that partitions have as many rows on B as on A.
			if s == sideA {
				return []any{"US", "JP", nil, "", "HIDDEN-region", "zz"}[i%6]
			}
			return []any{"FI", "SE", nil, "NO", "DK", "IS"}[i%6]
		}},
		{
			name: "level", kind: "int", typ: short, secret: true,
			visible: func(*rand.Rand, int) any { return int32(3) },
			under: func(s side, r *rand.Rand, _ any) any {
				return map[side]any{sideA: int32(3 + r.IntN(3)), sideB: int32(5), sideC: int32(4)}[s]
			},
			hidden: func(s side, r *rand.Rand, _ int) any { return pick[any](r, int32(-1), int32(99), canaryShort, nil) },
		},
		{
			name: "vip", kind: "boolean", typ: boolean, optional: true,
			visible: func(*rand.Rand, int) any { return true },
			hidden:  func(s side, r *rand.Rand, _ int) any { return pick[any](r, false, nil) },
		},
	}
}

// filters are the shapes of row filters; deciding's rows are the same under each.
var filters = []string{
	`region = 'EU'`,
	`region IN ('EU', 'FR')`,
	`region = 'EU' OR region = 'FR'`,
	`region LIKE 'E%'`,
	`level BETWEEN 3 AND 5`,
	`level >= 3 AND level < 6 AND region IS NOT NULL`,
	`vip`,
	`vip AND NOT region <> 'EU'`,
	`coalesce(region, 'none') = 'EU'`,
	`lower(region) = 'eu'`,
	`CASE WHEN level > 50 THEN false WHEN level < 0 THEN false ELSE region = 'EU' END`,
	`vip IS TRUE`,
	`CAST(level AS VARCHAR) IN ('3', '4', '5')`,
	`starts_with(region, 'E') AND region <> 'EE'`,
	`NOT region IS DISTINCT FROM 'EU'`,
	`region || '!' = 'EU!'`,
	`left(region, 1) = 'E' AND CASE WHEN level IS NULL THEN false ELSE level <> 99 END`,
	`CASE region WHEN 'EU' THEN vip ELSE false END`,
}

// forms are columns of text: what is visible is of one form per column, so that a cast of a column succeeds on all that the user may see.
func forms() []column {
	form := func(name string, list ...string) column {
		return column{name: name, kind: "varchar", typ: str, visible: text(list...), hidden: hiddenText}
	}
	part, pattern := form("t_part", "year", "month", "day"), form("t_pattern", "a", "b.*", "(c)")
	part.masks = []string{"", "", "CAST(date_diff(t_part, DATE '2020-01-01', DATE '2021-01-01') AS VARCHAR)"}
	pattern.masks = []string{"", "", "regexp_replace('abc', t_pattern, 'x')"}
	return []column{
		part, pattern,
		form("t_int", "1", "12", "7", "90"),
		form("t_num", "1.5", "2", "-3.25", "0.5"),
		form("t_date", "2020-01-02", "2021-12-31", "1999-05-06"),
		form("t_list", "[1, 2]", "[]", "[3]", "[4, 5, 6]"),
		form("t_struct", "{'a': 1}", "{'a': 2}"),
		form("t_json", `{"a": 1, "b": [1, 2]}`, `{"a": 2}`, `[]`),
		form("t_uuid", "00000000-0000-0000-0000-000000000001", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
		form("t_bool", "true", "false"),
		form("t_bits", "101", "0110"),
		form("t_map", "{a=1}", "{a=2, b=3}", "{}"),
	}
}

func id() column {
	return column{
		name: "id", kind: "bigint", typ: long, required: true,
		visible: func(_ *rand.Rand, i int) any { return int64(i + 1) },
		hidden: func(s side, r *rand.Rand, i int) any {
			if s != sideA {
				return int64(100000 + i)
			}
			return pick(r, int64(60+i), int64(-1-i), canaryLong+int64(i)<<56, int64(60+i%30))
		},
	}
}

func reference(name string, n int) column {
	return column{
		name: name, kind: "bigint", typ: long, hidden: hiddenLong,
		visible: maybe(15, func(r *rand.Rand, _ int) any { return int64(1 + r.IntN(n)) }),
	}
}

func salary() column {
	return column{
		name: "salary", kind: "bigint", typ: long, hidden: hiddenLong,
		visible: func(*rand.Rand, int) any { return int64(0) },
		under: func(s side, r *rand.Rand, _ any) any {
			if s != sideA {
				return int64(1000 + 10*r.IntN(9) + int(s))
			}
			return pick(r, canaryLong, canaryLong, int64(99500), -canaryLong)
		},
		masks: []string{"NULL", "0", "CASE WHEN region = 'EU' THEN NULL ELSE salary END", "CASE WHEN vip THEN 7 ELSE salary END"},
	}
}

func customers() twinTable {
	columns := append([]column{id()}, deciding()...)
	columns = append(columns, forms()...)
	columns = append(columns,
		column{name: "name", kind: "varchar", typ: str, visible: maybe(9, text("Ann", "Bob", "Cem", "Dora", "ann", "Éva", "")), hidden: hiddenText},
		column{
			name: "ssn", kind: "varchar", typ: str, hidden: hiddenText,
			visible: func(r *rand.Rand, _ int) any { return fmt.Sprintf("%04d", r.IntN(40)) },
			under: func(s side, r *rand.Rand, v any) any {
				return map[side]string{sideA: "HIDDEN-99-", sideB: "123-45-", sideC: "1"}[s] + v.(string)
			},
			masks: []string{
				"NULL", "'***-**-' || right(ssn, 4)", "'xxx'", "right(ssn, 4)", "CAST(CAST(right(ssn, 4) AS INTEGER) AS VARCHAR)",
				"CASE WHEN vip THEN 'yes' ELSE ssn END", "regexp_replace(ssn, '^.*(....)$', 'X-\\1')",
			},
		},
		column{
			name: "email", kind: "varchar", typ: str, hidden: hiddenText, visible: text("a@x.eu", "b@x.eu", "c@y.eu"),
			masks: []string{"", "gw_hash(email)", "NULL", "upper(left(email, 1))"},
		},
		column{
			name: "phone", kind: "varchar", typ: str, hidden: hiddenText, optional: true,
			visible: text(""), under: func(s side, r *rand.Rand, _ any) any { return pick(r, canaryText, "0"+string(s), string(s)) },
			masks: []string{"NULL", "'none'", "CASE WHEN region = 'EU' THEN 'eu' ELSE phone END"},
		},
		column{name: "code", kind: "int", typ: short, hidden: hiddenInt, visible: maybe(12, func(r *rand.Rand, _ int) any { return int32(65 + r.IntN(50)) })},
		column{
			name: "born", kind: "date", typ: date, hidden: hiddenDate,
			visible: func(r *rand.Rand, _ int) any { return int32(365 * (20 + r.IntN(3))) },
			under: func(s side, r *rand.Rand, v any) any {
				return v.(int32) + map[side]int32{sideA: int32(40 + r.IntN(200)), sideB: 60, sideC: 50}[s]
			},
			masks: []string{"NULL", "date_trunc('year', born)", "make_date(CAST(year(born) AS INTEGER), 1, 1)", "DATE '1970-01-01'"},
		},
		column{name: "joined", kind: "date", typ: date, hidden: hiddenDate, visible: maybe(20, func(r *rand.Rand, _ int) any { return int32(18000 + r.IntN(400)) })},
		column{
			name: "score", kind: "double", typ: double, hidden: hiddenDouble,
			visible: func(r *rand.Rand, _ int) any { return float64(r.IntN(20)) },
			under: func(s side, r *rand.Rand, v any) any {
				return v.(float64) + map[side]float64{sideA: 0.75, sideB: 0.25, sideC: 0.5}[s]
			},
			masks: []string{"floor(score)", "NULL", "CASE WHEN vip THEN 1.5 ELSE score END"},
		},
		column{name: "rate", kind: "double", typ: double, hidden: hiddenDouble, visible: maybe(9, func(r *rand.Rand, _ int) any { return float64(r.IntN(64)) / 4 })},
		column{
			name: "amount", kind: "decimal", typ: iceberg.DecimalTypeOf(12, 2),
			visible: func(r *rand.Rand, _ int) any { return int64(r.IntN(100000)) },
			hidden: func(s side, r *rand.Rand, _ int) any {
				return pick[any](r, int64(999999999999), int64(-999999999999), nil, int64(1))
			},
		},
		column{
			name: "seen", kind: "timestamp", typ: timestamp, hidden: hiddenMicros,
			visible: maybe(9, func(r *rand.Rand, _ int) any { return int64(1577836800000000 + r.Int64N(1e13)) }),
		},
		column{
			name: "at", kind: "timestamptz", typ: zoned, hidden: hiddenMicros,
			visible: maybe(9, func(r *rand.Rand, _ int) any { return int64(1577836800000000 + r.Int64N(1e13)) }),
		},
		salary(),
		// This column is on one side only: that it exists is hidden, too.
		column{name: "diagnosis", kind: "varchar", typ: str, secret: true, only: sideA, visible: func(*rand.Rand, int) any { return canaryText }, hidden: hiddenText},
	)
	return twinTable{
		name: "customers", columns: columns, rows: 70, deletes: true, // 240 on A and 70 on C are of one magnitude, see plan.Scan.Rough
		hiddenRows: map[side]int{sideA: 150, sideB: 150}, files: map[side]int{sideA: 3, sideB: 3, sideC: 1},
	}
}

// orders has one file of more than 130,000 rows on A and B: only there does the engine reorder conditions as it goes.
func orders() twinTable {
	return twinTable{
		name: "orders", rows: 300,
		hiddenRows: map[side]int{sideA: 135000, sideB: 135000}, files: map[side]int{sideA: 1, sideB: 1, sideC: 1},
		columns: append(append([]column{id(), reference("customer_id", 90)}, deciding()...),
			column{name: "sku", kind: "varchar", typ: str, visible: text("1", "22", "333", "4"), hidden: hiddenText, masks: []string{"", "CAST(CAST(sku AS INTEGER) AS VARCHAR)"}},
			column{name: "note", kind: "varchar", typ: str, visible: text("[1]", "[2, 3]", "[]"), hidden: hiddenText, masks: []string{"", "", "replace(note, ' ', '')", "'[7]'"}},
			column{name: "code", kind: "int", typ: short, visible: func(r *rand.Rand, _ int) any { return int32(65 + r.IntN(20)) }, hidden: few(hiddenInt, int32(1114112), canaryShort), masks: []string{"", "CASE WHEN code < 200 THEN code END", "CAST(right(CAST(code AS VARCHAR), 2) AS INTEGER)"}},
			column{name: "t_list", kind: "varchar", typ: str, visible: text("[1, 2]", "[]"), hidden: few(hiddenText, "[1, x]", canaryText)},
			column{name: "big", kind: "bigint", typ: long, visible: func(r *rand.Rand, _ int) any { return int64(r.IntN(2000)) }, hidden: few(hiddenLong, canaryLong, int64(math.MaxInt64), int64(math.MinInt64))},
			column{name: "qty", kind: "int", typ: short, visible: func(r *rand.Rand, _ int) any { return int32(1 + r.IntN(20)) }, hidden: hiddenInt},
			column{
				name: "placed", kind: "date", typ: date, visible: func(r *rand.Rand, _ int) any { return int32(18000 + r.IntN(400)) }, hidden: hiddenDate,
				masks: []string{"", "", "last_day(placed)", "date_trunc('month', placed)", "CASE WHEN region = 'EU' THEN placed + 1 END"},
			},
			column{
				name: "price", kind: "decimal", typ: iceberg.DecimalTypeOf(9, 2),
				visible: func(r *rand.Rand, _ int) any { return int64(100 + r.IntN(9000)) },
				under: func(s side, r *rand.Rand, v any) any {
					return map[side]any{sideA: int64(999999999), sideB: int64(1), sideC: nil}[s]
				},
				hidden: func(s side, r *rand.Rand, _ int) any { return pick[any](r, int64(-999999999), int64(999999999), nil) },
				masks:  []string{"NULL", "1.00", "CASE WHEN region <> 'EU' THEN price END"},
			},
		),
	}
}

func employees() twinTable {
	return twinTable{
		name: "employees", rows: 20, partitioned: true,
		hiddenRows: map[side]int{sideA: 40, sideB: 40}, files: map[side]int{sideA: 1, sideB: 1, sideC: 1},
		columns: append(append([]column{id(), reference("manager_id", 9)}, deciding()...),
			column{name: "dept", kind: "varchar", typ: str, visible: text("dev", "ops", "law"), hidden: hiddenText},
			column{
				name: "tags", kind: "varchar[]", typ: &iceberg.ListType{ElementID: 100, Element: str},
				visible: maybe(6, func(r *rand.Rand, _ int) any { return pick(r, []any{"x"}, []any{"x", "1"}, []any{}, []any{"y", nil}) }),
				hidden: func(s side, r *rand.Rand, i int) any {
					return []any{hiddenText(s, r, i), hiddenText(s, r, i), canaryText}
				},
			},
			column{
				name: "nums", kind: "int[]", typ: &iceberg.ListType{ElementID: 101, Element: short},
				visible: func(r *rand.Rand, _ int) any { return pick(r, []any{int32(1)}, []any{int32(2), int32(3)}, []any{}) },
				hidden: func(s side, r *rand.Rand, i int) any {
					return []any{hiddenInt(s, r, i), hiddenInt(s, r, i), canaryShort}
				},
				masks: []string{"", "NULL", "nums[1:1]"},
			},
			column{
				name: "addr", kind: "struct", typ: &iceberg.StructType{FieldList: []iceberg.NestedField{
					{ID: 102, Name: "city", Type: str}, {ID: 103, Name: "zip", Type: short},
				}},
				visible: maybe(6, func(r *rand.Rand, _ int) any {
					return map[string]any{"city": pick(r, "Ulm", "Rom"), "zip": int32(r.IntN(5))}
				}),
				hidden: func(s side, r *rand.Rand, i int) any {
					return map[string]any{"city": hiddenText(s, r, i), "zip": hiddenInt(s, r, i)}
				},
				masks: []string{"", "NULL", "{'city': upper(addr.city), 'zip': 0}"},
			},
			column{
				name: "badge", kind: "uuid", typ: iceberg.PrimitiveTypes.UUID,
				visible: func(r *rand.Rand, i int) any { return fmt.Appendf(nil, "visible-%08d", i%7) },
				hidden:  func(s side, r *rand.Rand, i int) any { return fmt.Appendf(nil, "HIDDEN--%08d", i) },
			},
			column{
				name: "pic", kind: "blob", typ: iceberg.PrimitiveTypes.Binary,
				visible: func(r *rand.Rand, _ int) any { return []byte(pick(r, "ab", "c", "")) },
				hidden:  func(s side, r *rand.Rand, i int) any { return []byte("\xff\xfeHIDDEN") },
			},
			column{
				name: "starts", kind: "time", typ: iceberg.PrimitiveTypes.Time,
				visible: func(r *rand.Rand, _ int) any { return int64(r.IntN(86400)) * 1000000 },
			},
			column{
				name: "ratio", kind: "real", typ: iceberg.PrimitiveTypes.Float32, visible: func(r *rand.Rand, _ int) any { return float32(r.IntN(16)) / 4 },
				hidden: func(s side, r *rand.Rand, _ int) any { return pick[any](r, float32(3e38), float32(-3e38), nil) },
			},
			column{
				name: "total", kind: "decimal38", typ: iceberg.DecimalTypeOf(38, 4), visible: func(r *rand.Rand, _ int) any { return int64(r.IntN(1e6)) },
				hidden: func(s side, r *rand.Rand, _ int) any { return pick[any](r, canaryLong, -canaryLong, nil) },
			},
			salary(),
		),
	}
}

func products() twinTable {
	return twinTable{name: "products", rows: 25, open: true, files: map[side]int{sideA: 1, sideB: 1, sideC: 1}, columns: []column{
		id(),
		{name: "sku", kind: "varchar", typ: str, visible: text("1", "22", "333", "x")},
		{name: "label", kind: "varchar", typ: str, visible: maybe(5, text("pen", "cup", "EU", "customers"))},
		{name: "weight", kind: "double", typ: double, visible: func(r *rand.Rand, _ int) any { return float64(r.IntN(40)) / 8 }},
	}}
}

func payroll() twinTable {
	return twinTable{name: "payroll", denied: true, rows: 3, files: map[side]int{sideA: 1, sideB: 1, sideC: 1}, columns: []column{id(), salary()}}
}

// vault is a table in a namespace that only one side has.
func vault() twinTable {
	t := payroll()
	t.name, t.namespace = "keys", "vault"
	return t
}

// twins are all tables.
func twins() []twinTable {
	return []twinTable{customers(), orders(), employees(), events(), visits(), faulty(), products(), payroll(), vault(), parcels(), readings()}
}
