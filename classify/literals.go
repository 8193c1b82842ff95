package classify

import (
	"encoding/hex"
	"strconv"
	"strings"
	"time"

	pgquery "github.com/pganalyze/pg_query_go/v6"
)

// A literal takes the type of what it stands beside. If it has no value of that type, the engine does not say so when it binds
// the statement: the cast stays, and fails once a row comes by, hidden or not. So a literal counts as a constant only if its text is
// of a form that surely converts.

// converts reports whether DuckDB surely converts text to the type typ. It knows the usual forms; anything else is not sure.
func converts(text, typ string) bool {
	name, mods := typeParts(typ)
	switch name {
	case "varchar":
		return true
	case "boolean":
		return text == "true" || text == "false" || text == "t" || text == "f"
	case "decimal":
		return fitsDecimal(text, mods)
	case "real", "double":
		whole, fraction, ok := digitsOf(text)
		return ok && whole+fraction <= 30
	case "date":
		_, ok := dateOf(text)
		return ok
	case "time":
		_, err := time.Parse("15:04:05.999999", text)
		return err == nil
	case "timestamp", "timestamptz", "timestamp_s", "timestamp_ms", "timestamp_ns":
		return isTimestamp(text, name)
	case "interval":
		return isInterval(text)
	case "uuid":
		return isUUID(text)
	case "blob":
		return !strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' || r == '\\' })
	}
	bits, known := integerBits[name]
	if !known || strings.HasPrefix(text, "+") {
		return false
	}
	n, err := strconv.ParseInt(text, 10, bits)
	return err == nil && (n >= 0 || !strings.HasPrefix(name, "u"))
}

// integerBits is how many bits of an integer type's values are read. Of an unsigned type that is its lower half.
var integerBits = map[string]int{
	"tinyint": 8, "smallint": 16, "integer": 32, "bigint": 64, "hugeint": 64,
	"utinyint": 8, "usmallint": 16, "uinteger": 32, "ubigint": 64, "uhugeint": 64,
}

// typeParts returns the canonical name of a type and its modifiers; "" for nested types and those not known.
func typeParts(typ string) (name string, mods []int) {
	t := strings.ToLower(typ)
	switch t {
	case "timestamp with time zone":
		return "timestamptz", nil
	case "number": // an integer literal
		return "integer", nil
	case "float":
		return "real", nil
	}
	t, rest, has := strings.Cut(t, "(")
	if !has {
		return typeNames[t], nil
	}
	inner, after, _ := strings.Cut(rest, ")")
	for _, m := range strings.Split(inner, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(m))
		if err != nil {
			return "", nil
		}
		mods = append(mods, n)
	}
	if after != "" || typeNames[t] != "decimal" {
		return "", nil
	}
	return "decimal", mods
}

// fitsDecimal reports whether text has room before and behind the point. Without modifiers DECIMAL is DECIMAL(18, 3).
func fitsDecimal(text string, mods []int) bool {
	width, scale := 18, 3
	if len(mods) > 0 {
		width, scale = mods[0], 0
	}
	if len(mods) > 1 {
		scale = mods[1]
	}
	whole, fraction, ok := digitsOf(text)
	return ok && whole <= width-scale && fraction <= scale
}

// digitsOf counts the digits before and behind the point of a plain number; leading zeros count.
func digitsOf(text string) (whole, fraction int, ok bool) {
	w, f, point := strings.Cut(strings.TrimPrefix(text, "-"), ".")
	if w == "" || point && f == "" || strings.Trim(w+f, "0123456789") != "" {
		return 0, 0, false
	}
	return len(w), len(f), true
}

// dateOf reads a date of the years 1 to 9999.
func dateOf(text string) (time.Time, bool) {
	t, err := time.Parse(time.DateOnly, text)
	return t, err == nil && t.Year() >= 1
}

// isTimestamp accepts a date, or a date and a time of day; a time zone only where the type has one.
func isTimestamp(text, name string) bool {
	if name == "timestamptz" {
		for _, zone := range []string{"Z", "+00", "+00:00"} {
			if cut, ok := strings.CutSuffix(text, zone); ok && len(cut) > len(time.DateOnly) {
				text = cut
				break
			}
		}
	}
	if len(text) < len(time.DateOnly) {
		return false
	}
	day, ok := dateOf(text[:len(time.DateOnly)])
	if !ok || name == "timestamp_ns" && (day.Year() < 1700 || day.Year() > 2200) {
		return false
	}
	clock := text[len(time.DateOnly):]
	if clock == "" {
		return true
	}
	if clock[0] != ' ' && clock[0] != 'T' {
		return false
	}
	_, frac, _ := strings.Cut(clock, ".")
	_, err := time.Parse("15:04:05", clock[1:]) // it takes a fraction, too
	return err == nil && len(frac) <= 6
}

// isInterval accepts a short number and one unit.
func isInterval(text string) bool {
	words := strings.Fields(text)
	if len(words) != 2 {
		return false
	}
	return shortNumber(strings.TrimPrefix(words[0], "-")) && intervalUnits[strings.TrimSuffix(fold(words[1]), "s")]
}

var intervalUnits = map[string]bool{
	"year": true, "quarter": true, "month": true, "week": true, "day": true, "hour": true, "minute": true, "second": true,
}

// shortNumber reports whether text is a number of up to five digits: that many years, twice, lead no date out of range.
func shortNumber(text string) bool {
	return text != "" && len(text) <= 5 && strings.Trim(text, "0123456789") == ""
}

func isUUID(text string) bool {
	parts := strings.Split(text, "-")
	if len(parts) != 5 {
		return false
	}
	for i, n := range []int{8, 4, 4, 4, 12} {
		if _, err := hex.DecodeString(parts[i]); err != nil || len(parts[i]) != n {
			return false
		}
	}
	return true
}

// constantConverts is converts for a constant of any kind.
func constantConverts(k *pgquery.A_Const, typ string) bool {
	switch v := k.Val.(type) {
	case nil: // NULL
		return k.Isnull
	case *pgquery.A_Const_Sval:
		return converts(v.Sval.GetSval(), typ)
	case *pgquery.A_Const_Ival:
		return converts(strconv.Itoa(int(v.Ival.GetIval())), typ)
	case *pgquery.A_Const_Fval:
		return converts(v.Fval.GetFval(), typ)
	case *pgquery.A_Const_Boolval:
		name, _ := typeParts(typ)
		return name == "boolean" || name == "varchar" || integerBits[name] > 0
	}
	return false
}

// writtenType is the type of a cast as the tree has it, with its modifiers; "" for arrays.
func writtenType(t *pgquery.TypeName) string {
	names := t.GetNames()
	if len(names) != 1 || len(t.GetArrayBounds()) > 0 {
		return ""
	}
	name := names[0].GetString_().GetSval()
	if len(t.Typmods) == 0 {
		return name
	}
	mods := make([]string, len(t.Typmods))
	for i, m := range t.Typmods {
		mods[i] = strconv.Itoa(int(m.GetAConst().GetIval().GetIval()))
	}
	return name + "(" + strings.Join(mods, ",") + ")"
}

// literalsFit reports whether every string literal of ns surely converts to the type of each of the others.
func (c *classifier) literalsFit(ns []*pgquery.Node) bool {
	others := map[string]bool{} // a list may have very many members, but only a few types
	for _, n := range ns {
		if k := n.GetAConst(); k == nil || !k.Isnull && k.GetSval() == nil {
			others[c.typeOf(n)] = true
		}
	}
	for _, l := range ns {
		text := l.GetAConst().GetSval()
		if text == nil {
			continue
		}
		for t := range others {
			if !converts(text.Sval, t) {
				return false
			}
		}
	}
	return true
}

// member is alike for the functions that look for a value in a list, or in a text.
func (c *classifier) member(args []*pgquery.Node) Class {
	if len(args) == 2 && args[1].GetAConst() != nil {
		if element, ok := strings.CutSuffix(c.typeOf(args[0]), "[]"); ok {
			if constantConverts(args[1].GetAConst(), element) {
				return ClassLeakproof
			}
			return ClassRaising
		}
	}
	return c.alike(args...)
}

// text returns ClassLeakproof if ns are joined as texts: lists and blobs are joined, too, after a cast to what they have in common.
func (c *classifier) text(ns []*pgquery.Node) Class {
	for _, n := range ns {
		if k := n.GetAConst(); k != nil && k.Isnull {
			continue
		}
		t := c.typeOf(n)
		if name, _ := typeParts(t); t != "literal" && t != "fraction" && (name == "" || name == "blob") {
			return ClassRaising
		}
	}
	return ClassLeakproof
}

// coalesced is the type of COALESCE where all arguments have that type, but for string literals, NULL, and integers beside whole
// numbers; else "".
func (c *classifier) coalesced(args []*pgquery.Node) string {
	typ := ""
	for _, n := range args {
		k := n.GetAConst()
		if k != nil && (k.Isnull || k.GetSval() != nil) {
			continue
		}
		t := c.typeOf(n)
		name, _ := typeParts(typ)
		switch {
		case k.GetIval() != nil && integerBits[name] >= 32:
		case k != nil || t == "" || typ != "" && t != typ:
			return ""
		default:
			typ = t
		}
	}
	return typ
}
