package flight

import (
	"context"
	"maps"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql/schema_ref"
	pb "github.com/apache/arrow-go/v18/arrow/flight/gen/flight"
	"google.golang.org/protobuf/proto"
)

// engine is the dialect as clients of the DuckDB family recognise it in the server's version text.
const engine = "duckdb v1.5.6"

// The members of the union that GetSqlInfo answers with.
const (
	memberString arrow.UnionTypeCode = iota
	memberBool
	memberBigint
	memberBitmask
	memberList
	memberMap
)

// sqlInfo returns the answers of GetSqlInfo by id. Drivers cast without asking, so the Go type decides which member of the
// union carries the value: string, bool, int64, int32, []string, map[int32][]int32. The numbers and types are those of
// SqlInfo in FlightSql.proto.
func sqlInfo(version string) map[uint32]any {
	out := map[pb.SqlInfo]any{
		pb.SqlInfo_FLIGHT_SQL_SERVER_NAME:                          "Gatehouse",
		pb.SqlInfo_FLIGHT_SQL_SERVER_VERSION:                       engine + " (Gatehouse " + version + ")",
		pb.SqlInfo_FLIGHT_SQL_SERVER_ARROW_VERSION:                 arrow.PkgVersion,
		pb.SqlInfo_FLIGHT_SQL_SERVER_READ_ONLY:                     true,
		pb.SqlInfo_FLIGHT_SQL_SERVER_SQL:                           true,
		pb.SqlInfo_FLIGHT_SQL_SERVER_SUBSTRAIT:                     false,
		pb.SqlInfo_FLIGHT_SQL_SERVER_SUBSTRAIT_MIN_VERSION:         "",
		pb.SqlInfo_FLIGHT_SQL_SERVER_SUBSTRAIT_MAX_VERSION:         "",
		pb.SqlInfo_FLIGHT_SQL_SERVER_TRANSACTION:                   int32(pb.SqlSupportedTransaction_SQL_SUPPORTED_TRANSACTION_NONE),
		pb.SqlInfo_FLIGHT_SQL_SERVER_CANCEL:                        true,
		pb.SqlInfo_FLIGHT_SQL_SERVER_BULK_INGESTION:                false,
		pb.SqlInfo_FLIGHT_SQL_SERVER_INGEST_TRANSACTIONS_SUPPORTED: false,
		pb.SqlInfo_FLIGHT_SQL_SERVER_STATEMENT_TIMEOUT:             int32(0),
		pb.SqlInfo_FLIGHT_SQL_SERVER_TRANSACTION_TIMEOUT:           int32(0),
	}
	for _, group := range []map[pb.SqlInfo]any{syntaxInfo(), featureInfo(), limitInfo(), transactionInfo()} {
		maps.Copy(out, group)
	}
	byID := make(map[uint32]any, len(out))
	for id, v := range out {
		byID[uint32(id)] = v
	}
	return byID
}

func syntaxInfo() map[pb.SqlInfo]any {
	insensitive := int32(pb.SqlSupportedCaseSensitivity_SQL_CASE_SENSITIVITY_CASE_INSENSITIVE)
	return map[pb.SqlInfo]any{
		pb.SqlInfo_SQL_DDL_CATALOG:                                  false,
		pb.SqlInfo_SQL_DDL_SCHEMA:                                   false,
		pb.SqlInfo_SQL_DDL_TABLE:                                    false,
		pb.SqlInfo_SQL_IDENTIFIER_CASE:                              insensitive,
		pb.SqlInfo_SQL_IDENTIFIER_QUOTE_CHAR:                        `"`,
		pb.SqlInfo_SQL_QUOTED_IDENTIFIER_CASE:                       insensitive,
		pb.SqlInfo_SQL_ALL_TABLES_ARE_SELECTABLE:                    true,
		pb.SqlInfo_SQL_NULL_ORDERING:                                int32(pb.SqlNullOrdering_SQL_NULLS_SORTED_AT_END),
		pb.SqlInfo_SQL_KEYWORDS:                                     []string{"ANTI", "ASOF", "EXCLUDE", "ILIKE", "LAMBDA", "LATERAL", "LIMIT", "OFFSET", "PIVOT", "POSITIONAL", "QUALIFY", "REPLACE", "RETURNING", "SEMI", "SHOW", "UNPIVOT"},
		pb.SqlInfo_SQL_NUMERIC_FUNCTIONS:                            []string{"abs", "ceil", "exp", "floor", "greatest", "least", "ln", "log10", "mod", "pi", "power", "round", "sign", "sqrt", "trunc"},
		pb.SqlInfo_SQL_STRING_FUNCTIONS:                             []string{"concat", "contains", "left", "length", "lower", "lpad", "ltrim", "replace", "reverse", "right", "rpad", "rtrim", "split_part", "starts_with", "substring", "trim", "upper"},
		pb.SqlInfo_SQL_SYSTEM_FUNCTIONS:                             []string{"coalesce", "ifnull", "nullif"},
		pb.SqlInfo_SQL_DATETIME_FUNCTIONS:                           []string{"date_diff", "date_part", "date_trunc", "dayname", "extract", "last_day", "make_date", "monthname", "strftime", "year"},
		pb.SqlInfo_SQL_SEARCH_STRING_ESCAPE:                         `\`,
		pb.SqlInfo_SQL_EXTRA_NAME_CHARACTERS:                        "",
		pb.SqlInfo_SQL_SCHEMA_TERM:                                  "schema",
		pb.SqlInfo_SQL_PROCEDURE_TERM:                               "procedure",
		pb.SqlInfo_SQL_CATALOG_TERM:                                 "catalog",
		pb.SqlInfo_SQL_CATALOG_AT_START:                             true,
		pb.SqlInfo_SQL_SUPPORTED_GRAMMAR:                            bits(int32(pb.SupportedSqlGrammar_SQL_MINIMUM_GRAMMAR), int32(pb.SupportedSqlGrammar_SQL_CORE_GRAMMAR)),
		pb.SqlInfo_SQL_ANSI92_SUPPORTED_LEVEL:                       bits(int32(pb.SupportedAnsi92SqlGrammarLevel_ANSI92_ENTRY_SQL)),
		pb.SqlInfo_SQL_SUPPORTS_LIKE_ESCAPE_CLAUSE:                  true,
		pb.SqlInfo_SQL_SUPPORTS_COLUMN_ALIASING:                     true,
		pb.SqlInfo_SQL_NULL_PLUS_NULL_IS_NULL:                       true,
		pb.SqlInfo_SQL_SUPPORTS_TABLE_CORRELATION_NAMES:             true,
		pb.SqlInfo_SQL_SUPPORTS_EXPRESSIONS_IN_ORDER_BY:             true,
		pb.SqlInfo_SQL_SUPPORTS_ORDER_BY_UNRELATED:                  true,
		pb.SqlInfo_SQL_SUPPORTS_NON_NULLABLE_COLUMNS:                true,
		pb.SqlInfo_SQL_SCHEMAS_SUPPORTED_ACTIONS:                    int32(0),
		pb.SqlInfo_SQL_CATALOGS_SUPPORTED_ACTIONS:                   int32(0),
		pb.SqlInfo_SQL_SUPPORTED_POSITIONED_COMMANDS:                int32(0),
		pb.SqlInfo_SQL_CORRELATED_SUBQUERIES_SUPPORTED:              true,
		pb.SqlInfo_SQL_STORED_PROCEDURES_SUPPORTED:                  false,
		pb.SqlInfo_SQL_SELECT_FOR_UPDATE_SUPPORTED:                  false,
		pb.SqlInfo_SQL_NAMED_PARAMETERS_SUPPORTED:                   false,
		pb.SqlInfo_SQL_LOCATORS_UPDATE_COPY:                         false,
		pb.SqlInfo_SQL_BATCH_UPDATES_SUPPORTED:                      false,
		pb.SqlInfo_SQL_SAVEPOINTS_SUPPORTED:                         false,
		pb.SqlInfo_SQL_MAX_ROW_SIZE_INCLUDES_BLOBS:                  true,
		pb.SqlInfo_SQL_SUPPORTS_INTEGRITY_ENHANCEMENT_FACILITY:      false,
		pb.SqlInfo_SQL_SUPPORTS_DIFFERENT_TABLE_CORRELATION_NAMES:   false,
		pb.SqlInfo_SQL_STORED_FUNCTIONS_USING_CALL_SYNTAX_SUPPORTED: false,
	}
}

func featureInfo() map[pb.SqlInfo]any {
	return map[pb.SqlInfo]any{
		pb.SqlInfo_SQL_SUPPORTS_CONVERT: conversions(),
		pb.SqlInfo_SQL_SUPPORTED_GROUP_BY: bits(int32(pb.SqlSupportedGroupBy_SQL_GROUP_BY_UNRELATED),
			int32(pb.SqlSupportedGroupBy_SQL_GROUP_BY_BEYOND_SELECT)),
		pb.SqlInfo_SQL_OUTER_JOINS_SUPPORT_LEVEL: bits(int32(pb.SqlOuterJoinsSupportLevel_SQL_LIMITED_OUTER_JOINS),
			int32(pb.SqlOuterJoinsSupportLevel_SQL_FULL_OUTER_JOINS)),
		pb.SqlInfo_SQL_SUPPORTED_SUBQUERIES: bits(int32(pb.SqlSupportedSubqueries_SQL_SUBQUERIES_IN_COMPARISONS),
			int32(pb.SqlSupportedSubqueries_SQL_SUBQUERIES_IN_EXISTS), int32(pb.SqlSupportedSubqueries_SQL_SUBQUERIES_IN_INS),
			int32(pb.SqlSupportedSubqueries_SQL_SUBQUERIES_IN_QUANTIFIEDS)),
		pb.SqlInfo_SQL_SUPPORTED_UNIONS:                                          bits(int32(pb.SqlSupportedUnions_SQL_UNION), int32(pb.SqlSupportedUnions_SQL_UNION_ALL)),
		pb.SqlInfo_SQL_SUPPORTED_RESULT_SET_TYPES:                                bits(int32(pb.SqlSupportedResultSetType_SQL_RESULT_SET_TYPE_FORWARD_ONLY)),
		pb.SqlInfo_SQL_SUPPORTED_CONCURRENCIES_FOR_RESULT_SET_UNSPECIFIED:        int32(0),
		pb.SqlInfo_SQL_SUPPORTED_CONCURRENCIES_FOR_RESULT_SET_FORWARD_ONLY:       bits(int32(pb.SqlSupportedResultSetConcurrency_SQL_RESULT_SET_CONCURRENCY_READ_ONLY)),
		pb.SqlInfo_SQL_SUPPORTED_CONCURRENCIES_FOR_RESULT_SET_SCROLL_SENSITIVE:   int32(0),
		pb.SqlInfo_SQL_SUPPORTED_CONCURRENCIES_FOR_RESULT_SET_SCROLL_INSENSITIVE: int32(0),
	}
}

// limitInfo states no limits (0) where there is none that a client could use.
func limitInfo() map[pb.SqlInfo]any {
	out := map[pb.SqlInfo]any{}
	for id := pb.SqlInfo_SQL_MAX_BINARY_LITERAL_LENGTH; id <= pb.SqlInfo_SQL_MAX_USERNAME_LENGTH; id++ {
		if id != pb.SqlInfo_SQL_MAX_ROW_SIZE_INCLUDES_BLOBS {
			out[id] = int64(0)
		}
	}
	return out
}

func transactionInfo() map[pb.SqlInfo]any {
	return map[pb.SqlInfo]any{
		pb.SqlInfo_SQL_DEFAULT_TRANSACTION_ISOLATION:             int64(pb.SqlTransactionIsolationLevel_SQL_TRANSACTION_NONE),
		pb.SqlInfo_SQL_TRANSACTIONS_SUPPORTED:                    false,
		pb.SqlInfo_SQL_SUPPORTED_TRANSACTIONS_ISOLATION_LEVELS:   bits(int32(pb.SqlTransactionIsolationLevel_SQL_TRANSACTION_NONE)),
		pb.SqlInfo_SQL_DATA_DEFINITION_CAUSES_TRANSACTION_COMMIT: false,
		pb.SqlInfo_SQL_DATA_DEFINITIONS_IN_TRANSACTIONS_IGNORED:  false,
	}
}

// conversions lists which types CAST takes to which: numbers, text and times each to text and among themselves.
func conversions() map[int32][]int32 {
	numbers := []int32{
		int32(pb.SqlSupportsConvert_SQL_CONVERT_BIGINT), int32(pb.SqlSupportsConvert_SQL_CONVERT_DECIMAL),
		int32(pb.SqlSupportsConvert_SQL_CONVERT_FLOAT), int32(pb.SqlSupportsConvert_SQL_CONVERT_INTEGER),
		int32(pb.SqlSupportsConvert_SQL_CONVERT_SMALLINT), int32(pb.SqlSupportsConvert_SQL_CONVERT_TINYINT),
	}
	times := []int32{
		int32(pb.SqlSupportsConvert_SQL_CONVERT_DATE), int32(pb.SqlSupportsConvert_SQL_CONVERT_TIME), int32(pb.SqlSupportsConvert_SQL_CONVERT_TIMESTAMP),
	}
	text := int32(pb.SqlSupportsConvert_SQL_CONVERT_VARCHAR)
	out := map[int32][]int32{text: slices.Concat(numbers, times, []int32{text})}
	for _, from := range numbers {
		out[from] = append(slices.Clone(numbers), text)
	}
	for _, from := range times {
		out[from] = append(slices.Clone(times), text)
	}
	return out
}

// bits makes the bitmask in which the values of an enumeration are bit positions.
func bits(positions ...int32) (out int32) {
	for _, p := range positions {
		out |= 1 << p
	}
	return out
}

func infoSQLInfo(*Server, context.Context, *login, proto.Message, bool) (described, error) {
	return described{schema: schema_ref.SqlInfo}, nil
}

// getSQLInfo answers the ids that are asked for, or all. Ids that are not known are left out, so that a newer driver
// still connects.
func (s *Server) getSQLInfo(_ context.Context, _ *login, m proto.Message) (array.RecordReader, error) {
	ids := m.(*pb.CommandGetSqlInfo).GetInfo()
	if len(ids) == 0 {
		ids = slices.Collect(maps.Keys(s.info))
	}
	ids = slices.Compact(slices.Sorted(slices.Values(ids)))
	return s.answer(schema_ref.SqlInfo, func(b *array.RecordBuilder) {
		for _, id := range ids {
			if v, ok := s.info[id]; ok {
				b.Field(0).(*array.Uint32Builder).Append(id)
				appendInfo(b.Field(1).(*array.DenseUnionBuilder), v)
			}
		}
	})
}

func appendInfo(u *array.DenseUnionBuilder, v any) {
	switch v := v.(type) {
	case string:
		u.Append(memberString)
		u.Child(int(memberString)).(*array.StringBuilder).Append(v)
	case bool:
		u.Append(memberBool)
		u.Child(int(memberBool)).(*array.BooleanBuilder).Append(v)
	case int64:
		u.Append(memberBigint)
		u.Child(int(memberBigint)).(*array.Int64Builder).Append(v)
	case int32:
		u.Append(memberBitmask)
		u.Child(int(memberBitmask)).(*array.Int32Builder).Append(v)
	case []string:
		u.Append(memberList)
		list := u.Child(int(memberList)).(*array.ListBuilder)
		list.Append(true)
		list.ValueBuilder().(*array.StringBuilder).AppendValues(v, nil)
	case map[int32][]int32:
		u.Append(memberMap)
		b := u.Child(int(memberMap)).(*array.MapBuilder)
		b.Append(true)
		for _, key := range slices.Sorted(maps.Keys(v)) {
			b.KeyBuilder().(*array.Int32Builder).Append(key)
			item := b.ItemBuilder().(*array.ListBuilder)
			item.Append(true)
			item.ValueBuilder().(*array.Int32Builder).AppendValues(v[key], nil)
		}
	}
}
