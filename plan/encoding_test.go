package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"

	"gatehouse/classify"
	"gatehouse/policy"
)

// The digest is that of its documented encoding, spelled out here a second time: an executor elsewhere computes it from that.
func TestDigestEncoding(t *testing.T) {
	mask, filter, pushed := where(t, "NULL"), where(t, "a = 1"), where(t, "b = 2")
	text, first := "d", int64(40)
	r := Relation{
		Relation: policy.Relation{
			CTE: "__gw_1", Name: classify.Name{Catalog: "c", Schema: "s", Table: "t"}, Filter: filter, Pushed: []*pgquery.Node{pushed},
			Columns: []policy.Output{{Name: "a", FieldID: 1, Type: "BIGINT", Reads: []int{1}}, {Name: "b", FieldID: 2, Type: "DATE", Mask: mask, Reads: []int{2, 1}}},
			Barrier: true, MaskFails: true,
		},
		Scan: Scan{
			Catalog: "C", Schema: "S", Table: "T", UUID: "u", Snapshot: 7, Rows: 8, FilesTotal: 9, Rough: 10,
			Fields: []Field{{ID: 1, Name: "a", Type: "BIGINT", Default: &text, NaN: true, Nested: []Field{{ID: 3, Name: "n", Type: "DATE"}}}},
			Files: []File{
				{Path: "p", Size: 11, Rows: 12, Seq: 13, FirstRow: &first, Constants: map[int]*string{5: nil, 4: &text}, Mapping: map[string]int{"y": 2, "x": 1}, Deletes: []int{0, 1}},
				{Path: "q", Mapping: map[string]int{}},
				{Path: "r"},
			},
			Deletes: []DeleteFile{{Kind: EqualityDeletes, Path: "e", Size: 14, Rows: 15, Offset: 16, Length: 17, Equality: []Field{{ID: 1, Name: "a", Type: "BIGINT"}}}},
		},
	}
	var b bytes.Buffer
	write := func(values ...any) {
		for _, v := range values {
			switch v := v.(type) {
			case int:
				_ = binary.Write(&b, binary.BigEndian, int64(v))
			case bool:
				n := int64(0)
				if v {
					n = 1
				}
				_ = binary.Write(&b, binary.BigEndian, n)
			case string:
				_ = binary.Write(&b, binary.BigEndian, int64(len(v)))
				b.WriteString(v)
			case *pgquery.Node:
				tree, err := proto.MarshalOptions{Deterministic: true}.Marshal(v)
				if err != nil {
					t.Fatal(err)
				}
				_ = binary.Write(&b, binary.BigEndian, int64(len(tree)))
				b.Write(tree)
			}
		}
	}
	write(digestVersion, "__gw_1", "c", "s", "t")
	write(2, "a", 1, "BIGINT", "", 1, 1, "b", 2, "DATE", mask, 2, 2, 1)
	write(filter, 1, pushed, true, false, true)
	write("C", "S", "T", "u", 7, 8, 9, 10)
	write(1, 1, "a", "BIGINT", true, "d", true, 1, 3, "n", "DATE", false, false, 0)
	write(3, "p", 11, 12, 13, true, 40, 2, 4, true, "d", 5, false, true, 2, "x", 1, "y", 2, 2, 0, 1)
	write("q", 0, 0, 0, false, 0, true, 0, 0, "r", 0, 0, 0, false, 0, false, 0, 0)
	write(1, int(EqualityDeletes), "e", 14, 15, 16, 17, 1, 1, "a", "BIGINT", false, false, 0)
	check := func(what string) {
		t.Helper()
		sum := sha256.Sum256(b.Bytes())
		if got, err := r.PayloadDigest(); err != nil || got != base64.RawURLEncoding.EncodeToString(sum[:]) {
			t.Errorf("%s: %s, %v", what, got, err)
		}
	}
	check("a scan of files")
	r.Scan.Computed, r.Scan.Values = true, [][]*string{{&text, nil}, {}}
	write(true, 2, 2, true, "d", false, 0)
	check("a computed scan")
}

// Values of metadata as text that casts back to just them, and what is refused.
func TestTextOfEveryKind(t *testing.T) {
	prim := iceberg.PrimitiveTypes
	for _, c := range []struct {
		t    iceberg.Type
		v    any
		want string
	}{
		{prim.Bool, true, "true"},
		{prim.Int32, int32(-5), "-5"},
		{prim.Int64, int64(math.MinInt64), "-9223372036854775808"},
		{prim.Date, int32(1), "1970-01-02"},
		{prim.Date, iceberg.Date(-1), "1969-12-31"},
		{prim.Float32, float32(0.1), "0.1"},
		{prim.Float64, 0.1, "0.1"},
		{prim.Float64, math.NaN(), "nan"},
		{prim.Float64, math.Inf(1), "inf"},
		{prim.Float64, math.Inf(-1), "-inf"},
		{prim.String, "a'b", "a'b"},
		{prim.Binary, []byte{0, 255}, `\x00\xFF`},
		{prim.Time, iceberg.Time(3723000001), "01:02:03.000001"},
		{prim.Timestamp, iceberg.Timestamp(-1), "1969-12-31 23:59:59.999999"},
		{prim.TimestampTz, iceberg.Timestamp(0), "1970-01-01 00:00:00.000000+00"},
		{prim.TimestampNs, iceberg.TimestampNano(-1), "1969-12-31 23:59:59.999999999"},
		{prim.TimestampTzNs, iceberg.TimestampNano(1), "1970-01-01 00:00:00.000000001+00"},
	} {
		got, err := partitionText(c.t, c.v)
		if err != nil || got == nil || *got != c.want {
			t.Errorf("%s %v: %v, %v", c.t, c.v, got, err)
		}
	}
	for days, want := range map[int64]string{-719162: "0001-01-01", -719163: "0001-12-31 (BC)", -719528: "0001-01-01 (BC)", -719529: "0002-12-31 (BC)"} {
		if got := dateText(days); got != want {
			t.Errorf("day %d: %s, want %s", days, got, want)
		}
	}
	if got, err := partitionText(prim.String, nil); got != nil || err != nil {
		t.Errorf("nothing: %v, %v", got, err)
	}
	if _, err := partitionText(prim.String, struct{}{}); err == nil {
		t.Error("a value of no kind")
	}
	for _, c := range []struct {
		t    iceberg.Type
		v    any
		want string // "": refused
	}{
		{prim.Bool, true, "true"},
		{prim.Bool, 1.0, ""},
		{prim.Int32, 5.0, "5"},
		{prim.Int64, -5.0, "-5"},
		{prim.Int64, 5.5, ""},
		{prim.Int64, float64(1<<53 - 1), "9007199254740991"},
		{prim.Int64, float64(1 << 53), ""},
		{prim.Int64, -float64(1 << 53), ""},
		{prim.Float32, 0.5, "0.5"},
		{prim.Float32, 0.1, "0.1"},
		{prim.Float64, 0.1, "0.1"},
		{prim.Date, 5.0, ""},
		{prim.String, "x", "x"},
		{prim.Int32, "5", ""},
		{prim.UUID, "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000001"},
		{prim.UUID, "x", ""},
		{iceberg.DecimalTypeOf(5, 2), "-1.50", "-1.50"},
		{iceberg.DecimalTypeOf(5, 2), "1e3", ""},
		{iceberg.DecimalTypeOf(5, 2), ".", ""},
		{iceberg.DecimalTypeOf(5, 2), "", ""},
		{iceberg.DecimalTypeOf(5, 2), "1'", ""},
		{prim.Date, "2020-01-01", "2020-01-01"},
		{prim.Date, "2020-01-01'", ""},
		{prim.Date, "", ""},
		{prim.Time, "01:02:03.5", "01:02:03.5"},
		{prim.Timestamp, "2020-01-01T00:00:00", "2020-01-01T00:00:00"},
		{prim.TimestampTz, "2020-01-01T00:00:00+00:00", "2020-01-01T00:00:00+00:00"},
		{prim.TimestampNs, "2020-01-01T00:00:00.000000001", "2020-01-01T00:00:00.000000001"},
		{prim.Binary, "00ff", `\x00\xFF`},
		{prim.Binary, "0", ""},
		{iceberg.FixedTypeOf(2), "00ff", `\x00\xFF`},
		{prim.Bool, "true", ""},
		{prim.String, true, ""},
	} {
		got, err := jsonText(c.t, c.v)
		if (err == nil) != (c.want != "") || err == nil && got != c.want {
			t.Errorf("default of %s %v: %q, %v", c.t, c.v, got, err)
		}
	}
}

// Partitions differ by kind and value, and promoted ones are the same.
func TestPartitionKeyOfEveryKind(t *testing.T) {
	dec := func(scale int) iceberg.Decimal { return iceberg.Decimal{Scale: scale} }
	seen := map[string]any{}
	for _, v := range []any{int32(1), int64(2), iceberg.Date(3), float32(1), 2.0, "1", []byte("1"), dec(1), dec(2), true, false, iceberg.Timestamp(1), iceberg.Time(1), nil} {
		k := partitionKey(1, map[int]any{1: v})
		if other, dup := seen[k]; dup {
			t.Errorf("%T %v and %T %v are one", v, v, other, other)
		}
		seen[k] = v
	}
	for _, same := range [][2]any{{int32(1), int64(1)}, {int32(1), iceberg.Date(1)}, {float32(1), 1.0}} {
		if partitionKey(1, map[int]any{1: same[0]}) != partitionKey(1, map[int]any{1: same[1]}) {
			t.Errorf("%T and %T differ", same[0], same[1])
		}
	}
	if partitionKey(1, map[int]any{1: 1, 2: 2}) == partitionKey(1, map[int]any{1: 2, 2: 1}) || partitionKey(1, nil) == partitionKey(2, nil) {
		t.Error("fields or specs are mixed up")
	}
}

// The paths of a positional delete file bound the data files that it may name.
func TestMayName(t *testing.T) {
	for _, c := range []struct {
		lower, upper, path string
		want               bool
	}{{"b", "d", "a", false}, {"b", "d", "b", true}, {"b", "d", "c", true}, {"b", "d", "d", true}, {"b", "d", "e", false}, {"", "d", "a", true}, {"b", "", "z", true}, {"", "", "x", true}} {
		d := deleteFile{}
		if c.lower != "" {
			d.lower = []byte(c.lower)
		}
		if c.upper != "" {
			d.upper = []byte(c.upper)
		}
		if d.mayName(c.path) != c.want {
			t.Errorf("%+v: %v", c, !c.want)
		}
	}
}

// What names are letters, digits and underscores for Avro, and what is no Avro file.
func TestAvroNames(t *testing.T) {
	for s, want := range map[string]bool{"a": true, "Z": true, "_": true, "z9": true, "AZ_09": true, "": false, "9": false, "a-b": false, "a b": false, "ö": false, "a@": false, "a[": false, "a`": false, "a{": false, "a/": false, "a:": false} {
		if isAvroName(s) != want {
			t.Errorf("%q: %v", s, !want)
		}
	}
	for _, s := range []string{"", "Obj", "Obj\x01", "Obj\x02\x00", strings.Repeat("x", 100)} {
		if _, err := readAvroHeader([]byte(s)); !errors.Is(err, errAvro) {
			t.Errorf("%q: %v", s, err)
		}
	}
}
