package flight

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql/schema_ref"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/protobuf/proto"
)

// xdbcType is one row of GetXdbcTypeInfo. Zero strings and negative numbers are NULL.
type xdbcType struct {
	name     string
	kind     pb.XdbcDataType // data_type: the code that ODBC and JDBC know
	sql      pb.XdbcDataType // sql_data_type: the verbose code, which is the same but for times
	sub      int32           // datetime_subcode
	size     int32           // column_size
	quote    string          // of literals: prefix and suffix
	prefix   string          // before the quote
	create   []string        // create_params
	unsigned int32           // 1, 0, or negative: not a number
	fixed    bool            // fixed_prec_scale
	scale    [2]int32        // minimum and maximum
	radix    int32
	text     bool // case_sensitive, and searchable with LIKE
}

// none marks a number that is not there.
const none = -1

// xdbcTypes are the types of results, ordered by data_type and then by how well they fit it, as ODBC wants it.
var xdbcTypes = []xdbcType{
	{name: "BOOLEAN", kind: pb.XdbcDataType_XDBC_BIT, sub: none, size: 1, unsigned: none, scale: [2]int32{none, none}, radix: none},
	{name: "TINYINT", kind: pb.XdbcDataType_XDBC_TINYINT, sub: none, size: 3, unsigned: 0, scale: [2]int32{0, 0}, radix: 10},
	{name: "UTINYINT", kind: pb.XdbcDataType_XDBC_TINYINT, sub: none, size: 3, unsigned: 1, scale: [2]int32{0, 0}, radix: 10},
	{name: "BIGINT", kind: pb.XdbcDataType_XDBC_BIGINT, sub: none, size: 19, unsigned: 0, scale: [2]int32{0, 0}, radix: 10},
	{name: "UBIGINT", kind: pb.XdbcDataType_XDBC_BIGINT, sub: none, size: 20, unsigned: 1, scale: [2]int32{0, 0}, radix: 10},
	{name: "BLOB", kind: pb.XdbcDataType_XDBC_VARBINARY, sub: none, size: 2147483647, quote: "'", unsigned: none, scale: [2]int32{none, none}, radix: none},
	{name: "DECIMAL", kind: pb.XdbcDataType_XDBC_DECIMAL, sub: none, size: 38, create: []string{"precision", "scale"}, unsigned: 0, scale: [2]int32{0, 38}, radix: 10},
	{name: "HUGEINT", kind: pb.XdbcDataType_XDBC_DECIMAL, sub: none, size: 38, unsigned: 0, scale: [2]int32{0, 0}, radix: 10},
	{name: "INTEGER", kind: pb.XdbcDataType_XDBC_INTEGER, sub: none, size: 10, unsigned: 0, scale: [2]int32{0, 0}, radix: 10},
	{name: "UINTEGER", kind: pb.XdbcDataType_XDBC_INTEGER, sub: none, size: 10, unsigned: 1, scale: [2]int32{0, 0}, radix: 10},
	{name: "SMALLINT", kind: pb.XdbcDataType_XDBC_SMALLINT, sub: none, size: 5, unsigned: 0, scale: [2]int32{0, 0}, radix: 10},
	{name: "USMALLINT", kind: pb.XdbcDataType_XDBC_SMALLINT, sub: none, size: 5, unsigned: 1, scale: [2]int32{0, 0}, radix: 10},
	{name: "FLOAT", kind: pb.XdbcDataType_XDBC_REAL, sub: none, size: 24, unsigned: 0, scale: [2]int32{none, none}, radix: 2},
	{name: "DOUBLE", kind: pb.XdbcDataType_XDBC_DOUBLE, sub: none, size: 53, unsigned: 0, scale: [2]int32{none, none}, radix: 2},
	{name: "INTERVAL", kind: pb.XdbcDataType_XDBC_INTERVAL, sub: none, size: 64, quote: "'", prefix: "INTERVAL ", unsigned: none, scale: [2]int32{none, none}, radix: none},
	{name: "VARCHAR", kind: pb.XdbcDataType_XDBC_VARCHAR, sub: none, size: 2147483647, quote: "'", unsigned: none, scale: [2]int32{none, none}, radix: none, text: true},
	{name: "UUID", kind: pb.XdbcDataType_XDBC_VARCHAR, sub: none, size: 36, quote: "'", unsigned: none, scale: [2]int32{none, none}, radix: none},
	{name: "DATE", kind: pb.XdbcDataType_XDBC_DATE, sql: pb.XdbcDataType_XDBC_DATETIME, sub: 1, size: 10, quote: "'", prefix: "DATE ", unsigned: none, scale: [2]int32{none, none}, radix: none},
	{name: "TIME", kind: pb.XdbcDataType_XDBC_TIME, sql: pb.XdbcDataType_XDBC_DATETIME, sub: 2, size: 15, quote: "'", prefix: "TIME ", unsigned: none, scale: [2]int32{0, 6}, radix: none},
	{name: "TIMESTAMP", kind: pb.XdbcDataType_XDBC_TIMESTAMP, sql: pb.XdbcDataType_XDBC_DATETIME, sub: 3, size: 26, quote: "'", prefix: "TIMESTAMP ", unsigned: none, scale: [2]int32{0, 6}, radix: none},
	{name: "TIMESTAMP_NS", kind: pb.XdbcDataType_XDBC_TIMESTAMP, sql: pb.XdbcDataType_XDBC_DATETIME, sub: 3, size: 29, quote: "'", prefix: "TIMESTAMP_NS ", unsigned: none, scale: [2]int32{9, 9}, radix: none},
	{name: "TIMESTAMP WITH TIME ZONE", kind: pb.XdbcDataType_XDBC_TIMESTAMP, sql: pb.XdbcDataType_XDBC_DATETIME, sub: 3, size: 32, quote: "'", prefix: "TIMESTAMPTZ ", unsigned: none, scale: [2]int32{0, 6}, radix: none},
}

func infoXdbc(*Server, context.Context, *login, proto.Message, bool) (described, error) {
	return described{schema: schema_ref.XdbcTypeInfo}, nil
}

// getXdbc describes the types of results, or those of one code.
func (s *Server) getXdbc(_ context.Context, _ *login, m proto.Message) (array.RecordReader, error) {
	only := m.(*pb.CommandGetXdbcTypeInfo).DataType
	return s.answer(schema_ref.XdbcTypeInfo, func(b *array.RecordBuilder) {
		for _, t := range xdbcTypes {
			if only == nil || *only == int32(t.kind) {
				appendXdbc(b, t)
			}
		}
	})
}

// The codes of NULLABLE and SEARCHABLE in ODBC.
const (
	nullable         = int32(pb.Nullable_NULLABILITY_NULLABLE)
	searchableBasic  = int32(pb.Searchable_SEARCHABLE_BASIC)
	searchableInFull = int32(pb.Searchable_SEARCHABLE_FULL)
)

func appendXdbc(b *array.RecordBuilder, t xdbcType) {
	str := func(i int, v string) { b.Field(i).(*array.StringBuilder).Append(v) }
	num := func(i int, v int32) {
		if v < 0 {
			b.Field(i).AppendNull()
			return
		}
		b.Field(i).(*array.Int32Builder).Append(v)
	}
	code := func(i int, v int32) { b.Field(i).(*array.Int32Builder).Append(v) }
	flag := func(i int, v bool) { b.Field(i).(*array.BooleanBuilder).Append(v) }

	str(0, t.name)
	code(1, int32(t.kind))
	num(2, t.size)
	if t.quote != "" {
		str(3, t.prefix+t.quote)
		str(4, t.quote)
	} else {
		b.Field(3).AppendNull()
		b.Field(4).AppendNull()
	}
	if create := b.Field(5).(*array.ListBuilder); t.create == nil {
		create.AppendNull()
	} else {
		create.Append(true)
		create.ValueBuilder().(*array.StringBuilder).AppendValues(t.create, nil)
	}
	code(6, nullable)
	flag(7, t.text)
	if t.text {
		code(8, searchableInFull)
	} else {
		code(8, searchableBasic)
	}
	if t.unsigned < 0 {
		b.Field(9).AppendNull()
	} else {
		flag(9, t.unsigned == 1)
	}
	flag(10, t.fixed)
	if t.unsigned < 0 {
		b.Field(11).AppendNull()
	} else {
		flag(11, false)
	}
	str(12, t.name)
	num(13, t.scale[0])
	num(14, t.scale[1])
	if t.sql == 0 {
		code(15, int32(t.kind))
	} else {
		code(15, int32(t.sql))
	}
	num(16, t.sub)
	num(17, t.radix)
	b.Field(18).AppendNull()
}
