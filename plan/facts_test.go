package plan

import (
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/iceberg-go"
	"github.com/google/uuid"

	"gatehouse/catalog/catalogtest"
)

// What the zoo's manifest says of single tables shows in their scans.
func TestZooFacts(t *testing.T) {
	c, p := openZoo(t), newPlanner(t)
	for _, x := range []struct {
		table string
		want  string // files, deletes by kind, constants
		why   string
	}{
		{"spark.v1_plain", "files 5; region: NULL apac eu eu us", "constants of an identity partition, also NULL"},
		{"spark.v2_all_deleted", "files 1; positional 1", "all rows deleted, the file still listed"},
		{"spark.v3_dv", "files 7; vectors 4; region: apac apac eu eu eu us us", "the vector that a second DELETE replaced is not listed"},
		{"spark.evo_promote", "files 5; part: 5000000000 7 7 8 NULL", "values of a promoted partition column in both widths"},
		{"spark.evo_partition", `files 21; positional 5; region: NULL n/a b%c=d north south über`, "constants for the files of one spec only, undecoded"},
		{"spark.object_layout", "files 5; p: NULL [g]*? a b c/d e%f", "data outside of the table's folder"},
		{"spark.imported_name_mapping", "files 3; mapped 3", "files without field ids"},
		{"spark.empty_no_snapshot", "files 0", "no snapshot"},
		{"spark.empty_zero_row_file", "files 0", "a snapshot without files"},
		{"java.eq_upsert", "files 4; positional 3; equality 3", "three commits, each with both kinds"},
		{"java.eq_partitioned", "files 5; equality 3; region: NULL eu us", "deletes of a partition and one that is global"},
		{"java.eq_and_dv_v3", "files 2; vectors 1; equality 1", "both on one file"},
		{"java.eq_dropped_col", "files 1; equality 1", "the key is no column any more"},
	} {
		ns, name, _ := strings.Cut(x.table, ".")
		tbl, err := c.Table(t.Context(), alice, ns, name)
		if err != nil {
			t.Fatal(err)
		}
		scan, err := p.scan(t.Context(), tbl, whole(tbl), nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := facts(scan); got != x.want {
			t.Errorf("%s (%s): got %q, want %q", x.table, x.why, got, x.want)
		}
	}
}

func facts(s Scan) string {
	out := []string{fmt.Sprintf("files %d", len(s.Files))}
	kinds := map[DeleteKind]int{}
	for _, d := range s.Deletes {
		kinds[d.Kind]++
	}
	for i, name := range []string{"positional", "vectors", "equality"} {
		if n := kinds[DeleteKind(i+1)]; n > 0 {
			out = append(out, fmt.Sprintf("%s %d", name, n))
		}
	}
	constants, mapped := map[int][]string{}, 0
	for _, f := range s.Files {
		if f.Mapping != nil {
			mapped++
		}
		for id, v := range f.Constants {
			text := "NULL"
			if v != nil {
				text = *v
			}
			constants[id] = append(constants[id], text)
		}
	}
	if mapped > 0 {
		out = append(out, fmt.Sprintf("mapped %d", mapped))
	}
	for _, id := range slices.Sorted(maps.Keys(constants)) {
		name := fmt.Sprint(id)
		for _, f := range s.Fields {
			if f.ID == id {
				name = f.Name
			}
		}
		slices.Sort(constants[id])
		out = append(out, name+": "+strings.Join(constants[id], " "))
	}
	return strings.Join(out, "; ")
}

// Every planned file is where its location says, read literally.
func TestFilesAreThere(t *testing.T) {
	c, p := openZoo(t), newPlanner(t)
	files := 0
	for _, z := range catalogtest.ZooTables(t) {
		if z.Class != "ok" {
			continue
		}
		tbl, err := zooTable(t, c, z)
		if err != nil {
			t.Fatal(err)
		}
		scan, err := p.scan(t.Context(), tbl, whole(tbl), nil)
		if err != nil {
			t.Fatal(err)
		}
		check := func(location string, size int64) {
			files++
			path, err := LocalPath(location)
			if err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(path); err != nil || info.Size() < size {
				t.Errorf("%s: %v", location, err)
			}
		}
		for _, f := range scan.Files {
			check(f.Path, f.Size)
		}
		for _, d := range scan.Deletes {
			if d.Kind != DeletionVector {
				check(d.Path, d.Size)
				continue
			}
			check(d.Path, d.Offset+d.Length)
		}
	}
	if files < 150 {
		t.Errorf("%d files", files)
	}
}

// The keys of equality deletes have the names and types that the columns have now, and are read even if nobody asks for them.
func TestEqualityKeys(t *testing.T) {
	c, p := openZoo(t), newPlanner(t)
	for _, x := range []struct{ table, key string }{
		{"eq_renamed_promoted", "1 key BIGINT"},
		{"eq_dropped_col", "2 __gw_dropped_2 VARCHAR"},
	} {
		tbl, err := c.Table(t.Context(), alice, "java", x.table)
		if err != nil {
			t.Fatal(err)
		}
		r := whole(tbl)
		r.Columns = r.Columns[len(r.Columns)-1:]
		scan, err := p.scan(t.Context(), tbl, r, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range scan.Deletes {
			if d.Kind != EqualityDeletes {
				continue
			}
			k := d.Equality[0]
			if got := fmt.Sprintf("%d %s %s", k.ID, k.Name, k.Type); got != x.key {
				t.Errorf("%s: the key is %q, want %q", x.table, got, x.key)
			}
			if !slices.ContainsFunc(scan.Fields, func(f Field) bool { return f.ID == k.ID && f.Type == k.Type }) {
				t.Errorf("%s: the key is not read: %v", x.table, scan.Fields)
			}
		}
	}
}

// Initial defaults of all types, which iceberg-go's own scan partly refuses.
func TestDefaults(t *testing.T) {
	c, p := openZoo(t), newPlanner(t)
	tbl, err := c.Table(t.Context(), alice, "java", "defaults_v3")
	if err != nil {
		t.Fatal(err)
	}
	scan, err := p.scan(t.Context(), tbl, whole(tbl), nil)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	var walk func(prefix string, fs []Field)
	walk = func(prefix string, fs []Field) {
		for _, f := range fs {
			if f.Default != nil {
				got = append(got, prefix+f.Name+"="+*f.Default)
			}
			walk(prefix+f.Name+".", f.Nested)
		}
	}
	walk("", scan.Fields)
	want := []string{
		"bo=true", "d=0.5", "dec=1.25", "dt=2024-02-29", "i=42", "req=7", "s_renamed=défaut", "st.b=99",
		"tz=2024-01-01T00:00:00+00:00", "uid=f79c3e09-677c-4bbd-a479-3f349cb785e7",
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestText(t *testing.T) {
	prim := iceberg.PrimitiveTypes
	for _, c := range []struct {
		t    iceberg.Type
		v    any
		want string // "!": refused
	}{
		{prim.Bool, true, "true"},
		{prim.Int32, int32(-5), "-5"},
		{prim.Int64, int64(math.MinInt64), "-9223372036854775808"},
		{prim.Float32, float32(0.1), "0.1"},
		{prim.Float64, math.NaN(), "nan"},
		{prim.Float64, math.Inf(-1), "-inf"},
		{prim.Float64, math.Copysign(0, -1), "-0"},
		{prim.String, "a'b\n", "a'b\n"},
		{prim.Binary, []byte{0, 255, 'a'}, `\x00\xFF\x61`},
		{prim.UUID, uuid.MustParse("f79c3e09-677c-4bbd-a479-3f349cb785e7"), "f79c3e09-677c-4bbd-a479-3f349cb785e7"},
		{iceberg.DecimalTypeOf(9, 2), iceberg.Decimal{Val: decimal128.FromI64(-5), Scale: 2}, "-0.05"},
		{prim.Date, iceberg.Date(0), "1970-01-01"},
		{prim.Date, iceberg.Date(-719529), "0002-12-31 (BC)"},
		{prim.Date, iceberg.Date(2_932_897), "10000-01-01"},
		{prim.Time, iceberg.Time(86399_999999), "23:59:59.999999"},
		{prim.Timestamp, iceberg.Timestamp(-1), "1969-12-31 23:59:59.999999"},
		{prim.TimestampTz, iceberg.Timestamp(1500000), "1970-01-01 00:00:01.500000+00"},
		{prim.TimestampNs, iceberg.TimestampNano(-1), "1969-12-31 23:59:59.999999999"},
		{prim.String, struct{}{}, "!"},
	} {
		got, err := partitionText(c.t, c.v)
		if c.want == "!" {
			if err == nil {
				t.Errorf("%v as %v is %q", c.v, c.t, *got)
			}
			continue
		}
		if err != nil || *got != c.want {
			t.Errorf("%v as %v: got %v, %v, want %q", c.v, c.t, got, err, c.want)
		}
	}
	for _, c := range []struct {
		t    iceberg.Type
		v    any
		want string
	}{
		{prim.Int64, float64(1 << 52), "4503599627370496"},
		{prim.Int64, float64(1 << 53), "!"}, // may have been 2^53+1
		{prim.Int32, 1.5, "!"},
		{prim.Binary, "00ff", `\x00\xFF`},
		{prim.Binary, "0g", "!"},
		{iceberg.DecimalTypeOf(9, 2), "-1.25", "-1.25"},
		{iceberg.DecimalTypeOf(9, 2), "1e5", "!"},
		{prim.Date, "2024-02-29", "2024-02-29"},
		{prim.Date, "today", "!"},
		{prim.String, "today", "today"},
		{prim.Bool, "true", "!"},
	} {
		got, err := jsonText(c.t, c.v)
		if c.want == "!" != (err != nil) || err == nil && got != c.want {
			t.Errorf("default %v as %v: got %q, %v, want %q", c.v, c.t, got, err, c.want)
		}
	}
}
