package gateway

import (
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// The values of the setting "timestamptz": how a TIMESTAMP WITH TIME ZONE arrives.
const (
	asInstant = "instant" // as an instant, Arrow's timestamp with time zone UTC
	asUTC     = "utc"     // as the wall clock in UTC, Arrow's timestamp without time zone
)

// instantsFor is the setting's initial value for a client. The Arrow Flight SQL JDBC driver cannot read an instant: its
// getObject fails with "not implemented" (apache/arrow-java issue 787), so that a table with such a column could not even be
// browsed. It gets the wall clock in UTC until the driver can.
func instantsFor(client string) string {
	if strings.HasPrefix(client, "grpc-java") {
		return asUTC
	}
	return asInstant
}

// instants reports whether the session's client gets instants.
func (s *Session) instants() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if v, ok := s.settings["timestamptz"]; ok {
		return v == asInstant
	}
	return instantsFor(s.client) == asInstant
}

// present returns the schema that the session's client gets for an executor's.
func (s *Session) present(schema *arrow.Schema) *arrow.Schema {
	if s.instants() {
		return schema
	}
	return wallClock(schema)
}

// wallClock returns schema with every top-level instant as a wall clock; the same schema if there is none.
func wallClock(schema *arrow.Schema) *arrow.Schema {
	var fields []arrow.Field
	for i, f := range schema.Fields() {
		t, ok := f.Type.(*arrow.TimestampType)
		if !ok || t.TimeZone == "" {
			continue
		}
		if fields == nil {
			fields = append(fields, schema.Fields()...)
		}
		fields[i].Type = &arrow.TimestampType{Unit: t.Unit}
	}
	if fields == nil {
		return schema
	}
	meta := schema.Metadata()
	return arrow.NewSchema(fields, &meta)
}

// retyped returns b with the types of schema, which is that of b, or its wallClock. The caller releases it, and still owns b.
func retyped(b arrow.RecordBatch, schema *arrow.Schema) arrow.RecordBatch {
	columns := make([]arrow.Array, b.NumCols())
	for i, c := range b.Columns() {
		if arrow.TypeEqual(c.DataType(), schema.Field(i).Type) {
			c.Retain()
			columns[i] = c
			continue
		}
		d := c.Data()
		same := array.NewData(schema.Field(i).Type, d.Len(), d.Buffers(), d.Children(), d.NullN(), d.Offset())
		columns[i] = array.MakeFromData(same)
		same.Release()
	}
	out := array.NewRecordBatch(schema, columns, b.NumRows())
	for _, c := range columns {
		c.Release()
	}
	return out
}
