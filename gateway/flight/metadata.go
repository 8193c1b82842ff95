package flight

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql/schema_ref"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"gatehouse/gateway"
)

// The descriptions of the metadata commands; the command itself is the ticket, and is carried out by DoGet.

func infoCatalogs(*Server, context.Context, *login, proto.Message, bool) (described, error) {
	return described{schema: schema_ref.Catalogs}, nil
}

func infoSchemas(*Server, context.Context, *login, proto.Message, bool) (described, error) {
	return described{schema: schema_ref.DBSchemas}, nil
}

func infoTables(_ *Server, _ context.Context, _ *login, m proto.Message, _ bool) (described, error) {
	if m.(*pb.CommandGetTables).GetIncludeSchema() {
		return described{schema: schema_ref.TablesWithIncludedSchema}, nil
	}
	return described{schema: schema_ref.Tables}, nil
}

func infoTableTypes(*Server, context.Context, *login, proto.Message, bool) (described, error) {
	return described{schema: schema_ref.TableTypes}, nil
}

func infoKeys(_ *Server, _ context.Context, _ *login, m proto.Message, _ bool) (described, error) {
	schema, err := keySchema(m)
	return described{schema: schema}, err
}

// keySchema checks the arguments of the four commands about keys. The tables need not exist: the answer is empty for
// every name, so it is the same for a hidden table, an absent one, and one that is there.
func keySchema(m proto.Message) (*arrow.Schema, error) {
	named := func(table string, schema *arrow.Schema) (*arrow.Schema, error) {
		if table == "" {
			return nil, &callError{codes.InvalidArgument, "the command names no table"}
		}
		return schema, nil
	}
	switch m := m.(type) {
	case *pb.CommandGetPrimaryKeys:
		return named(m.GetTable(), schema_ref.PrimaryKeys)
	case *pb.CommandGetExportedKeys:
		return named(m.GetTable(), schema_ref.ExportedKeys)
	case *pb.CommandGetImportedKeys:
		return named(m.GetTable(), schema_ref.ImportedKeys)
	case *pb.CommandGetCrossReference:
		if m.GetFkTable() == "" {
			return named("", nil)
		}
		return named(m.GetPkTable(), schema_ref.CrossReference)
	}
	return nil, errCommand
}

// getKeys answers with no keys: Iceberg has none that are enforced.
func (s *Server) getKeys(_ context.Context, _ *login, m proto.Message) (array.RecordReader, error) {
	schema, err := keySchema(m)
	if err != nil {
		return nil, err
	}
	return s.answer(schema, func(*array.RecordBuilder) {})
}

func (s *Server) getCatalogs(ctx context.Context, l *login, _ proto.Message) (array.RecordReader, error) {
	names, err := s.cfg.Gateway.Catalogs(ctx, l.session())
	if err != nil {
		return nil, err
	}
	return s.answer(schema_ref.Catalogs, func(b *array.RecordBuilder) {
		for _, n := range names {
			b.Field(0).(*array.StringBuilder).Append(n)
		}
	})
}

func (s *Server) getSchemas(ctx context.Context, l *login, m proto.Message) (array.RecordReader, error) {
	cmd := m.(*pb.CommandGetDbSchemas)
	schemas, err := s.cfg.Gateway.Schemas(ctx, l.session(), cmd.Catalog, cmd.DbSchemaFilterPattern)
	if err != nil {
		return nil, err
	}
	return s.answer(schema_ref.DBSchemas, func(b *array.RecordBuilder) {
		for _, n := range schemas {
			b.Field(0).(*array.StringBuilder).Append(n.Catalog)
			b.Field(1).(*array.StringBuilder).Append(n.Schema)
		}
	})
}

func (s *Server) getTables(ctx context.Context, l *login, m proto.Message) (array.RecordReader, error) {
	cmd := m.(*pb.CommandGetTables)
	tables, err := s.cfg.Gateway.Tables(ctx, l.session(), gateway.TableFilter{
		Catalog: cmd.Catalog, SchemaPattern: cmd.DbSchemaFilterPattern, TablePattern: cmd.TableNameFilterPattern,
		Types: cmd.GetTableTypes(), Columns: cmd.GetIncludeSchema(),
	})
	if err != nil {
		return nil, err
	}
	exactFirst(tables, cmd)
	schema := schema_ref.Tables
	var columns [][]byte
	if cmd.GetIncludeSchema() {
		schema = schema_ref.TablesWithIncludedSchema
		for _, t := range tables {
			columns = append(columns, flight.SerializeSchema(tableSchema(t), s.cfg.Alloc))
		}
	}
	return s.answer(schema, func(b *array.RecordBuilder) {
		for i, t := range tables {
			for j, v := range []string{t.Catalog, t.Schema, t.Name, t.Type} {
				b.Field(j).(*array.StringBuilder).Append(v)
			}
			if columns != nil {
				b.Field(4).(*array.BinaryBuilder).Append(columns[i])
			}
		}
	})
}

// exactFirst puts the table whose name is the pattern before those that only match it: some clients take the first row
// of an answer for "a_b", where _ is any character.
func exactFirst(tables []gateway.Table, cmd *pb.CommandGetTables) {
	if cmd.TableNameFilterPattern == nil {
		return
	}
	rank := func(t gateway.Table) int {
		if t.Name == cmd.GetTableNameFilterPattern() {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(tables, func(a, b gateway.Table) int { return cmp.Compare(rank(a), rank(b)) })
}

// tableSchema describes the columns of t that the caller may see.
func tableSchema(t gateway.Table) *arrow.Schema {
	fields := make([]arrow.Field, len(t.Columns))
	for i, c := range t.Columns {
		f := arrow.Field{Name: c.Name, Type: sqlType(c.Type), Nullable: c.Nullable}
		own := describeColumn(f)
		place := flightsql.NewColumnMetadataBuilder().CatalogName(t.Catalog).SchemaName(t.Schema).TableName(t.Name)
		if c.Doc != "" {
			place.Remarks(c.Doc)
		}
		m := place.Metadata()
		f.Metadata = arrow.NewMetadata(append(m.Keys(), own.Keys()...), append(m.Values(), own.Values()...))
		fields[i] = f
	}
	return arrow.NewSchema(fields, nil)
}

func (s *Server) getTableTypes(context.Context, *login, proto.Message) (array.RecordReader, error) {
	return s.answer(schema_ref.TableTypes, func(b *array.RecordBuilder) {
		b.Field(0).(*array.StringBuilder).AppendValues([]string{"BASE TABLE", "VIEW"}, nil)
	})
}

// answer returns a result of one batch, which fill makes.
func (s *Server) answer(schema *arrow.Schema, fill func(*array.RecordBuilder)) (array.RecordReader, error) {
	b := array.NewRecordBuilder(s.cfg.Alloc, schema)
	defer b.Release()
	fill(b)
	batch := b.NewRecordBatch()
	defer batch.Release()
	return array.NewRecordReader(schema, []arrow.RecordBatch{batch})
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
