package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// allowedFields lists, for each kind of node that a policy expression may hold, the fields that may be set. What is
// missing here is refused: subqueries, aggregates, windows, collations, set-returning forms, arrays, rows.
var allowedFields = map[protoreflect.Name][]protoreflect.Name{
	"Node":         nil, // a choice of kinds: the kind is what is checked
	"A_Const":      {"ival", "fval", "boolval", "sval", "isnull", "location"},
	"Integer":      {"ival"},
	"Float":        {"fval"},
	"Boolean":      {"boolval"},
	"String":       {"sval"},
	"List":         {"items"},
	"ColumnRef":    {"fields", "location"},
	"A_Expr":       {"kind", "name", "lexpr", "rexpr", "location"},
	"BoolExpr":     {"boolop", "args", "location"},
	"NullTest":     {"arg", "nulltesttype", "location"},
	"BooleanTest":  {"arg", "booltesttype", "location"},
	"CaseExpr":     {"arg", "args", "defresult", "location"},
	"CaseWhen":     {"expr", "result", "location"},
	"CoalesceExpr": {"args", "location"},
	"MinMaxExpr":   {"op", "args", "location"},
	"TypeCast":     {"arg", "type_name", "location"},
	"TypeName":     {"names", "typmods", "typemod", "location"},
	"FuncCall":     {"funcname", "args", "funcformat", "location"},
	// current_user and the like, which are constants: see binder.caller.
	"SQLValueFunction": {"op", "typmod", "location"},
}

// checkShape refuses every kind of node and every field that allowedFields does not list.
func checkShape(m protoreflect.Message) error {
	kind := m.Descriptor().Name()
	fields, ok := allowedFields[kind]
	if !ok {
		return fmt.Errorf("%s is not allowed in a policy expression", kind)
	}
	var err error
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if kind != "Node" && !slices.Contains(fields, f.Name()) {
			err = fmt.Errorf("%s with %s is not allowed in a policy expression", kind, f.Name())
			return false
		}
		switch {
		case f.Kind() != protoreflect.MessageKind:
		case f.IsList():
			for i := 0; i < v.List().Len() && err == nil; i++ {
				err = checkShape(v.List().Get(i).Message())
			}
		default:
			err = checkShape(v.Message())
		}
		return err == nil
	})
	return err
}

// operators are those of PostgreSQL's grammar that mean the same in DuckDB.
var operators = []string{"=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "||", "~~", "!~~", "~~*", "!~~*"}

// conditions are the operators whose value is a boolean. LIKE and the like are forms of their own.
var conditions = []string{"=", "<>", "<", "<=", ">", ">="}

// checkOperator refuses operators and forms of A_Expr that are not on the list.
func checkOperator(x *pgquery.A_Expr) error {
	if len(x.Name) != 1 {
		return fmt.Errorf("qualified operators are not allowed")
	}
	name := x.Name[0].GetString_().GetSval()
	switch x.Kind {
	case pgquery.A_Expr_Kind_AEXPR_OP:
		if !slices.Contains(operators, name) || strings.Contains(name, "~") {
			return fmt.Errorf("operator %s is not allowed in a policy expression", name)
		}
	case pgquery.A_Expr_Kind_AEXPR_LIKE, pgquery.A_Expr_Kind_AEXPR_ILIKE,
		pgquery.A_Expr_Kind_AEXPR_IN, pgquery.A_Expr_Kind_AEXPR_NULLIF,
		pgquery.A_Expr_Kind_AEXPR_DISTINCT, pgquery.A_Expr_Kind_AEXPR_NOT_DISTINCT:
		if !slices.Contains(operators, name) {
			return fmt.Errorf("operator %s is not allowed in a policy expression", name)
		}
	case pgquery.A_Expr_Kind_AEXPR_BETWEEN, pgquery.A_Expr_Kind_AEXPR_NOT_BETWEEN:
	default:
		return fmt.Errorf("%s is not allowed in a policy expression", strings.TrimPrefix(x.Kind.String(), "AEXPR_"))
	}
	return nil
}

// castTypes are the types that a policy may cast to, by the spellings of PostgreSQL's parser, DuckDB and Trino, with the
// one name that trees hold.
var castTypes = map[string]string{
	"bool": "boolean", "boolean": "boolean", "tinyint": "tinyint", "int2": "smallint", "smallint": "smallint",
	"int": "integer", "int4": "integer", "integer": "integer", "int8": "bigint", "bigint": "bigint", "hugeint": "hugeint",
	"float4": "real", "real": "real", "float8": "double", "double": "double", "numeric": "decimal", "decimal": "decimal",
	"varchar": "varchar", "text": "varchar", "string": "varchar", "bytea": "blob", "blob": "blob", "varbinary": "blob",
	"date": "date", "time": "time", "timestamp": "timestamp", "timestamptz": "timestamptz", "interval": "interval", "uuid": "uuid",
}

// canonicalType checks the type of a cast and gives it its one name. Only decimal has modifiers: DuckDB ignores a
// length, so that CAST(tax_id AS VARCHAR(4)), which cuts in other engines, would show the whole value.
func canonicalType(t *pgquery.TypeName) error {
	names := make([]string, len(t.Names))
	for i, n := range t.Names {
		names[i] = n.GetString_().GetSval()
	}
	if len(names) == 2 && names[0] == "pg_catalog" {
		names = names[1:]
	}
	if len(names) != 1 || castTypes[strings.ToLower(names[0])] == "" {
		return fmt.Errorf("a cast to %s is not allowed in a policy expression", strings.Join(names, "."))
	}
	name := castTypes[strings.ToLower(names[0])]
	if len(t.Typmods) > 0 && name != "decimal" {
		return fmt.Errorf("a length or precision of %s is not allowed in a policy expression", name)
	}
	for _, m := range t.Typmods {
		if m.GetAConst().GetIval() == nil {
			return fmt.Errorf("a type's modifier must be a number")
		}
	}
	t.Names = []*pgquery.Node{stringNode(name)}
	return nil
}

// intervalUnits are PostgreSQL's bits for the one unit of INTERVAL '90' DAY.
var intervalUnits = map[int32]string{4: "year", 2: "month", 8: "day", 1024: "hour", 2048: "minute", 4096: "second"}

// spelledInterval turns INTERVAL '90' DAY into INTERVAL '90 day', because the engine knows no units behind a type.
func spelledInterval(c *pgquery.TypeCast) {
	names := c.TypeName.Names
	value := c.Arg.GetAConst().GetSval()
	if len(names) != 2 || names[1].GetString_().GetSval() != "interval" || len(c.TypeName.Typmods) != 1 || value == nil {
		return
	}
	unit := intervalUnits[c.TypeName.Typmods[0].GetAConst().GetIval().GetIval()]
	if _, err := strconv.ParseInt(value.Sval, 10, 32); err != nil || unit == "" {
		return
	}
	value.Sval += " " + unit
	c.TypeName.Typmods = nil
}

// functions are the immutable scalar functions that a policy may call, with how many arguments each takes. They mean
// the same in Trino and DuckDB, or rewriteCall says how they differ.
var functions = map[string][2]int{
	"abs": {1, 1}, "ascii": {1, 1}, "bit_length": {1, 1}, "ceil": {1, 1}, "ceiling": {1, 1}, "concat": {1, 64},
	"concat_ws": {2, 64}, "contains": {2, 2}, "date_diff": {3, 3}, "date_part": {2, 2}, "date_trunc": {2, 2}, "day": {1, 1},
	"dayofweek": {1, 1}, "dayofyear": {1, 1}, "ends_with": {2, 2}, "extract": {2, 2}, "floor": {1, 1}, "from_base64": {1, 1}, "greatest": {1, 64},
	"hour": {1, 1}, "if": {2, 3}, "ifnull": {2, 2}, "instr": {2, 2}, "least": {1, 64}, "left": {2, 2}, "length": {1, 1},
	"lower": {1, 1}, "lpad": {3, 3}, "ltrim": {1, 2}, "make_date": {3, 3}, "md5": {1, 1}, "minute": {1, 1}, "mod": {2, 2},
	"month": {1, 1}, "quarter": {1, 1}, "regexp_extract": {2, 3}, "regexp_like": {2, 2}, "regexp_matches": {2, 2},
	"regexp_replace": {2, 4}, "repeat": {2, 2}, "replace": {3, 3}, "reverse": {1, 1}, "right": {2, 2}, "round": {1, 2},
	"rpad": {3, 3}, "rtrim": {1, 2}, "second": {1, 1}, "sha256": {1, 1}, "sign": {1, 1}, "split_part": {3, 3},
	"starts_with": {2, 2}, "strpos": {2, 2}, "substr": {2, 3}, "substring": {2, 3}, "to_base64": {1, 1}, "to_hex": {1, 1},
	"to_utf8": {1, 1}, "translate": {3, 3}, "trim": {1, 2}, "trunc": {1, 1}, "upper": {1, 1}, "week": {1, 1}, "year": {1, 1},
	"btrim": {1, 2}, "date": {1, 1}, HashFunction: {1, 1},
}

// predicates are those of functions whose value is a boolean.
var predicates = []string{"contains", "ends_with", "regexp_matches", "starts_with"}
