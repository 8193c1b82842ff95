package classify

import (
	"testing"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// TestAllowListNamesExist: a name that the parser's tree no longer has would refuse what we mean to accept.
func TestAllowListNamesExist(t *testing.T) {
	file := pgquery.File_pg_query_proto
	for message, fields := range allowedFields() {
		m := file.Messages().ByName(message)
		if m == nil {
			t.Errorf("no message %s", message)
			continue
		}
		for f := range fields {
			if m.Fields().ByName(f) == nil {
				t.Errorf("no field %s.%s", message, f)
			}
		}
	}
	values := map[protoreflect.Name]bool{}
	for i := range file.Enums().Len() {
		for v, j := file.Enums().Get(i).Values(), 0; j < v.Len(); j++ {
			values[v.Get(j).Name()] = true
		}
	}
	for v := range allowedValues() {
		if !values[v] {
			t.Errorf("no enum value %s", v)
		}
	}
}

// TestUnknownIsRefused sets each field that is not listed, one by one, and wants a refusal.
func TestUnknownIsRefused(t *testing.T) {
	refused := 0
	for message, fields := range allowedFields() {
		d := pgquery.File_pg_query_proto.Messages().ByName(message)
		for i := range d.Fields().Len() {
			f := d.Fields().Get(i)
			if fields[f.Name()] || f.Kind() == protoreflect.EnumKind {
				continue
			}
			s, err := Parse("SELECT a FROM t")
			if err != nil {
				t.Fatal(err)
			}
			m := newMessage(t, message)
			setField(m, f)
			if err := newAllow().message(m.Interface()); err == nil {
				t.Errorf("%s.%s passes", message, f.Name())
			}
			refused++
			if err := newAllow().check(s.tree); err != nil {
				t.Errorf("control: %v", err)
			}
		}
	}
	if refused < 40 {
		t.Errorf("only %d fields were tried", refused)
	}
}

func newMessage(t *testing.T, name protoreflect.Name) protoreflect.Message {
	t.Helper()
	return (&pgquery.Node{}).ProtoReflect().NewField(nodeField(t, name)).Message()
}

func setField(m protoreflect.Message, f protoreflect.FieldDescriptor) {
	switch {
	case f.IsList():
		m.Mutable(f).List().AppendMutable()
	case f.Kind() == protoreflect.MessageKind:
		m.Mutable(f)
	case f.Kind() == protoreflect.BoolKind:
		m.Set(f, protoreflect.ValueOfBool(true))
	case f.Kind() == protoreflect.StringKind:
		m.Set(f, protoreflect.ValueOfString("x"))
	case f.Kind() == protoreflect.Int32Kind:
		m.Set(f, protoreflect.ValueOfInt32(7))
	case f.Kind() == protoreflect.Uint32Kind:
		m.Set(f, protoreflect.ValueOfUint32(7))
	case f.Kind() == protoreflect.Uint64Kind:
		m.Set(f, protoreflect.ValueOfUint64(7))
	}
}

// TestFunctionTable: no row is misspelt, and what must never be called is not in it.
func TestFunctionTable(t *testing.T) {
	for name, f := range functions() {
		if f.class == ClassForbidden || f.kind != "scalar" && f.kind != "aggregate" && f.kind != "window" && f.kind != "set" && f.kind != "operator" {
			t.Errorf("%s: %+v", name, f)
		}
	}
	for _, name := range []string{
		"read_csv", "read_parquet", "read_text", "glob", "query", "query_table", "getenv", "current_setting", "stats", "error", "random", "setseed",
		"uuid", "gen_random_uuid", "nextval", "currval", "write_log", "sleep_ms", "pg_sleep", "json_execute_serialized_sql", "json_serialize_sql", "getvariable",
		"current_query", "txid_current", "in_search_path", "duckdb_settings", "pragma_table_info", "sql_auto_complete", "parse_duckdb_log_message",
	} {
		if ClassOf(name) != ClassForbidden {
			t.Errorf("%s is not forbidden", name)
		}
	}
	for _, name := range []string{"chr", "epoch_ms", "epoch_ns", "epoch_us", "isoyear", "last_day", "make_timestamp_ms", "make_timestamp_ns", "yearweek"} {
		if ClassOf(name) != ClassDictionary {
			t.Errorf("%s is not of the dictionary class", name)
		}
	}
}
