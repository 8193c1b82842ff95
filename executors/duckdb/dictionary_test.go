package duckdb_test

import (
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/duckdb/duckdb-go/v2"

	"gatehouse/classify"
)

// dictionaryExpressions work on the rows of region EU and mostly fail on others.
var dictionaryExpressions = strings.Split(`n + 1
1 + n
n * 2
n - (-1)
-m
m - 1
abs(m)
b + 1
b * 2
tiny + 1::tinyint
d * 10.0
d + 0.01
d * 100000000000000000000.0
dd + 1
dd * 2
-dd
d * (1 - d)
n // 1
m // (-1)
m % (-1)
n / 0
f * 1e300
dt + 1
dt - 1
dt + INTERVAL 1 DAY
dt - INTERVAL 1 DAY
dt - DATE '0001-01-01'
ts - TIMESTAMP '0001-01-01'
ts + INTERVAL 1 DAY
year(dt)
date_part('epoch', dt)
date_part('year', ts)
round(d, 1)
round(dd, -1)
round(n, -9)
substring(s, 1, 2)
substring(s, n, 2)
left(s, n)
n & 1
su::UUID
sb::BLOB
sl::INT[]
sl::INT[1]
sj::JSON
CASE WHEN n > 0 THEN s::INT END
coalesce(s::INT, 1)
n = s
greatest(ts, dt)
coalesce(ts, dt)
ts > dt
f = d
d > n
dd + 0.5
dd = 1.5
dd = d
b * 1.5
d * d
ceil(d)
ceil(dd)
exp(f * -1)
pow(f, 2)
sqrt(f)
add(n, 1)
multiply(n, 2)
date_trunc('year', ts)
strftime(dt, '%Y')
-n
TRY_CAST(s AS INT)
s IN (1, 2)
st::TIME
list_transform([s], lambda x: CAST(x AS INT))
hamming(region, 'EU')
mismatches('EU', region)
date_trunc('month', dt)
date_diff(sp, dt, dt)
subtract(m, 1)
ln(f)
replace(s, 'h', 'x')
regexp_extract(s, '(h)', 1)
left(s, 2)
s LIKE 'h%'
'a' LIKE sk
split_part(s, 'd', 1)
concat_ws(',', s, 'x')
lower(s)
tz + INTERVAL 1 MONTH
INTERVAL 1 MONTH + tz
ts + INTERVAL 1 MONTH
dt + INTERVAL 1 MONTH
TIMESTAMP '2020-01-01' + iv
DATE '2020-01-01' - iv
TIMESTAMPTZ '2020-01-01 00:00:00+00' - dt
TIMESTAMPTZ '2020-01-01 00:00:00+00' - ts
dt + TIME '10:00:00'
regexp_full_match('x', sr)
regexp_replace('x', sr, '')
regexp_extract_all('x', sr)
regexp_matches('x', sr)
'x' ~ sr
date_trunc(sp, TIMESTAMPTZ '2020-01-01 00:00:00+00')
date_part(sp, DATE '2020-01-01')
round(1.5, n)
left('abc', b)
('abc')[b]
h + 1
h * 2
-h
h::BIGINT
ub + 1
ub * 2
ub::BIGINT
ub::INT
ub - 1
r::INT
r * 1e30::REAL
n::UINTEGER
b::UBIGINT
m::UBIGINT
tz::DATE
tz::TIMESTAMP
ts::DATE
ts::TIMESTAMP_NS
dd::DOUBLE
h::DECIMAL(38,0)
b::DECIMAL(10,0)
{'a': s}::VARCHAR
n % 0
n // 0
ss::STRUCT(a INT)
sm::MAP(VARCHAR, INT)
st2::STRUCT(a INT)
[s]::INT[]
{'a': s}::STRUCT(a INT)`, "\n")

// TestNoBarrierNoDictionary: what Bind lets stand in a target list without the barrier must not fail because of values that only
// filtered rows have, which stand in the dictionaries of a Parquet file along with the others.
func TestNoBarrierNoDictionary(t *testing.T) {
	db, table, path := extremes(t)
	run := func(text, source string) error {
		rows, err := db.Query("WITH t AS NOT MATERIALIZED (SELECT * FROM " + source + ") " + text)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
		}
		return rows.Err()
	}
	file := "read_parquet('" + path + "')"
	spared, leaks := 0, 0
	for _, e := range dictionaryExpressions {
		for _, text := range []string{"SELECT max(" + e + ") FROM t", "SELECT DISTINCT " + e + " FROM t"} {
			s, err := classify.Parse(text)
			if err != nil {
				t.Fatal(text, err)
			}
			bound, err := s.Bind([]classify.Relation{table})
			if err != nil {
				t.Fatal(text, err)
			}
			hidden := run(text, file+" WHERE region = 'EU'")
			control := run(text, "(SELECT * FROM "+file+" LIMIT 6000) WHERE n > 0 OR true")
			switch {
			case !bound.Raises(0) && hidden != nil:
				t.Errorf("%s: no barrier, and %v", text, hidden)
			case !bound.Raises(0) && control != nil:
				spared++
			case hidden != nil:
				leaks++
			}
		}
	}
	if spared < 80 || leaks < 15 {
		t.Errorf("%d statements that fail on hidden rows only need no barrier, and %d that have one leak without: too few to prove a thing", spared, leaks)
	}
	t.Logf("%d spared, %d leaks", spared, leaks)
}

// extremes makes a file of rows with small values, region EU, and rows with values that are hard to compute with.
func extremes(t *testing.T) (_ *sql.DB, table classify.Relation, path string) {
	t.Helper()
	db, err := sql.Open("duckdb", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	path = filepath.Join(t.TempDir(), "d.parquet")
	columns := [][3]string{ // name, type, visible and hidden value
		{"n", "INTEGER", "1|2147483647"},
		{"m", "INTEGER", "1|-2147483648"},
		{"b", "BIGINT", "1|9223372036854775807"},
		{"tiny", "TINYINT", "1|127"},
		{"d", "DECIMAL(18,2)", "1|9999999999999999.99"},
		{"dd", "DECIMAL(38,0)", "1|99999999999999999999999999999999999999"},
		{"f", "DOUBLE", "1|-1e300"},
		{"dt", "DATE", "2020-01-01|5881580-07-10"},
		{"ts", "TIMESTAMP", "2020-01-01|294247-01-10 04:00:54.775806"},
		{"s", "VARCHAR", "1|hidden"},
		{"sp", "VARCHAR", "day|hidden"},
		{"st", "VARCHAR", "10:00:00|hidden"},
		{"su", "VARCHAR", "e5f2b3a0-0000-4000-8000-000000000000|hidden"},
		{"sb", "VARCHAR", `a|\x4`},
		{"sl", "VARCHAR", "[1]|hidden"},
		{"sj", "VARCHAR", "{}|{hidden"},
		{"sk", "VARCHAR", `a|\`},
		{"region", "VARCHAR", "EU|HIDDEN"},
		{"ss", "VARCHAR", "{'a': 1}|{'a': hidden}"},
		{"sm", "VARCHAR", "{a=1}|{a=hidden}"},
		{"st2", "STRUCT(a VARCHAR)", "{'a': 1}|{'a': hidden}"},
		{"sr", "VARCHAR", "a|("},
		{"tz", "TIMESTAMPTZ", "2020-01-01 00:00:00+00|294247-01-10 04:00:54+00"},
		{"iv", "INTERVAL", "1 day|200000 years"},
		{"h", "HUGEINT", "1|170141183460469231731687303715884105727"},
		{"ub", "UBIGINT", "1|18446744073709551615"},
		{"r", "REAL", "1|-3e38"},
	}
	var list []string
	table = classify.Relation{Name: classify.Name{Catalog: "lake", Schema: "main", Table: "t"}}
	for i, c := range columns {
		visible, hidden, _ := strings.Cut(c[2], "|")
		list = append(list, "(CASE WHEN i % 3 = 0 THEN '"+strings.ReplaceAll(visible, "'", "''")+"' ELSE '"+strings.ReplaceAll(hidden, "'", "''")+"' END)::"+c[1]+" AS "+c[0])
		table.Columns = append(table.Columns, classify.Column{Name: c[0], FieldID: i + 1, Type: c[1]})
	}
	if _, err := db.Exec("SET threads=1; COPY (SELECT " + strings.Join(list, ", ") + " FROM range(6000) r(i)) TO '" + path + "' (FORMAT parquet)"); err != nil {
		t.Fatal(err)
	}
	return db, table, path
}

// TestLeakproofConditionsNeverFail: a condition that needs no barrier fails on no row at all.
func TestLeakproofConditionsNeverFail(t *testing.T) {
	db, table, path := extremes(t)
	leakproof := 0
	for _, c := range strings.Split(`d > b
d = ub
d <= n
d = tiny
d < f
f > d
r > d
d = 0.5
d IN (1, 2.25, b)
d BETWEEN n AND b
coalesce(d, b) > 0
CASE WHEN n = 1 THEN d ELSE b END = 1
greatest(d, n) = ub
dd > 1
dd = d
dd < b
dd < f
h > b
h = d
b > (SELECT 0.5 * sum(d) FROM t WHERE n = 1)
d > (SELECT 0.5 * sum(d) FROM t WHERE n = 1)
d < (SELECT 0.2 * avg(d) FROM t)
n < (SELECT avg(b) FROM t)
b < (SELECT sum(n) FROM t)
h < (SELECT sum(tiny) FROM t)
n > (SELECT 1.5 * sum(f) FROM t WHERE n = 1)
d > (SELECT avg(n) + 1 FROM t)
d > (SELECT sum(ub) FROM t WHERE n = 1)
r < (SELECT sum(r) FROM t WHERE n = 1)
substring(s, 1, 2) IN ('13', '31')
left(s, -3) = 'hid'
right(region, 2) = 'EU'
substr(s, 2147483647) = ''
substring(s, -4, 9) = 'dden' `, "\n") {
		text := "SELECT count(*) FROM t WHERE " + c
		s, err := classify.Parse(text)
		if err != nil {
			t.Fatal(text, err)
		}
		rels := make([]classify.Relation, len(s.Tables()))
		for i := range rels {
			rels[i] = table
		}
		bound, err := s.Bind(rels)
		if err != nil {
			t.Fatal(text, err)
		}
		if bound.Raises(0) {
			continue
		}
		leakproof++
		var n int
		err = db.QueryRow("WITH t AS MATERIALIZED (SELECT * FROM read_parquet('" + path + "')) " + text).Scan(&n)
		if err != nil {
			t.Errorf("%s: %v", c, err)
		}
	}
	if leakproof < 24 {
		t.Errorf("only %d conditions need no barrier", leakproof)
	}
}
