package plan

import (
	"encoding/hex"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/google/uuid"
)

// partitionText returns a value of a manifest, of Iceberg type t, as the text that DuckDB casts back to exactly that value; nil is NULL.
func partitionText(t iceberg.Type, v any) (*string, error) {
	if v == nil {
		return nil, nil
	}
	var s string
	switch v := v.(type) {
	case bool:
		s = strconv.FormatBool(v)
	case int32:
		if _, ok := t.(iceberg.DateType); ok {
			s = dateText(int64(v))
			break
		}
		s = strconv.FormatInt(int64(v), 10)
	case int64:
		s = strconv.FormatInt(v, 10)
	case float32:
		s = floatText(float64(v), 32)
	case float64:
		s = floatText(v, 64)
	case string:
		s = v
	case []byte:
		s = blobText(v)
	case uuid.UUID:
		s = v.String()
	case iceberg.Decimal:
		s = v.String()
	case iceberg.DecimalLiteral:
		s = iceberg.Decimal(v).String()
	case iceberg.Date:
		s = dateText(int64(v))
	case iceberg.Time:
		s = timeText(int64(v)*1000, 6)
	case iceberg.Timestamp:
		s = timestampText(floorDiv(int64(v), 1e6), floorMod(int64(v), 1e6)*1000, 6, isZoned(t))
	case iceberg.TimestampNano:
		s = timestampText(floorDiv(int64(v), 1e9), floorMod(int64(v), 1e9), 9, isZoned(t))
	default:
		return nil, fmt.Errorf("a value of Go type %T", v)
	}
	return &s, nil
}

func isZoned(t iceberg.Type) bool {
	switch t.(type) {
	case iceberg.TimestampTzType, iceberg.TimestampTzNsType:
		return true
	}
	return false
}

// defaultText returns a field's initial default, which metadata has in Iceberg's JSON form for single values, as DuckDB's text.
func defaultText(f iceberg.NestedField) (*string, error) {
	if f.InitialDefault == nil {
		return nil, nil
	}
	s, err := jsonText(f.Type, f.InitialDefault)
	if err != nil {
		return nil, err
	}
	return &s, nil
}

func jsonText(t iceberg.Type, v any) (string, error) {
	switch v := v.(type) {
	case bool:
		if _, ok := t.(iceberg.BooleanType); ok {
			return strconv.FormatBool(v), nil
		}
		return "", fmt.Errorf("a boolean for the type %s", t)
	case float64:
		switch t.(type) {
		case iceberg.Int32Type, iceberg.Int64Type:
			// Metadata was decoded with numbers as float64: beyond 2^53 the value may already be another one.
			if v != math.Trunc(v) || math.Abs(v) >= 1<<53 {
				return "", fmt.Errorf("an integer that is not exact")
			}
			return strconv.FormatInt(int64(v), 10), nil
		case iceberg.Float32Type:
			return floatText(v, 32), nil
		case iceberg.Float64Type:
			return floatText(v, 64), nil
		}
		return "", fmt.Errorf("a number for the type %s", t)
	case string:
		return jsonStringText(t, v)
	}
	if text, err := partitionText(t, v); err == nil && text != nil {
		return *text, nil
	}
	return "", fmt.Errorf("a %T for the type %s", v, t)
}

func jsonStringText(t iceberg.Type, v string) (string, error) {
	switch t.(type) {
	case iceberg.StringType:
		return v, nil
	case iceberg.UUIDType:
		u, err := uuid.Parse(v)
		return u.String(), err
	case iceberg.DecimalType:
		if !isDecimal(v) {
			return "", fmt.Errorf("not a decimal")
		}
		return v, nil
	case iceberg.DateType, iceberg.TimeType, iceberg.TimestampType, iceberg.TimestampNsType, iceberg.TimestampTzType:
		if strings.Trim(v, "0123456789-+:.TZ") != "" || v == "" {
			return "", fmt.Errorf("not a time")
		}
		return v, nil
	case iceberg.BinaryType, iceberg.FixedType:
		b, err := hex.DecodeString(v)
		return blobText(b), err
	}
	return "", fmt.Errorf("a string for the type %s", t)
}

func isDecimal(s string) bool {
	s = strings.TrimLeft(s, "+-")
	whole, frac, _ := strings.Cut(s, ".")
	return whole+frac != "" && strings.Trim(whole+frac, "0123456789") == ""
}

func floatText(v float64, bits int) string {
	switch {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	}
	return strconv.FormatFloat(v, 'g', -1, bits)
}

// blobText writes every byte as \xNN, the form that DuckDB's cast from VARCHAR to BLOB reads.
func blobText(b []byte) string {
	var s strings.Builder
	for _, c := range b {
		fmt.Fprintf(&s, `\x%02X`, c)
	}
	return s.String()
}

func dateText(days int64) string {
	t := time.Unix(days*86400, 0).UTC()
	return yearText(t) + eraText(t)
}

// yearText writes a date with the year as DuckDB counts: year 0 is 1 (BC).
func yearText(t time.Time) string {
	y := t.Year()
	if y <= 0 {
		y = 1 - y
	}
	return fmt.Sprintf("%04d-%02d-%02d", y, t.Month(), t.Day())
}

func eraText(t time.Time) string {
	if t.Year() <= 0 {
		return " (BC)"
	}
	return ""
}

func timeText(nanos int64, digits int) string {
	t := time.Unix(0, nanos).UTC()
	return t.Format("15:04:05") + fraction(int64(t.Nanosecond()), digits)
}

func timestampText(seconds, nanos int64, digits int, zoned bool) string {
	t := time.Unix(seconds, 0).UTC()
	s := yearText(t) + eraText(t) + " " + t.Format("15:04:05") + fraction(nanos, digits)
	if zoned {
		s += "+00"
	}
	return s
}

func fraction(nanos int64, digits int) string {
	return fmt.Sprintf(".%09d", nanos)[:digits+1]
}

func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

func floorMod(a, b int64) int64 { return a - floorDiv(a, b)*b }
