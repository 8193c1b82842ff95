package classify

import (
	"fmt"
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"
)

// maxDecimal is how many digits DuckDB's widest DECIMAL has.
const maxDecimal = 38

// integerDigits is how many digits the values of an integer type may have.
var integerDigits = map[string]int{
	"tinyint": 3, "utinyint": 3, "smallint": 5, "usmallint": 5, "integer": 10, "uinteger": 10, "bigint": 19, "ubigint": 20, "number": 10,
}

// decimals says whether there is a DECIMAL among ns and, if so, whether all of ns compare without a cast that could raise: the
// engine takes a DECIMAL with room for all digits before and all behind the point, or DOUBLE if one of ns is a float.
func (c *classifier) decimals(ns []*pgquery.Node) (some bool, class Class) {
	whole, scale, floats, known := 0, 0, false, true
	for _, n := range ns {
		if k := n.GetAConst(); k != nil && k.Isnull {
			continue
		}
		t := strings.ToLower(c.typeOf(n))
		name, mods := typeParts(t)
		switch {
		case t == "literal": // it takes the type of another
		case t == "fraction":
			w, f := maxFraction, maxFraction
			if k, ok := plainConstant(n); ok {
				w, f, ok = digitsOf(k.GetFval().GetFval())
				known = known && ok
			}
			whole, scale = max(whole, w), max(scale, f)
		case name == "decimal":
			some = true
			width, s := decimalSize(mods)
			whole, scale = max(whole, width-s), max(scale, s)
		case name == "real", name == "double":
			floats = true
		case integerDigits[t] > 0 || integerDigits[name] > 0:
			whole = max(whole, integerDigits[t], integerDigits[name])
		default:
			known = false
		}
	}
	if known && (floats || whole+scale <= maxDecimal) {
		return some, ClassLeakproof
	}
	return some, ClassRaising
}

// maxFraction is the length of the longest number that counts as a fraction.
const maxFraction = 18

// decimalSize returns the width and the scale of a DECIMAL with modifiers, which may be left out.
func decimalSize(mods []int) (width, scale int) {
	switch len(mods) {
	case 0:
		return 18, 3
	case 1:
		return mods[0], 0
	}
	return mods[0], mods[1]
}

// sumType returns the type of the sum of values of a type, "" if that is not known.
func sumType(typ string) string {
	switch name, mods := typeParts(typ); name {
	case "decimal":
		_, scale := decimalSize(mods)
		return fmt.Sprintf("DECIMAL(%d,%d)", maxDecimal, scale)
	case "real", "double":
		return "DOUBLE"
	case "tinyint", "smallint", "integer", "bigint", "hugeint", "utinyint", "usmallint", "uinteger":
		return "HUGEINT"
	}
	return ""
}

// arithmeticType knows the products and sums of a DOUBLE and a number, and the product of a DECIMAL and a short fraction.
func (b *binder) arithmeticType(e *pgquery.A_Expr) string {
	if e.Kind != pgquery.A_Expr_Kind_AEXPR_OP || e.Lexpr == nil || len(e.Name) != 1 {
		return ""
	}
	op := e.Name[0].GetString_().GetSval()
	if op != "+" && op != "-" && op != "*" {
		return ""
	}
	left, right := b.typeName(e.Lexpr), b.typeName(e.Rexpr)
	if left == "" {
		left, right, e = right, left, &pgquery.A_Expr{Lexpr: e.Rexpr, Rexpr: e.Lexpr}
	}
	name, mods := typeParts(left)
	k := e.Rexpr.GetAConst()
	number := k.GetIval() != nil || k.GetFval() != nil
	switch {
	case name == "double" && (number || sumType(right) != ""):
		return "DOUBLE"
	case name == "decimal" && op == "*" && k.GetFval() != nil:
		w, f, ok := digitsOf(k.GetFval().GetFval())
		width, scale := decimalSize(mods)
		if ok && w+f <= maxFraction && scale+f <= maxDecimal {
			return fmt.Sprintf("DECIMAL(%d,%d)", min(maxDecimal, width+w+f), scale+f)
		}
	}
	return ""
}

// scaleOfSum returns the scale of the sum of an expression of decimals: its type is DECIMAL(38, scale), whatever the width.
func (b *binder) scaleOfSum(f *pgquery.FuncCall) (int, bool) {
	if funcName(f) != "sum" || len(f.Args) != 1 || f.Args[0].GetAExpr() == nil {
		return 0, false
	}
	scale, decimal, ok := b.scale(f.Args[0])
	return scale, ok && decimal && scale <= maxDecimal
}

// scale returns the scale of a sum, difference or product of decimals and short whole numbers, and whether a decimal is among them.
func (b *binder) scale(n *pgquery.Node) (scale int, decimal, ok bool) {
	if e := n.GetAExpr(); e != nil && e.Kind == pgquery.A_Expr_Kind_AEXPR_OP && e.Lexpr != nil && len(e.Name) == 1 {
		l, some, ok := b.scale(e.Lexpr)
		r, more, and := b.scale(e.Rexpr)
		switch e.Name[0].GetString_().GetSval() {
		case "+", "-":
			return max(l, r), some || more, ok && and
		case "*":
			return l + r, some || more, ok && and
		}
		return 0, false, false
	}
	if n.GetAConst().GetIval() != nil {
		return 0, false, true
	}
	name, mods := typeParts(b.typeName(n))
	if name != "decimal" {
		return 0, false, false
	}
	_, scale = decimalSize(mods)
	return scale, true, true
}
