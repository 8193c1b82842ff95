package flight

import (
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
)

// sqlType returns the Arrow type that a query returns for a column of a DuckDB type, which is named as catalogs name it:
// "BIGINT", "DECIMAL(12,2)", "STRUCT("a" INTEGER)[]". A name that is not understood gives arrow.Null.
func sqlType(name string) arrow.DataType {
	p := &typeParser{in: name}
	t, ok := p.parse(0)
	if p.space(); !ok || p.in != "" {
		return arrow.Null
	}
	return t
}

// maxTypeDepth bounds recursion.
const maxTypeDepth = 64

var simpleTypes = map[string]arrow.DataType{
	"BOOLEAN": arrow.FixedWidthTypes.Boolean,
	"TINYINT": arrow.PrimitiveTypes.Int8, "SMALLINT": arrow.PrimitiveTypes.Int16,
	"INTEGER": arrow.PrimitiveTypes.Int32, "BIGINT": arrow.PrimitiveTypes.Int64,
	"UTINYINT": arrow.PrimitiveTypes.Uint8, "USMALLINT": arrow.PrimitiveTypes.Uint16,
	"UINTEGER": arrow.PrimitiveTypes.Uint32, "UBIGINT": arrow.PrimitiveTypes.Uint64,
	"HUGEINT": &arrow.Decimal128Type{Precision: 38},
	"FLOAT":   arrow.PrimitiveTypes.Float32, "DOUBLE": arrow.PrimitiveTypes.Float64,
	"VARCHAR": arrow.BinaryTypes.String, "UUID": arrow.BinaryTypes.String, "BLOB": arrow.BinaryTypes.Binary,
	"DATE": arrow.FixedWidthTypes.Date32, "TIME": arrow.FixedWidthTypes.Time64us,
	"TIMESTAMP":                &arrow.TimestampType{Unit: arrow.Microsecond},
	"TIMESTAMP_S":              &arrow.TimestampType{Unit: arrow.Second},
	"TIMESTAMP_MS":             &arrow.TimestampType{Unit: arrow.Millisecond},
	"TIMESTAMP_NS":             &arrow.TimestampType{Unit: arrow.Nanosecond},
	"TIMESTAMP WITH TIME ZONE": &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"},
	"INTERVAL":                 arrow.FixedWidthTypes.MonthDayNanoInterval,
}

// typeParser reads a type's name from the front of in.
type typeParser struct{ in string }

func (p *typeParser) space() { p.in = strings.TrimLeft(p.in, " ") }

func (p *typeParser) eat(s string) bool {
	p.space()
	rest, ok := strings.CutPrefix(p.in, s)
	if ok {
		p.in = rest
	}
	return ok
}

func (p *typeParser) parse(depth int) (arrow.DataType, bool) {
	if depth > maxTypeDepth {
		return nil, false
	}
	t, ok := p.base(depth)
	for ok && p.eat("[") {
		n := p.number()
		if ok = n != 0 && p.eat("]"); !ok {
			return nil, false
		}
		if n < 0 {
			t = arrow.ListOf(t)
		} else {
			t = arrow.FixedSizeListOf(int32(n), t)
		}
	}
	return t, ok
}

func (p *typeParser) base(depth int) (arrow.DataType, bool) {
	p.space()
	word := p.word()
	switch word {
	case "DECIMAL":
		return p.decimal()
	case "STRUCT":
		return p.structure(depth)
	case "MAP":
		if !p.eat("(") {
			return nil, false
		}
		key, ok := p.parse(depth + 1)
		if !ok || !p.eat(",") {
			return nil, false
		}
		value, ok := p.parse(depth + 1)
		if !ok || !p.eat(")") {
			return nil, false
		}
		return arrow.MapOf(key, value), true
	case "TIMESTAMP":
		if p.eat("WITH TIME ZONE") {
			word = "TIMESTAMP WITH TIME ZONE"
		}
	}
	t, ok := simpleTypes[word]
	return t, ok
}

func (p *typeParser) decimal() (arrow.DataType, bool) {
	if !p.eat("(") {
		return nil, false
	}
	precision := p.number()
	if !p.eat(",") {
		return nil, false
	}
	scale := p.number()
	if !p.eat(")") || precision < 1 || precision > 38 || scale < 0 || scale > precision {
		return nil, false
	}
	return &arrow.Decimal128Type{Precision: int32(precision), Scale: int32(scale)}, true
}

func (p *typeParser) structure(depth int) (arrow.DataType, bool) {
	if !p.eat("(") {
		return nil, false
	}
	var fields []arrow.Field
	for {
		name, ok := p.name()
		if !ok {
			return nil, false
		}
		t, ok := p.parse(depth + 1)
		if !ok {
			return nil, false
		}
		fields = append(fields, arrow.Field{Name: name, Type: t, Nullable: true})
		if p.eat(")") {
			return arrow.StructOf(fields...), true
		}
		if !p.eat(",") {
			return nil, false
		}
	}
}

// name reads an identifier, quoted or not.
func (p *typeParser) name() (string, bool) {
	if !p.eat(`"`) {
		w := p.word()
		return w, w != ""
	}
	var out strings.Builder
	for i := 0; i < len(p.in); i++ {
		if p.in[i] != '"' {
			out.WriteByte(p.in[i])
			continue
		}
		if i+1 < len(p.in) && p.in[i+1] == '"' {
			out.WriteByte('"')
			i++
			continue
		}
		p.in = p.in[i+1:]
		return out.String(), true
	}
	return "", false
}

func (p *typeParser) word() string {
	end := 0
	for end < len(p.in) && (p.in[end] == '_' || p.in[end] >= 'A' && p.in[end] <= 'Z' || p.in[end] >= 'a' && p.in[end] <= 'z' || p.in[end] >= '0' && p.in[end] <= '9') {
		end++
	}
	w := p.in[:end]
	p.in = p.in[end:]
	return w
}

// number reads digits; -1 if there are none.
func (p *typeParser) number() int {
	p.space()
	end := 0
	for end < len(p.in) && p.in[end] >= '0' && p.in[end] <= '9' {
		end++
	}
	n, err := strconv.ParseUint(p.in[:end], 10, 31)
	if err != nil {
		return -1
	}
	p.in = p.in[end:]
	return int(n)
}
