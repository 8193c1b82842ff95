package classify

import (
	"reflect"
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// allow walks a tree and refuses every message, field, enum value, operator and function that is not listed. It also
// notes what the listed ones are: which functions are called and which tables travel.
type allow struct {
	functions map[string]bool
	travel    map[*pgquery.RangeVar]Travel
	pos       int // of the nearest node around that has one
	depth     int
	// placed holds the stars and markers that the node above has found to be in their place. They are refused elsewhere.
	placed  map[any]bool
	windows int  // definitions of windows around
	steep   bool // there is a LIKE that becomes a regular expression
	folded  bool // there is a COLLATE, which such an expression does not know
}

func newAllow() *allow {
	return &allow{functions: map[string]bool{}, travel: map[*pgquery.RangeVar]Travel{}, pos: -1, placed: map[any]bool{}}
}

// names returns the functions that are called, sorted.
func (a *allow) names() []string { return sorted(a.functions) }

// check walks a whole SELECT.
func (a *allow) check(sel *pgquery.SelectStmt) error {
	if err := a.message(sel); err != nil {
		return err
	}
	if a.steep && a.folded {
		return &UnsupportedError{Construct: "COLLATE beside LIKE with several % and _, or with a pattern that is not a literal", Pos: -1}
	}
	return nil
}

func (a *allow) refuse(construct string) error {
	return &UnsupportedError{Construct: construct, Pos: a.pos}
}

func (a *allow) message(m proto.Message) error {
	if a.depth++; a.depth > maxDepth {
		return a.refuse("nesting that deep")
	}
	defer func() { a.depth-- }()
	l, v := layoutOf(m), reflect.ValueOf(m).Elem()
	if l.unknown < 0 || v.Field(l.unknown).Len() > 0 {
		return a.refuse("an unknown construct")
	}
	if n, ok := m.(*pgquery.Node); ok {
		if c := content(n); c != nil {
			return a.message(c)
		}
		return nil // an empty place in a list, such as a slice's missing bound
	}
	defer func(pos int) { a.pos = pos }(a.pos)
	if pos := positionOf(m); pos >= 0 {
		a.pos = pos
	}
	if !l.allowed {
		return a.refuse(constructName(string(l.name)))
	}
	if err := a.inspect(m); err != nil {
		return err
	}
	if w, ok := m.(*pgquery.WindowDef); ok && w.Name != QualifyWindow {
		a.windows++
		defer func() { a.windows-- }()
	}
	for i := range l.fields {
		f := &l.fields[i]
		if v.Field(f.index).IsZero() || f.kind == fieldNodes && len(f.nodes(v)) == 0 {
			continue
		}
		if err := a.field(m, v, f, l); err != nil {
			return err
		}
	}
	return nil
}

// field checks a field that is set.
func (a *allow) field(m proto.Message, v reflect.Value, f *layoutField, l *layout) error {
	if f.kind == fieldUnion {
		return a.constant(m.(*pgquery.A_Const))
	}
	if !f.allowed || f.kind == fieldOther {
		a.pos = max(a.pos, firstPosition(v, f))
		return a.refuse(fieldName(string(l.name), string(f.name)))
	}
	switch f.kind {
	case fieldEnum:
		if k := v.Field(f.index).Int(); !f.values[k] {
			return a.refuse(enumName(f.enum, f.enum.Enum().Values().ByNumber(protoreflect.EnumNumber(k))))
		}
	case fieldNodes:
		for _, n := range f.nodes(v) {
			if n == nil {
				return a.refuse("an unknown construct")
			}
			if err := a.message(n); err != nil {
				return err
			}
		}
	case fieldMessage:
		return a.message(f.message(v))
	}
	return nil
}

func (a *allow) constant(c *pgquery.A_Const) error {
	switch c.Val.(type) {
	case *pgquery.A_Const_Ival, *pgquery.A_Const_Fval, *pgquery.A_Const_Boolval, *pgquery.A_Const_Sval:
		return children(c, a.message)
	}
	return a.refuse(fieldName("A_Const", "bsval"))
}

// positionOf returns where m stands in the text, -1 if that is not known.
func positionOf(m proto.Message) int {
	at, ok := locationOf(m)
	switch {
	case ok && at != nil && *at > 0:
		return int(*at)
	case ok:
		return -1
	}
	r := m.ProtoReflect()
	if f := r.Descriptor().Fields().ByName("location"); f != nil && f.Kind() == protoreflect.Int32Kind && r.Get(f).Int() > 0 {
		return int(r.Get(f).Int())
	}
	return -1
}

// firstPosition returns the smallest position inside field f of the message v, -1 if there is none.
func firstPosition(v reflect.Value, f *layoutField) int {
	first := -1
	note := func(m proto.Message) bool {
		if p := positionOf(m); p >= 0 && (first < 0 || p < first) {
			first = p
		}
		return true
	}
	switch f.kind {
	case fieldNodes:
		for _, n := range f.nodes(v) {
			descend(n, note)
		}
	case fieldMessage:
		descend(f.message(v), note)
	}
	return first
}

// inspect checks what a list of fields can't say.
func (a *allow) inspect(m proto.Message) error {
	switch n := m.(type) {
	case *pgquery.JoinExpr:
		if f, _ := asof(n); f != nil && (n.Jointype == pgquery.JoinType_JOIN_INNER || n.Jointype == pgquery.JoinType_JOIN_LEFT) {
			a.placed[f] = true
		}
	case *pgquery.SelectStmt:
		return a.selectStmt(n)
	case *pgquery.FuncCall:
		return a.call(n)
	case *pgquery.A_Expr:
		return a.operator(n)
	case *pgquery.RangeVar:
		if !n.Inh {
			return a.refuse("ONLY")
		}
	case *pgquery.RangeFunction:
		return a.rangeFunction(n)
	case *pgquery.RangeTableSample:
		return a.timeTravel(n)
	case *pgquery.SubLink:
		for _, o := range n.OperName {
			if s := o.GetString_().GetSval(); !comparison[s] || len(n.OperName) != 1 {
				return a.refuse("operator " + s + " with a subquery")
			}
		}
	case *pgquery.ResTarget:
		return a.target(n)
	case *pgquery.ColumnRef:
		return a.star(n)
	case *pgquery.RowExpr:
		if n.RowFormat == pgquery.CoercionForm_COERCE_EXPLICIT_CALL {
			a.functions["row"] = true
		}
	case *pgquery.CollateClause:
		a.folded = true
		return a.collation(n)
	case *pgquery.TypeName:
		for _, t := range n.Typmods {
			a.place(t.GetFuncCall(), MarkerField)
		}
	case *pgquery.A_Indirection:
		for _, i := range n.Indirection {
			if i.GetAStar() != nil {
				return a.refuse("(…).*")
			}
		}
	}
	return nil
}

func (a *allow) collation(n *pgquery.CollateClause) error {
	if len(n.Collname) == 1 {
		switch fold(n.Collname[0].GetString_().GetSval()) {
		case "c", "posix", "nocase", "noaccent", "nfc":
			return nil
		}
	}
	return a.refuse("a collation")
}

func (a *allow) selectStmt(n *pgquery.SelectStmt) error {
	if n.All && n.Op == pgquery.SetOperation_SETOP_NONE {
		return a.refuse("SELECT … ALL")
	}
	if n.Op == pgquery.SetOperation_SETOP_NONE && len(n.TargetList) == 0 && len(n.ValuesLists) == 0 {
		return a.refuse("SELECT without targets")
	}
	if n.GroupDistinct {
		return a.refuse("GROUP BY DISTINCT")
	}
	for i, w := range n.WindowClause {
		if w.GetWindowDef().GetName() == QualifyWindow && i != len(n.WindowClause)-1 {
			return a.refuse("WINDOW after QUALIFY")
		}
	}
	if len(n.GroupClause) == 1 {
		a.place(n.GroupClause[0].GetFuncCall(), MarkerAll)
	}
	if len(n.SortClause) == 1 {
		a.place(n.SortClause[0].GetSortBy().GetNode().GetFuncCall(), MarkerAll)
	}
	return nil
}

// place notes that n, if it is the marker, is where it may be.
func (a *allow) place(n *pgquery.FuncCall, marker string) {
	if n != nil && nameOf(n) == marker {
		a.placed[n] = true
	}
}

func (a *allow) target(n *pgquery.ResTarget) error {
	if c := n.Val.GetColumnRef(); c != nil {
		a.placed[c] = true
	}
	f := n.Val.GetFuncCall()
	if f == nil || nameOf(f) != MarkerStar {
		return nil
	}
	if n.Name != "" {
		return a.refuse("an alias of *")
	}
	a.placed[f] = true
	return nil
}

// star refuses t.* anywhere but as a target: as an argument its meaning differs between engines.
func (a *allow) star(n *pgquery.ColumnRef) error {
	if len(n.Fields) > 0 && n.Fields[len(n.Fields)-1].GetAStar() != nil && !a.placed[n] {
		return a.refuse("* outside a list of targets")
	}
	return nil
}

// marker checks that a marker is where it belongs and places the ones inside.
func (a *allow) marker(n *pgquery.FuncCall, name string) error {
	inner := ""
	switch name {
	case MarkerTry, MarkerList, MarkerStruct, MarkerMap, MarkerLambda, MarkerInterval:
		inner = map[string]string{MarkerStruct: MarkerField, MarkerMap: MarkerEntry}[name]
	case MarkerAll, MarkerStar, MarkerExclude, MarkerReplace, MarkerRename, MarkerAs, MarkerField, MarkerEntry:
		if !a.placed[n] {
			return a.refuse("syntax of a list of targets in another place")
		}
		inner = map[string]string{MarkerReplace: MarkerAs, MarkerRename: MarkerAs}[name]
	case MarkerAsof:
		if !a.placed[n] {
			return a.refuse("an ASOF JOIN whose conditions are not joined by AND")
		}
	case MarkerIgnore:
		if !a.placed[n] || len(n.Args) > 0 {
			return a.refuse("IGNORE NULLS in another place")
		}
	default:
		return a.refuse("an unknown marker")
	}
	if n.Over != nil || n.AggFilter != nil || n.AggOrder != nil || n.AggDistinct || n.AggStar || n.AggWithinGroup {
		return a.refuse("an aggregate's clause after a literal")
	}
	for i, arg := range n.Args {
		if name == MarkerStar {
			if c := arg.GetColumnRef(); c != nil && i == 0 {
				a.placed[c] = true
			}
			a.place(arg.GetFuncCall(), MarkerExclude)
			a.place(arg.GetFuncCall(), MarkerReplace)
			a.place(arg.GetFuncCall(), MarkerRename)
		} else if inner != "" {
			a.place(arg.GetFuncCall(), inner)
		}
	}
	return nil
}

func nameOf(n *pgquery.FuncCall) string {
	if len(n.GetFuncname()) != 1 {
		return ""
	}
	return n.Funcname[0].GetString_().GetSval()
}

func (a *allow) call(n *pgquery.FuncCall) error {
	name := nameOf(n)
	if strings.HasPrefix(name, MarkerPrefix) {
		return a.marker(n, name)
	}
	f, ok := lookFunction(name)
	if (name == "similar_to_escape" || name == "like_escape") && a.placed[n] {
		if ok {
			a.functions[name] = true
		}
		return nil
	}
	if !ok {
		if ClassOfOperator(name) != ClassForbidden {
			return a.refuse("an operator called as a function")
		}
		return &NameError{Kind: "function", Name: name, Why: "does not exist", Pos: a.pos}
	}
	if f.kind != "aggregate" && f.kind != "window" {
		switch {
		case n.Over != nil:
			return a.refuse("OVER after function " + name)
		case n.AggFilter != nil || n.AggDistinct || n.AggOrder != nil || n.AggWithinGroup:
			return a.refuse("an aggregate's clause after function " + name)
		}
	}
	if n.Over != nil && a.windows > 0 {
		return a.refuse("a window function inside of a window's definition, also in a subquery there")
	}
	if isShim(name) && len(n.Args) > 0 {
		return a.refuse("an argument of " + name)
	}
	if k := len(n.Args) - 1; k > 0 && n.Over != nil && skipsNulls[name] {
		a.place(n.Args[k].GetFuncCall(), MarkerIgnore)
	}
	if n.AggStar && name != "count" {
		return a.refuse(name + "(*)")
	}
	a.functions[name] = true
	return a.bounded(n, name)
}

// skipsNulls are the window functions that know IGNORE NULLS.
var skipsNulls = map[string]bool{"lag": true, "lead": true, "first_value": true, "last_value": true, "nth_value": true}

var comparison = map[string]bool{"=": true, "<>": true, "<": true, "<=": true, ">": true, ">=": true}

// operator checks an operator's name, which for kinds such as BETWEEN is only a label.
func (a *allow) operator(n *pgquery.A_Expr) error {
	if len(n.Name) != 1 {
		return a.refuse("OPERATOR(…)")
	}
	op := n.Name[0].GetString_().GetSval()
	switch n.Kind {
	case pgquery.A_Expr_Kind_AEXPR_OP:
		if n.Lexpr == nil && op != "-" && op != "+" && op != "~" || ClassOfOperator(op) == ClassForbidden {
			return a.refuse("operator " + op)
		}
	case pgquery.A_Expr_Kind_AEXPR_LIKE, pgquery.A_Expr_Kind_AEXPR_ILIKE:
		return a.like(n)
	case pgquery.A_Expr_Kind_AEXPR_SIMILAR:
		if f := n.Rexpr.GetFuncCall(); f == nil || nameOf(f) != "similar_to_escape" || len(f.Args) != 1 {
			return a.refuse("SIMILAR TO … ESCAPE")
		} else {
			a.placed[f] = true // the grammar's own wrapper
		}
	case pgquery.A_Expr_Kind_AEXPR_OP_ANY, pgquery.A_Expr_Kind_AEXPR_OP_ALL:
		if !comparison[op] {
			return a.refuse("operator " + op + " with ANY or ALL")
		}
	}
	return nil
}

func (a *allow) rangeFunction(n *pgquery.RangeFunction) error {
	if len(n.Functions) != 1 || n.IsRowsfrom {
		return a.refuse("ROWS FROM")
	}
	list := n.Functions[0].GetList()
	if list == nil || len(list.Items) == 0 {
		return a.refuse("a table function")
	}
	f := list.Items[0].GetFuncCall()
	if f == nil {
		return a.refuse("a table function")
	}
	if name := nameOf(f); !IsSetReturning(name) {
		a.pos = int(f.Location)
		return a.refuse("table function " + name)
	}
	a.placed[f] = true
	for _, i := range list.Items[1:] {
		if i != nil && i.Node != nil {
			return a.refuse("a column definition list")
		}
	}
	return nil
}

// timeTravel accepts a table sample only as the marker of time travel, and notes the point in time.
func (a *allow) timeTravel(n *pgquery.RangeTableSample) error {
	rv := n.Relation.GetRangeVar()
	if rv == nil || len(n.Method) != 1 || len(n.Args) != 1 {
		return a.refuse("TABLESAMPLE")
	}
	method := n.Method[0].GetString_().GetSval()
	c := n.Args[0].GetAConst()
	if method != MarkerAtVersion && method != MarkerAtTimestamp || c == nil {
		return a.refuse("TABLESAMPLE")
	}
	value, isString := constant(c)
	at, err := parseTravel(method, value, isString, a.pos)
	a.travel[rv] = at
	return err
}
