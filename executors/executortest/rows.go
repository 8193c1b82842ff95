package executortest

import (
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

type ed25519Key = ed25519.PublicKey

// Row is one row, its values in the encoding of the test tables' expected rows (see MANIFEST.md there), as JSON.
type Row []string

func readAll(r array.RecordReader) ([]Row, error) {
	var out []Row
	for r.Next() {
		b := r.RecordBatch()
		for i := range int(b.NumRows()) {
			row := make(Row, b.NumCols())
			for j, c := range b.Columns() {
				row[j] = value(c, i)
			}
			out = append(out, row)
		}
	}
	return out, r.Err()
}

// value is one value as JSON.
func value(a arrow.Array, i int) string {
	if a.IsNull(i) {
		return "null"
	}
	switch a := a.(type) {
	case *array.Float32:
		return number(float64(a.Value(i)), 32)
	case *array.Float64:
		return number(a.Value(i), 64)
	case *array.Decimal128:
		return quote(a.Value(i).ToString(a.DataType().(*arrow.Decimal128Type).Scale))
	case *array.String:
		return quote(a.Value(i))
	case *array.Binary:
		return quote(hex.EncodeToString(a.Value(i)))
	case *array.Date32:
		return quote(date(time.Unix(int64(a.Value(i))*86400, 0).UTC()))
	case *array.Time64:
		return quote(time.UnixMicro(int64(a.Value(i))).UTC().Format("15:04:05.000000"))
	case *array.Timestamp:
		return quote(timestamp(int64(a.Value(i)), a.DataType().(*arrow.TimestampType)))
	case *array.Map:
		return mapValue(a, i)
	case *array.List:
		from, to := a.ValueOffsets(i)
		var parts []string
		for j := from; j < to; j++ {
			parts = append(parts, value(a.ListValues(), int(j)))
		}
		return "[" + strings.Join(parts, ",") + "]"
	case *array.Struct:
		var parts []string
		for j, f := range a.DataType().(*arrow.StructType).Fields() {
			parts = append(parts, quote(f.Name)+":"+value(a.Field(j), i))
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	return a.ValueStr(i)
}

func mapValue(a *array.Map, i int) string {
	from, to := a.ValueOffsets(i)
	var parts []string
	for j := from; j < to; j++ {
		parts = append(parts, "["+value(a.Keys(), int(j))+","+value(a.Items(), int(j))+"]")
	}
	slices.Sort(parts)
	return "[" + strings.Join(parts, ",") + "]"
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func number(f float64, bits int) string {
	switch {
	case math.IsNaN(f):
		return `"NaN"`
	case math.IsInf(f, 1):
		return `"Infinity"`
	case math.IsInf(f, -1):
		return `"-Infinity"`
	}
	return strconv.FormatFloat(f, 'g', -1, bits)
}

func date(t time.Time) string {
	sign, year := "", t.Year()
	if year < 0 {
		sign, year = "-", -year
	} else if year > 9999 {
		sign = "+"
	}
	return fmt.Sprintf("%s%04d-%02d-%02d", sign, year, t.Month(), t.Day())
}

func timestamp(v int64, typ *arrow.TimestampType) string {
	t := arrow.Timestamp(v).ToTime(typ.Unit).UTC()
	layout := "T15:04:05.000000"
	if typ.Unit == arrow.Nanosecond {
		layout = "T15:04:05.000000000"
	}
	if typ.TimeZone != "" {
		layout += "Z"
	}
	return date(t) + t.Format(layout)
}

// canonical rewrites a JSON value so that equal values have equal text.
func canonical(raw string, bits int) string {
	d := json.NewDecoder(strings.NewReader(raw))
	d.UseNumber()
	return canonicalTokens(d, bits)
}

func canonicalTokens(d *json.Decoder, bits int) string {
	token, err := d.Token()
	if err != nil {
		return "?" + err.Error()
	}
	switch v := token.(type) {
	case json.Delim:
		var parts []string
		for d.More() {
			part := canonicalTokens(d, bits)
			if v == '{' {
				part += ":" + canonicalTokens(d, bits)
			}
			parts = append(parts, part)
		}
		end, _ := d.Token()
		return v.String() + strings.Join(parts, ",") + fmt.Sprint(end)
	case json.Number:
		if !strings.ContainsAny(v.String(), ".eE") && v.String() != "-0" {
			return v.String()
		}
		f, err := v.Float64()
		if err != nil {
			return v.String()
		}
		if f == math.Trunc(f) && math.Abs(f) < 1<<53 && !(f == 0 && math.Signbit(f)) {
			return strconv.FormatFloat(f, 'f', -1, 64)
		}
		return strconv.FormatFloat(f, 'g', -1, bits)
	case string:
		return quote(v)
	case nil:
		return "null"
	}
	return fmt.Sprint(token)
}
