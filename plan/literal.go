package plan

import (
	"cmp"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/iceberg-go"
	pgquery "github.com/pganalyze/pg_query_go/v6"
)

// value is a value of a column's own type: integers, days and microseconds in n, decimals as unscaled number in d.
type value struct {
	n int64
	s string
	d *big.Int
}

// compare orders two values of one type. Text is ordered by its bytes, as DuckDB and Iceberg do.
func (v value) compare(o value) int {
	if v.d != nil && o.d != nil {
		return v.d.Cmp(o.d)
	}
	return cmp.Or(cmp.Compare(v.n, o.n), strings.Compare(v.s, o.s))
}

// valueOf takes a partition value or a bound of a column of type t.
func valueOf(t iceberg.Type, v any) (value, bool) {
	_, isDecimal := t.(iceberg.DecimalType)
	_, isText := t.(iceberg.StringType)
	switch v := v.(type) {
	case iceberg.Decimal:
		d := t.(iceberg.DecimalType)
		return value{d: v.Val.BigInt()}, isDecimal && v.Scale == d.Scale()
	case string:
		return value{s: v}, isText
	case int32:
		return value{n: int64(v)}, !isDecimal && !isText
	case int64:
		return value{n: v}, !isDecimal && !isText
	case iceberg.Date:
		return value{n: int64(v)}, !isDecimal && !isText
	case iceberg.Timestamp:
		return value{n: int64(v)}, !isDecimal && !isText
	}
	return value{}, false
}

// literal returns v as iceberg-go's literal of type t, for its partition transforms.
func (v value) literal(t iceberg.Type) iceberg.Literal {
	switch t := t.(type) {
	case iceberg.Int32Type:
		return iceberg.NewLiteral(int32(v.n))
	case iceberg.Int64Type:
		return iceberg.NewLiteral(v.n)
	case iceberg.DateType:
		return iceberg.NewLiteral(iceberg.Date(v.n))
	case iceberg.TimestampType, iceberg.TimestampTzType:
		return iceberg.NewLiteral(iceberg.Timestamp(v.n))
	case iceberg.StringType:
		return iceberg.NewLiteral(v.s)
	case iceberg.DecimalType:
		return iceberg.NewLiteral(iceberg.Decimal{Val: decimal128.FromBigInt(v.d), Scale: t.Scale()})
	}
	return nil
}

// literalValue converts a constant to exactly the value of type t that DuckDB would compare a column of that type with. It refuses whatever
// would need rounding, a session's settings or a cast of the column.
func literalValue(t iceberg.Type, n *pgquery.Node) (value, bool) {
	text, kind, ok := constant(n)
	if !ok {
		return value{}, false
	}
	switch t := t.(type) {
	case iceberg.Int32Type:
		v, err := strconv.ParseInt(text, 10, 32)
		return value{n: v}, err == nil && kind == number
	case iceberg.Int64Type:
		v, err := strconv.ParseInt(text, 10, 64)
		return value{n: v}, err == nil && kind == number
	case iceberg.DecimalType:
		if kind != number {
			return value{}, false
		}
		return decimalValue(t, text)
	case iceberg.StringType:
		return value{s: text}, kind == quoted || kind == varchar
	case iceberg.DateType:
		v, ok := days(text)
		return value{n: v}, ok && (kind == quoted || kind == date)
	case iceberg.TimestampType:
		switch kind {
		case quoted, timestamp:
			return micros(text, false)
		case date:
			v, ok := days(text)
			return value{n: v * 86400e6}, ok
		}
	case iceberg.TimestampTzType:
		if kind == quoted || kind == timestampTZ {
			return micros(text, true)
		}
	}
	return value{}, false
}

// constantKind is how a constant is written.
type constantKind int

const (
	number constantKind = iota
	quoted              // 'text' of no certain type: it takes the column's
	varchar
	date
	timestamp
	timestampTZ
)

var castKinds = map[string]constantKind{
	"date": date, "timestamp": timestamp, "timestamptz": timestampTZ, "varchar": varchar, "text": varchar,
}

// constant returns the text of a literal, with its sign, which the grammar makes part of a number, and how it is written.
func constant(n *pgquery.Node) (string, constantKind, bool) {
	switch x := n.GetNode().(type) {
	case *pgquery.Node_AConst:
		switch v := x.AConst.Val.(type) {
		case *pgquery.A_Const_Ival:
			return strconv.FormatInt(int64(v.Ival.Ival), 10), number, true
		case *pgquery.A_Const_Fval:
			return v.Fval.Fval, number, true
		case *pgquery.A_Const_Sval:
			return v.Sval.Sval, quoted, true
		}
	case *pgquery.Node_TypeCast:
		name := x.TypeCast.TypeName
		if name == nil || len(name.Names) == 0 || len(name.Typmods) > 0 || len(name.ArrayBounds) > 0 {
			return "", 0, false
		}
		to, known := castKinds[name.Names[len(name.Names)-1].GetString_().GetSval()]
		text, kind, ok := constant(x.TypeCast.Arg)
		return text, to, known && ok && kind == quoted
	}
	return "", 0, false
}

// decimalValue refuses a literal that has more digits after the point than the column, or too many before it: DuckDB would
// compare in a wider type.
func decimalValue(t iceberg.DecimalType, text string) (value, bool) {
	sign := ""
	digits, negative := strings.CutPrefix(text, "-")
	if negative {
		sign = "-"
	}
	whole, frac, _ := strings.Cut(digits, ".")
	if whole+frac == "" || strings.Trim(whole+frac, "0123456789") != "" || len(frac) > t.Scale() {
		return value{}, false
	}
	whole = strings.TrimLeft(whole, "0")
	if len(whole) > t.Precision()-t.Scale() {
		return value{}, false
	}
	n, ok := new(big.Int).SetString(sign+"0"+whole+frac+strings.Repeat("0", t.Scale()-len(frac)), 10)
	return value{d: n}, ok
}

// days accepts YYYY-MM-DD only.
func days(text string) (int64, bool) {
	t, err := time.Parse(time.DateOnly, text)
	return floorDiv(t.Unix(), 86400), err == nil
}

// micros accepts YYYY-MM-DD hh:mm:ss, with a T for the space, with up to six digits of a second; zoned demands Z or +00 after
// that, since without it the session's time zone would count.
func micros(text string, zoned bool) (value, bool) {
	body := text
	if zoned {
		cut := false
		for _, suffix := range []string{"Z", "+00:00", "+00"} {
			if b, ok := strings.CutSuffix(text, suffix); ok {
				body, cut = b, true
				break
			}
		}
		if !cut {
			return value{}, false
		}
	}
	if _, frac, ok := strings.Cut(body, "."); ok && len(frac) > 6 {
		return value{}, false
	}
	for _, layout := range []string{"2006-01-02 15:04:05", "2006-01-02T15:04:05"} {
		if t, err := time.Parse(layout, body); err == nil {
			return value{n: t.UnixMicro()}, true // a year has four digits
		}
	}
	return value{}, false
}
