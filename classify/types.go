package classify

import "strings"

// typeNames maps every accepted spelling of a type, lower case, to the one name that the tree holds after Parse.
// The names from the grammar of PostgreSQL come as pg_catalog.name.
var typeNames = map[string]string{
	"bool": "boolean", "boolean": "boolean", "logical": "boolean",
	"int1": "tinyint", "tinyint": "tinyint",
	"int2": "smallint", "int16": "smallint", "smallint": "smallint", "short": "smallint",
	"int": "integer", "int4": "integer", "int32": "integer", "integer": "integer", "signed": "integer",
	"int8": "bigint", "int64": "bigint", "bigint": "bigint", "long": "bigint",
	"int128": "hugeint", "hugeint": "hugeint",
	"utinyint": "utinyint", "uint8": "utinyint", "usmallint": "usmallint", "uint16": "usmallint",
	"uinteger": "uinteger", "uint32": "uinteger", "ubigint": "ubigint", "uint64": "ubigint",
	"uhugeint": "uhugeint", "uint128": "uhugeint",
	"float4": "real", "real": "real", "float8": "double", "double": "double",
	"numeric": "decimal", "decimal": "decimal", "dec": "decimal",
	"varchar": "varchar", "text": "varchar", "string": "varchar", "bpchar": "varchar", "char": "varchar", "nvarchar": "varchar",
	"bytea": "blob", "blob": "blob", "binary": "blob", "varbinary": "blob",
	"date": "date", "time": "time", "timetz": "timetz",
	"timestamp": "timestamp", "datetime": "timestamp", "timestamp_us": "timestamp", "timestamptz": "timestamptz",
	"timestamp_s": "timestamp_s", "timestamp_ms": "timestamp_ms", "timestamp_ns": "timestamp_ns",
	"interval": "interval", "uuid": "uuid", "json": "json", "struct": "struct", "map": "map",
}

// dropsModifier holds the types whose length or precision DuckDB ignores or that we do not carry.
var dropsModifier = map[string]bool{"varchar": true}

// canonicalType returns the name that the tree holds for a type, "" if it is not accepted.
func canonicalType(names []string) string {
	if len(names) == 2 && names[0] == "pg_catalog" {
		names = names[1:]
	}
	if len(names) != 1 {
		return ""
	}
	return typeNames[strings.ToLower(names[0])]
}
