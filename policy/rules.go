package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	pgquery "github.com/pganalyze/pg_query_go/v6"

	"gatehouse/classify"
)

// The operations about row filters, masks and tags that are made with statements, asked of the table, or of no table for a
// mask by tag.
const (
	CreateRowFilter Operation = "CreateRowFilter"
	AlterRowFilter  Operation = "AlterRowFilter"
	DropRowFilter   Operation = "DropRowFilter"
	CreateMask      Operation = "CreateMask"
	AlterMask       Operation = "AlterMask"
	DropMask        Operation = "DropMask"
	SetTag          Operation = "SetTag"
	UnsetTag        Operation = "UnsetTag"
	ShowTablePolicy Operation = "ShowTablePolicy" // may the caller see the texts of a table's filters and masks?
)

// Value is the name that a mask's expression has for the column that it masks.
const Value = "value"

// Rule is a row filter or mask that was made with a statement.
type Rule struct {
	Name       string         `json:"name" yaml:"name"`
	Expression string         `json:"expression" yaml:"expression"`
	Fields     map[string]int `json:"fields,omitempty" yaml:"fields,omitempty,flow"`   // what the names in Expression mean, by field id
	Columns    map[string]int `json:"columns,omitempty" yaml:"columns,omitempty,flow"` // that a mask is on, by field id
	Tag        *Tag           `json:"tag,omitempty" yaml:"tag,omitempty"`              // that a mask is on instead
	To         []Principal    `json:"to" yaml:"to,flow"`                               // whom it binds
	Except     []Principal    `json:"except,omitempty" yaml:"except,omitempty,flow"`   // whom it spares
	Priority   int            `json:"priority,omitempty" yaml:"priority,omitempty"`
	UUID       string         `json:"uuid,omitempty" yaml:"uuid,omitempty"`   // the table that it was made for
	Maker      Principal      `json:"maker,omitempty" yaml:"maker,omitempty"` // who made or last changed it
	Reads      bool           `json:"value,omitempty" yaml:"value,omitempty"` // Expression reads Value
}

// PlacedRule is a rule and where it holds: on a table, or, by tag, anywhere.
type PlacedRule struct {
	Rule
	Mask   bool
	Object Object // zero for a mask by tag
	By     string
	At     time.Time
}

// Where names the rule and what it is on.
func (r PlacedRule) Where() string {
	switch {
	case !r.Mask:
		return fmt.Sprintf("row filter %q on %s", r.Name, r.Object)
	case r.Tag != nil:
		return fmt.Sprintf("mask %q on tag %s", r.Name, r.Tag)
	}
	return fmt.Sprintf("mask %q on %s", r.Name, r.Object)
}

// PlacedTag is a tag and what bears it.
type PlacedTag struct {
	Tag
	Object Object
	Column string // its name when the tag was set; "" for the table
	Field  int    // its field id
	UUID   string // the table that it was set on
}

// Tag is a key with a value that tables and columns bear and masks are bound to.
type Tag struct {
	Key   string `json:"key" yaml:"key"`
	Value string `json:"value,omitempty" yaml:"value,omitempty"`
	Any   bool   `json:"any,omitempty" yaml:"any,omitempty"` // of a mask: whatever the value
}

// String is the tag as statements write it.
func (t Tag) String() string {
	if t.Any {
		return t.Key
	}
	return t.Key + " = '" + strings.ReplaceAll(t.Value, "'", "''") + "'"
}

// The parameters that stand for the caller in expressions, if a policy gives them.
const (
	paramUser  = "current_user"
	paramRole  = "current_role"
	paramRoles = "current_roles"
)

// roleFunction is is_role_in_session('name'), a constant that says whether the caller has a role.
const roleFunction = "is_role_in_session"

// caller returns the constant for current_user and its kin, which is a parameter of the policy's.
func (b *binder) caller(op pgquery.SQLValueFunctionOp) (*pgquery.Node, error) {
	name := strings.ToLower(strings.TrimPrefix(op.String(), "SVFOP_"))
	param := ""
	switch op {
	case pgquery.SQLValueFunctionOp_SVFOP_CURRENT_USER, pgquery.SQLValueFunctionOp_SVFOP_SESSION_USER, pgquery.SQLValueFunctionOp_SVFOP_USER:
		param = paramUser
	case pgquery.SQLValueFunctionOp_SVFOP_CURRENT_ROLE:
		param = paramRole
	}
	v, ok := b.params[param].(string)
	if !ok {
		return nil, fmt.Errorf("%s is not allowed in a policy expression", name)
	}
	return literal(v)
}

// inRole returns the constant for is_role_in_session('name').
func (b *binder) inRole(args []*pgquery.Node) (*pgquery.Node, error) {
	roles, ok := b.params[paramRoles].([]any)
	if !ok {
		return nil, fmt.Errorf("function %s is not allowed in a policy expression", roleFunction)
	}
	if len(args) != 1 || args[0].GetAConst().GetSval() == nil {
		return nil, fmt.Errorf("function %s takes the name of a role, as a text", roleFunction)
	}
	for _, r := range roles {
		if r == args[0].GetAConst().GetSval().Sval {
			return boolConst(true), nil
		}
	}
	return boolConst(false), nil
}

// find returns the column that parts name.
func (b *binder) find(parts []string) (classify.Column, error) {
	if b.named != nil && len(parts) > 1 {
		return classify.Column{}, fmt.Errorf("%q: columns are named without their table here", strings.Join(parts, "."))
	}
	if b.fields == nil {
		return resolve(parts, b.table)
	}
	id, ok := b.fields[parts[len(parts)-1]]
	if ok && len(parts) == 1 {
		for _, c := range b.table.Columns {
			if c.FieldID == id {
				return c, nil
			}
		}
	}
	return classify.Column{}, fmt.Errorf("the table has no column that %q could mean", strings.Join(parts, "."))
}

// BindRule checks the expression of a row filter or mask against the columns of t, and returns what the names in it mean by
// field id and, of a mask, whether it reads Value. t has the columns that the maker may name. value is the column that Value
// means, nil if it means none: then the expression may name no other column than one of this name.
func BindRule(sql string, t Table, mask bool, value *classify.Column) (fields map[string]int, reads bool, err error) {
	if mask && value != nil && !hasColumn(t, Value) {
		t.Columns = append(append([]classify.Column(nil), t.Columns...), classify.Column{Name: Value, FieldID: value.FieldID, Type: value.Type})
		reads = true
	}
	b := &binder{table: t, reads: map[int]bool{}, named: map[string]int{}, params: SampleParams()}
	n, err := b.read(Expression{SQL: sql, Params: b.params})
	if err != nil {
		return nil, false, err
	}
	if !mask && !isBoolean(n, t) {
		return nil, false, errors.New("a row filter must be a condition")
	}
	_, used := b.named[Value]
	if reads = reads && used; reads {
		delete(b.named, Value)
	}
	return b.named, reads, nil
}

// FilterMayFail reports whether a row filter could fail on some row of t. The engine evaluates all filters of a table in an order
// of its own, so one that fails tells of rows that the others hide.
func FilterMayFail(r Rule, t Table) (bool, error) {
	n, _, err := expression(Expression{SQL: r.Expression, Params: SampleParams(), Fields: r.Fields}, t)
	if err != nil {
		return false, err
	}
	return mayFail(n, t), nil
}

// mayFail reports whether a bound condition could fail on some row of t.
func mayFail(n *pgquery.Node, t Table) bool {
	return classify.ExprClassTyped(hashesAsCalls(n), typesOf(classify.Relation{Columns: t.Columns})) != classify.ClassLeakproof
}

// CheckMask reports why a mask cannot stand in for a column of t: an engine would cast what it gives to the column's type, and
// fail on the first row.
func CheckMask(e Expression, t Table, column classify.Column) error {
	n, _, err := expression(e, t)
	if err == nil && column.Type != "VARCHAR" && isText(n, t) {
		err = fmt.Errorf("it gives text, and column %q is %s", column.Name, column.Type)
	}
	return err
}

// textFunctions give text, whatever they are called with. The names are those of bound calls, see rewriteCall.
var textFunctions = []string{
	"concat_ws", "left", "lower", "lpad", "ltrim", "md5", "regexp_extract", "regexp_replace", "repeat", "replace", "reverse", "right",
	"rpad", "rtrim", "sha256", "split_part", "substr", "substring", "to_base64", "hex", "translate", "trim", "upper", HashMarker,
}

// isText reports whether the value of n is surely a text.
func isText(n *pgquery.Node, t Table) bool {
	any := func(ns []*pgquery.Node) bool {
		return slices.ContainsFunc(ns, func(n *pgquery.Node) bool { return isText(n, t) })
	}
	switch x := n.GetNode().(type) {
	case *pgquery.Node_AConst:
		return x.AConst.GetSval() != nil
	case *pgquery.Node_ColumnRef:
		c, ok := columnNamed(t.Columns, x.ColumnRef.Fields[0].GetString_().GetSval())
		return ok && c.Type == "VARCHAR"
	case *pgquery.Node_AExpr:
		return x.AExpr.Kind == pgquery.A_Expr_Kind_AEXPR_OP && x.AExpr.Name[0].GetString_().GetSval() == "||" ||
			x.AExpr.Kind == pgquery.A_Expr_Kind_AEXPR_NULLIF && isText(x.AExpr.Lexpr, t)
	case *pgquery.Node_CaseExpr:
		for _, w := range x.CaseExpr.Args {
			if isText(w.GetCaseWhen().GetResult(), t) {
				return true
			}
		}
		return isText(x.CaseExpr.Defresult, t)
	case *pgquery.Node_CoalesceExpr:
		return any(x.CoalesceExpr.Args)
	case *pgquery.Node_MinMaxExpr:
		return any(x.MinMaxExpr.Args)
	case *pgquery.Node_TypeCast:
		return x.TypeCast.TypeName.Names[0].GetString_().GetSval() == "varchar"
	case *pgquery.Node_FuncCall:
		return slices.Contains(textFunctions, x.FuncCall.Funcname[len(x.FuncCall.Funcname)-1].GetString_().GetSval())
	}
	return false
}

func hasColumn(t Table, name string) bool {
	for _, c := range t.Columns {
		if strings.EqualFold(c.Name, name) {
			return true
		}
	}
	return false
}

// SampleParams are values for what an expression of a Rule may ask about the caller, to check it with.
func SampleParams() map[string]any {
	return map[string]any{paramUser: "", paramRole: "", paramRoles: []any{}}
}
