package policy

import (
	"errors"

	pgquery "github.com/pganalyze/pg_query_go/v6"
)

// rewriteCall returns the call as DuckDB spells it. Bound arguments; name is in functions.
func rewriteCall(name string, args []*pgquery.Node) (*pgquery.Node, error) {
	switch name {
	case "if":
		c := &pgquery.CaseExpr{Args: []*pgquery.Node{{Node: &pgquery.Node_CaseWhen{CaseWhen: &pgquery.CaseWhen{Expr: args[0], Result: args[1]}}}}}
		if len(args) == 3 {
			c.Defresult = args[2]
		}
		return &pgquery.Node{Node: &pgquery.Node_CaseExpr{CaseExpr: c}}, nil
	case "concat": // Trino's and PostgreSQL's || : NULL if any part is, where DuckDB's concat leaves the part out
		n := args[0]
		for _, a := range args[1:] {
			n = operator("||", n, a)
		}
		return n, nil
	case "extract":
		return call("date_part", args...), nil
	case "to_utf8":
		return call("encode", args...), nil
	case "to_hex":
		// Trino's digests are binary and are printed through to_hex, upper case; DuckDB's are lower-case hex already.
		if f := args[0].GetFuncCall(); f != nil && isDigest(f) {
			return call("upper", args[0]), nil
		}
		return call("hex", args...), nil
	case "regexp_like":
		return call("regexp_matches", args...), nil
	case "regexp_replace":
		return regexpReplace(args)
	case "btrim":
		return call("trim", args...), nil
	case "date":
		return castTo(args[0], "date"), nil
	case "ceiling":
		return call("ceil", args...), nil
	case "ifnull":
		return &pgquery.Node{Node: &pgquery.Node_CoalesceExpr{CoalesceExpr: &pgquery.CoalesceExpr{Args: args}}}, nil
	case HashFunction:
		return call(HashMarker, castTo(args[0], "varchar")), nil
	default:
		return call(name, args...), nil
	}
}

func isDigest(f *pgquery.FuncCall) bool {
	name := f.Funcname[0].GetString_().GetSval()
	return name == "sha256" || name == "md5"
}

// regexpReplace replaces every match, as Trino does: DuckDB replaces the first one only unless it is told "g". A mask
// that leaves the second e-mail address in a note readable is no mask.
func regexpReplace(args []*pgquery.Node) (*pgquery.Node, error) {
	switch len(args) {
	case 2:
		return call("regexp_replace", args[0], args[1], stringConst(""), stringConst("g")), nil
	case 3:
		return call("regexp_replace", args[0], args[1], args[2], stringConst("g")), nil
	default:
		if args[3].GetAConst().GetSval() == nil {
			return nil, errors.New("the options of regexp_replace must be a string literal")
		}
		return call("regexp_replace", args...), nil
	}
}
