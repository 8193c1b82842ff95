package main

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/extensions"
)

// notation is how a value looks: plain text for people and CSV, or JSON.
type notation int

const (
	plainText notation = iota
	jsonText
)

// appendValue appends row i of col to b. Text outside of JSON is SQL's: times in ISO 8601 with a space, binary as \x and
// hexadecimal digits, lists as [1, 2], structs as {a: 1}, maps as {k=v}, NULL only inside of nested values. In JSON
// numbers keep all their digits, NaN and the infinities are strings, a map with text keys is an object, and any other
// map a list of pairs.
func appendValue(b []byte, col arrow.Array, i int, n notation) []byte {
	return appendNested(b, col, i, n, false)
}

func appendNested(b []byte, col arrow.Array, i int, n notation, nested bool) []byte {
	if col.IsNull(i) {
		if n == jsonText {
			return append(b, "null"...)
		}
		return append(b, "NULL"...)
	}
	switch a := col.(type) {
	case *array.Boolean:
		return strconv.AppendBool(b, a.Value(i))
	case *array.Float16:
		return appendFloat(b, float64(a.Value(i).Float32()), 32, n)
	case *array.Float32:
		return appendFloat(b, float64(a.Value(i)), 32, n)
	case *array.Float64:
		return appendFloat(b, a.Value(i), 64, n)
	case *array.Int8, *array.Int16, *array.Int32, *array.Int64, *array.Uint8, *array.Uint16, *array.Uint32, *array.Uint64,
		*array.Decimal32, *array.Decimal64, *array.Decimal128, *array.Decimal256:
		return appendNumber(b, col, i)
	case *array.Struct, *array.Map, *array.List, *array.LargeList, *array.FixedSizeList, *array.ListView, *array.LargeListView:
		return appendContainer(b, col, i, n)
	case *array.Dictionary:
		return appendNested(b, a.Dictionary(), a.GetValueIndex(i), n, nested)
	case *array.RunEndEncoded:
		return appendNested(b, a.Values(), a.GetPhysicalIndex(i), n, nested)
	case array.Union:
		child := a.ChildID(i)
		if d, ok := a.(*array.DenseUnion); ok {
			return appendNested(b, d.Field(child), int(d.ValueOffset(i)), n, nested)
		}
		return appendNested(b, a.Field(child), i, n, nested)
	case *extensions.UUIDArray:
		return appendText(b, a.Value(i).String(), n, false)
	case array.ExtensionArray:
		return appendNested(b, a.Storage(), i, n, nested)
	}
	text, isText := scalarText(col, i)
	return appendText(b, text, n, nested && isText)
}

// appendText appends s as a JSON string, or as it is, or in double quotes if it stands inside of a nested value.
func appendText(b []byte, s string, n notation, quoted bool) []byte {
	if n == jsonText || quoted {
		return appendJSONString(b, s)
	}
	return append(b, s...)
}

func appendFloat(b []byte, f float64, bits int, n notation) []byte {
	var special string
	switch {
	case math.IsNaN(f):
		special = "NaN"
	case math.IsInf(f, 1):
		special = "Infinity"
	case math.IsInf(f, -1):
		special = "-Infinity"
	default:
		format := byte('f')
		if abs := math.Abs(f); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
			format = 'e'
		}
		return strconv.AppendFloat(b, f, format, -1, bits)
	}
	return appendText(b, special, n, false)
}

// appendNumber appends an exact number; both notations write it the same way.
func appendNumber(b []byte, col arrow.Array, i int) []byte {
	switch a := col.(type) {
	case *array.Int8:
		return strconv.AppendInt(b, int64(a.Value(i)), 10)
	case *array.Int16:
		return strconv.AppendInt(b, int64(a.Value(i)), 10)
	case *array.Int32:
		return strconv.AppendInt(b, int64(a.Value(i)), 10)
	case *array.Int64:
		return strconv.AppendInt(b, a.Value(i), 10)
	case *array.Uint8:
		return strconv.AppendUint(b, uint64(a.Value(i)), 10)
	case *array.Uint16:
		return strconv.AppendUint(b, uint64(a.Value(i)), 10)
	case *array.Uint32:
		return strconv.AppendUint(b, uint64(a.Value(i)), 10)
	case *array.Uint64:
		return strconv.AppendUint(b, a.Value(i), 10)
	case *array.Decimal32:
		return append(b, a.Value(i).ToString(a.DataType().(*arrow.Decimal32Type).Scale)...)
	case *array.Decimal64:
		return append(b, a.Value(i).ToString(a.DataType().(*arrow.Decimal64Type).Scale)...)
	case *array.Decimal128:
		return append(b, a.Value(i).ToString(a.DataType().(*arrow.Decimal128Type).Scale)...)
	case *array.Decimal256:
		return append(b, a.Value(i).ToString(a.DataType().(*arrow.Decimal256Type).Scale)...)
	}
	return b
}

func appendContainer(b []byte, col arrow.Array, i int, n notation) []byte {
	comma := ", "
	if n == jsonText {
		comma = ","
	}
	switch a := col.(type) {
	case *array.Struct:
		b = append(b, '{')
		for f := range a.NumField() {
			if f > 0 {
				b = append(b, comma...)
			}
			name := a.DataType().(*arrow.StructType).Field(f).Name
			if n == jsonText {
				b = append(appendJSONString(b, name), ':')
			} else {
				b = append(append(b, name...), ": "...)
			}
			b = appendNested(b, a.Field(f), i, n, true)
		}
		return append(b, '}')
	case *array.Map:
		return appendMap(b, a, i, n)
	case array.ListLike:
		start, end := a.ValueOffsets(i)
		b = append(b, '[')
		for j := start; j < end; j++ {
			if j > start {
				b = append(b, comma...)
			}
			b = appendNested(b, a.ListValues(), int(j), n, true)
		}
		return append(b, ']')
	}
	return b
}

func appendMap(b []byte, m *array.Map, i int, n notation) []byte {
	keys, items := m.Keys(), m.Items()
	start, end := m.ValueOffsets(i)
	object := keys.DataType().ID() == arrow.STRING || keys.DataType().ID() == arrow.LARGE_STRING
	open, between, comma, shut := "{", "=", ", ", "}"
	switch {
	case n == jsonText && object:
		open, between, comma, shut = "{", ":", ",", "}"
	case n == jsonText:
		open, between, comma, shut = "[[", ",", "],[", "]]"
		if start == end {
			return append(b, "[]"...)
		}
	}
	b = append(b, open...)
	for j := start; j < end; j++ {
		if j > start {
			b = append(b, comma...)
		}
		b = appendNested(b, keys, int(j), n, true)
		b = append(b, between...)
		b = appendNested(b, items, int(j), n, true)
	}
	return append(b, shut...)
}

// scalarText returns a value that is a string in JSON, and whether it is text or binary in SQL.
func scalarText(col arrow.Array, i int) (s string, isText bool) {
	switch a := col.(type) {
	case *array.String:
		return a.Value(i), true
	case *array.LargeString:
		return a.Value(i), true
	case *array.StringView:
		return a.Value(i), true
	case *array.Binary:
		return `\x` + hex.EncodeToString(a.Value(i)), false
	case *array.LargeBinary:
		return `\x` + hex.EncodeToString(a.Value(i)), false
	case *array.BinaryView:
		return `\x` + hex.EncodeToString(a.Value(i)), false
	case *array.FixedSizeBinary:
		return `\x` + hex.EncodeToString(a.Value(i)), false
	case *array.Date32:
		return isoDate(a.Value(i).ToTime()), false
	case *array.Date64:
		return isoDate(a.Value(i).ToTime()), false
	case *array.Time32:
		unit := a.DataType().(*arrow.Time32Type).Unit
		return clock(int64(a.Value(i)), unit), false
	case *array.Time64:
		unit := a.DataType().(*arrow.Time64Type).Unit
		return clock(int64(a.Value(i)), unit), false
	case *array.Timestamp:
		return timestampText(a, i), false
	case *array.MonthInterval:
		return intervalText(int64(a.Value(i)), 0, 0), false
	case *array.DayTimeInterval:
		v := a.Value(i)
		return intervalText(0, int64(v.Days), int64(v.Milliseconds)*1e6), false
	case *array.MonthDayNanoInterval:
		v := a.Value(i)
		return intervalText(int64(v.Months), int64(v.Days), v.Nanoseconds), false
	case *array.Duration:
		v := int64(a.Value(i))
		perSecond := int64(time.Second / a.DataType().(*arrow.DurationType).Unit.Multiplier())
		return strconv.FormatInt(v/perSecond, 10) + fraction(v%perSecond, perSecond) + " s", false
	}
	return col.ValueStr(i), true
}

func isoDate(t time.Time) string {
	if y := t.Year(); y <= 0 { // ISO 8601's year 0 is 1 BC for everybody else
		return fmt.Sprintf("%04d-%02d-%02d (BC)", 1-y, t.Month(), t.Day())
	}
	return t.Format(time.DateOnly)
}

// clock prints the time of day that is v units after midnight.
func clock(v int64, unit arrow.TimeUnit) string {
	perSecond := int64(time.Second / unit.Multiplier())
	s := v / perSecond
	two := func(n int64) string { return string([]byte{byte('0' + n/10), byte('0' + n%10)}) }
	return two(s/3600) + ":" + two(s/60%60) + ":" + two(s%60) + fraction(v%perSecond, perSecond)
}

// fraction prints part/whole of a second with a point in front and without zeros at the end.
func fraction(part, whole int64) string {
	if part == 0 {
		return ""
	}
	if part < 0 {
		part = -part
	}
	digits := len(strconv.FormatInt(whole, 10)) - 1
	s := strconv.FormatInt(part, 10)
	return "." + strings.TrimRight(strings.Repeat("0", max(0, digits-len(s)))+s, "0")
}

// timestampText prints a timestamp without zone as it is, and one with a zone in that zone with its offset.
func timestampText(a *array.Timestamp, i int) string {
	typ := a.DataType().(*arrow.TimestampType)
	v := int64(a.Value(i))
	perSecond := int64(time.Second / typ.Unit.Multiplier())
	second, part := v/perSecond, v%perSecond
	if part < 0 {
		second, part = second-1, part+perSecond
	}
	t, offset := time.Unix(second, 0).UTC(), ""
	if typ.TimeZone != "" {
		if zone, err := typ.GetZone(); err == nil {
			t = t.In(zone)
		}
		offset = t.Format("-07:00")
	}
	date, era := isoDate(t), ""
	if d, ok := strings.CutSuffix(date, " (BC)"); ok {
		date, era = d, " (BC)"
	}
	return date + " " + t.Format(time.TimeOnly) + fraction(part, perSecond) + offset + era
}

func intervalText(months, days, nanos int64) string {
	var parts []string
	add := func(n int64, unit string) {
		if n == 1 || n == -1 {
			parts = append(parts, strconv.FormatInt(n, 10)+" "+unit)
		} else if n != 0 {
			parts = append(parts, strconv.FormatInt(n, 10)+" "+unit+"s")
		}
	}
	add(months/12, "year")
	add(months%12, "month")
	add(days, "day")
	if nanos != 0 || len(parts) == 0 {
		sign := ""
		if nanos < 0 {
			sign, nanos = "-", -nanos
		}
		hours := nanos / int64(time.Hour)
		pad := ""
		if hours < 10 {
			pad = "0"
		}
		rest := clock(nanos%int64(time.Hour), arrow.Nanosecond)
		parts = append(parts, sign+pad+strconv.FormatInt(hours, 10)+rest[2:])
	}
	return strings.Join(parts, " ")
}

// appendJSONString appends s in double quotes. Bytes that are no UTF-8 become U+FFFD, and what HTML or a terminal would
// take as a command is escaped.
func appendJSONString(b []byte, s string) []byte {
	const hexDigits = "0123456789abcdef"
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, '\\', 'n')
		case r == '\r':
			b = append(b, '\\', 'r')
		case r == '\t':
			b = append(b, '\\', 't')
		case isControl(r):
			b = append(b, '\\', 'u', hexDigits[r>>12&15], hexDigits[r>>8&15], hexDigits[r>>4&15], hexDigits[r&15])
		default:
			b = append(b, string(r)...)
		}
	}
	return append(b, '"')
}

// isControl reports whether r can move a terminal's cursor, change its state, or reorder what is around it.
func isControl(r rune) bool {
	return r < 0x20 || r >= 0x7f && r < 0xa0 || r == 0x2028 || r == 0x2029 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 ||
		r == 0x200e || r == 0x200f || r == 0x061c
}
