package printer

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"

	"gatehouse/classify"
)

func (p *printer) nameOf(f *pgquery.FuncCall) string {
	if len(f.GetFuncname()) != 1 {
		return ""
	}
	return f.Funcname[0].GetString_().GetSval()
}

// bare are names that are syntax of the engine, and no function when quoted.
var bare = map[string]bool{"grouping_id": true, "ifnull": true}

func (p *printer) call(f *pgquery.FuncCall) {
	name := p.nameOf(f)
	switch {
	case name == "" || f.FuncVariadic:
		p.fail("a function call")
		return
	case name == "version" || name == "current_schema" || name == "current_catalog" || name == "current_database":
		p.fail("%s before Statement.In", name) // the engine would answer for itself
		return
	case strings.HasPrefix(name, classify.MarkerPrefix) && (p.d.own == nil || !p.d.own(name)):
		p.marker(name, f.Args)
		return
	}
	if len(f.Args) == 1 || name == "ifnull" {
		p.alone(f.Args...)
	}
	if form := p.d.rewrites[name]; form != "" {
		p.rewritten(form, f)
		return
	}
	args, ignore := f.Args, false
	if n, rest := p.byArgs(name, args); n != "" {
		name, args = n, rest
	} else if n := p.d.functions[name]; n != "" {
		name = n
	} else if p.d.closed {
		p.fail("the function %s", name)
		return
	}
	if bare[name] {
		p.put(name)
	} else {
		p.ident(name)
	}
	p.put("(")
	if f.AggDistinct {
		p.put("DISTINCT ")
	}
	if f.AggStar {
		p.put("*")
	}
	if k := len(args) - 1; k >= 0 && p.nameOf(args[k].GetFuncCall()) == classify.MarkerIgnore {
		args, ignore = args[:k], true
	}
	p.list(args, p.expr)
	if ignore && !p.d.closed {
		p.put(" IGNORE NULLS")
	}
	if p.d.closed && len(f.AggOrder) > 0 {
		p.fail("ORDER BY inside of a function")
	}
	if len(f.AggOrder) > 0 {
		if f.AggWithinGroup {
			p.put(") WITHIN GROUP (ORDER BY ")
		} else {
			p.put(" ORDER BY ")
		}
		p.list(f.AggOrder, p.sortBy)
	}
	p.put(")")
	if ignore && p.d.closed {
		p.put(" IGNORE NULLS") // as the standard has it
	}
	p.over(f)
}

// over prints what may follow a call: FILTER and OVER.
func (p *printer) over(f *pgquery.FuncCall) {
	if f.AggFilter != nil {
		p.put(" FILTER (WHERE ")
		p.expr(f.AggFilter)
		p.put(")")
	}
	if f.Over != nil {
		p.put(" OVER ")
		if f.Over.Name != "" {
			p.ident(f.Over.Name)
		} else {
			p.window(f.Over)
		}
	}
}

// byArgs returns the engine's name of a function that depends on its arguments, with those that are left.
func (p *printer) byArgs(name string, args []*pgquery.Node) (string, []*pgquery.Node) {
	if len(p.d.byArgs) == 0 || len(args) == 0 {
		return "", nil
	}
	if c := args[0].GetAConst(); c.GetSval() != nil {
		if n := p.d.byArgs[name+"/"+strings.ToLower(c.GetSval().GetSval())]; n != "" {
			return n, args[1:]
		}
	}
	last := len(args) - 1
	if text, ok := number(&pgquery.A_Const{Val: args[last].GetAConst().GetVal()}); ok && last > 0 {
		if n := p.d.byArgs[fmt.Sprintf("%s/%d.%s", name, len(args), text)]; n != "" {
			return n, args[:last]
		}
	}
	if text := args[last].GetAConst().GetSval(); text != nil && last > 0 {
		if n := p.d.byArgs[fmt.Sprintf("%s/%d.%s", name, len(args), text.GetSval())]; n != "" {
			return n, args[:last]
		}
	}
	return p.d.byArgs[fmt.Sprintf("%s/%d", name, len(args))], args
}

// rewritten prints a call that is spelled out.
func (p *printer) rewritten(form string, f *pgquery.FuncCall) {
	if len(f.Args) != 1 || f.AggStar || len(f.AggOrder) > 0 || f.AggDistinct && !strings.Contains(form, "{distinct}") {
		p.fail("%s with more than one argument", p.nameOf(f))
		return
	}
	distinct := ""
	if f.AggDistinct {
		distinct = "DISTINCT "
	}
	x, over := p.part(func(inner *printer) { inner.expr(f.Args[0]) }), p.part(func(inner *printer) { inner.over(f) })
	p.put(strings.NewReplacer("{distinct}", distinct, "{x}", x, "{over}", over).Replace(form))
}

// part is what print prints, apart.
func (p *printer) part(print func(*printer)) string {
	inner := &printer{d: p.d, depth: p.depth, wide: p.wide, known: p.known}
	print(inner)
	text, err := inner.result()
	if err != nil && p.err == nil {
		p.err = err
	}
	return text
}

// marker prints what a marker stands for.
func (p *printer) marker(name string, args []*pgquery.Node) {
	if p.d.closed && name != classify.MarkerInterval && name != classify.MarkerAll {
		p.fail("a list, a struct, a map or TRY_CAST")
		return
	}
	switch name {
	case classify.MarkerTry:
		if len(args) == 1 && args[0].GetTypeCast() != nil {
			p.cast("TRY_CAST", args[0].GetTypeCast())
			return
		}
		p.fail("TRY_CAST")
	case classify.MarkerAll:
		p.put("ALL")
	case classify.MarkerList:
		p.put("[")
		p.list(args, p.expr)
		p.put("]")
	case classify.MarkerStruct:
		p.put("{")
		p.pairs(args, classify.MarkerField)
		p.put("}")
	case classify.MarkerMap:
		p.put("MAP {")
		p.pairs(args, classify.MarkerEntry)
		p.put("}")
	case classify.MarkerLambda:
		n := len(args) - 1
		if n < 1 {
			p.fail("a lambda")
			return
		}
		p.put("lambda ")
		p.list(args[:n], p.expr)
		p.put(": ")
		p.expr(args[n])
	case classify.MarkerInterval:
		p.interval(args)
	default:
		p.fail("marker %s here", name)
	}
}

func (p *printer) pairs(args []*pgquery.Node, item string) {
	p.list(args, func(n *pgquery.Node) {
		f := n.GetFuncCall()
		if f == nil || p.nameOf(f) != item || len(f.Args) != 2 {
			p.fail("a pair")
			return
		}
		p.expr(f.Args[0])
		p.put(": ")
		p.expr(f.Args[1])
	})
}

func (p *printer) interval(args []*pgquery.Node) {
	if len(args) != 2 {
		p.fail("INTERVAL")
		return
	}
	switch unit := args[1].GetAConst().GetSval().GetSval(); unit {
	case "year", "month", "day", "hour", "minute", "second", "week", "quarter", "decade", "century", "millennium", "millisecond", "microsecond":
		if p.d.quoted {
			p.quotedInterval(args[0], unit)
			return
		}
		p.put("INTERVAL (")
		p.expr(args[0])
		p.put(") ", strings.ToUpper(unit))
	default:
		p.fail("INTERVAL's unit")
	}
}

// quotedInterval prints a whole number of units as engines with standard SQL read it.
func (p *printer) quotedInterval(n *pgquery.Node, unit string) {
	c := n.GetAConst()
	if c == nil {
		p.fail("an INTERVAL that is not a number")
		return
	}
	text, ok := number(c)
	if s := c.GetSval(); s != nil {
		text, ok = s.GetSval(), true
	}
	if _, err := strconv.ParseInt(text, 10, 32); !ok || err != nil {
		p.fail("an INTERVAL that is not a whole number")
		return
	}
	p.put("INTERVAL '", text, "' ", strings.ToUpper(unit))
}

var wholeInterval = regexp.MustCompile(`^([+-]?[0-9]{1,6}) (year|month|week|day|hour|minute|second)s?$`)

// castInterval prints a text of one whole number and one unit.
func (p *printer) castInterval(t *pgquery.TypeCast) {
	m := wholeInterval.FindStringSubmatch(t.Arg.GetAConst().GetSval().GetSval())
	if m == nil || len(t.TypeName.Typmods) > 0 || len(t.TypeName.ArrayBounds) > 0 {
		p.fail("an INTERVAL that is not a whole number of one unit")
		return
	}
	p.put("INTERVAL '", m[1], "' ", strings.ToUpper(m[2]))
}

// Bits of WindowDef.frame_options, from PostgreSQL's parsenodes.h.
const (
	frameNonDefault     = 0x00001
	frameRange          = 0x00002
	frameRows           = 0x00004
	frameGroups         = 0x00008
	frameBetween        = 0x00010
	frameStartUnbounded = 0x00020
	frameEndUnbounded   = 0x00100
	frameStartCurrent   = 0x00200
	frameEndCurrent     = 0x00400
	frameStartPreceding = 0x00800
	frameEndPreceding   = 0x01000
	frameStartFollowing = 0x02000
	frameEndFollowing   = 0x04000
	frameExcludeCurrent = 0x08000
	frameExcludeGroup   = 0x10000
	frameExcludeTies    = 0x20000
	frameKnown          = 0x3ffff &^ (0x00040 | 0x00080)
	frameExclude        = frameExcludeCurrent | frameExcludeGroup | frameExcludeTies
)

func (p *printer) window(w *pgquery.WindowDef) {
	p.put("(")
	sep := ""
	if w.Refname != "" {
		if p.d.closed {
			p.fail("a window that adds to another one")
		}
		p.ident(w.Refname)
		sep = " "
	}
	if len(w.PartitionClause) > 0 {
		p.put(sep, "PARTITION BY ")
		p.list(w.PartitionClause, p.expr)
		sep = " "
	}
	if len(w.OrderClause) > 0 {
		p.put(sep, "ORDER BY ")
		p.list(w.OrderClause, p.sortBy)
		sep = " "
	}
	if o := w.FrameOptions; o&frameNonDefault != 0 {
		p.put(sep)
		p.frame(w, o)
	} else if p.d.closed && len(w.OrderClause) > 0 {
		// An engine that knows that no two rows are equal would take a frame of rows.
		p.put(sep, "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW")
	}
	p.put(")")
}

func (p *printer) frame(w *pgquery.WindowDef, o int32) {
	if o&^frameKnown != 0 || p.d.closed && o&frameExclude != 0 {
		p.fail("a window frame")
	}
	switch {
	case o&frameRows != 0:
		p.put("ROWS ")
	case o&frameGroups != 0:
		if p.d.closed && len(w.OrderClause) == 0 {
			p.fail("a window frame of groups without ORDER BY")
		}
		p.put("GROUPS ")
	case o&frameRange != 0:
		p.put("RANGE ")
	default:
		p.fail("a window frame")
	}
	if o&frameBetween != 0 {
		p.put("BETWEEN ")
	}
	p.bound(w.StartOffset, o&frameStartUnbounded != 0, false, o&frameStartCurrent != 0, o&frameStartPreceding != 0, o&frameStartFollowing != 0)
	if o&frameBetween != 0 {
		p.put(" AND ")
		p.bound(w.EndOffset, false, o&frameEndUnbounded != 0, o&frameEndCurrent != 0, o&frameEndPreceding != 0, o&frameEndFollowing != 0)
	}
	switch o & frameExclude {
	case 0:
	case frameExcludeCurrent:
		p.put(" EXCLUDE CURRENT ROW")
	case frameExcludeGroup:
		p.put(" EXCLUDE GROUP")
	case frameExcludeTies:
		p.put(" EXCLUDE TIES")
	default:
		p.fail("a window frame's EXCLUDE")
	}
}

func (p *printer) bound(offset *pgquery.Node, first, last, current, preceding, following bool) {
	switch {
	case first:
		p.put("UNBOUNDED PRECEDING")
	case last:
		p.put("UNBOUNDED FOLLOWING")
	case current:
		p.put("CURRENT ROW")
	case preceding:
		p.offset(offset)
		p.put(" PRECEDING")
	case following:
		p.offset(offset)
		p.put(" FOLLOWING")
	default:
		p.fail("a window frame's bound")
	}
}

// offset prints the distance of a frame's bound.
func (p *printer) offset(n *pgquery.Node) {
	if p.d.closed {
		if _, ok := n.GetAConst().GetVal().(*pgquery.A_Const_Ival); !ok {
			p.fail("a window frame's bound that is no number")
			return
		}
		p.place(n)
		return
	}
	p.operand(n)
}
