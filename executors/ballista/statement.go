package ballista

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	pgquery "github.com/pganalyze/pg_query_go/v6"

	"gatehouse/classify"
	"gatehouse/classify/printer"
	"gatehouse/executors"
)

// text prints the user's part of the statement, which reads the relations by name. args are the values of its parameters; nil stands
// for NULL in the place of each.
func (s *Prepared) text(args []any) (string, error) {
	tree := s.plan.Tree()
	if n := s.params.NumFields(); n > 0 {
		values := make([]*pgquery.Node, n)
		for i := range values {
			var v any
			if args != nil {
				v = args[i]
			}
			var err error
			if values[i], err = parameter(i, v, s.params.Field(i).Type); err != nil {
				return "", err
			}
		}
		tree = classify.FillParams(tree, func(n int) *pgquery.Node {
			if n < 1 || n > len(values) {
				return nil
			}
			return values[n-1]
		})
	}
	out, err := printer.PrintSelect(tree, printer.DataFusion())
	return out, notPrinted(err)
}

// expression prints an expression of a policy, or a condition that is evaluated beside it.
func expression(n *pgquery.Node) (string, error) {
	out, err := printer.PrintExpr(n, printer.DataFusion())
	if err != nil {
		// The words would speak of a policy.
		return "", unsupported("reading one of its tables", err)
	}
	return out, nil
}

// notPrinted refuses what the printer does not know. Its words are about syntax and names of functions.
func notPrinted(err error) error {
	if e, ok := errors.AsType[*printer.UnknownError](err); ok {
		return unsupported(strings.ReplaceAll(e.What, "*pg_query.Node_", ""), err)
	}
	return err
}

// parameter is the value of a parameter, as a literal of the type that was announced.
func parameter(i int, v any, t arrow.DataType) (*pgquery.Node, error) {
	name, mods, err := typeName(t)
	if err != nil {
		return nil, err
	}
	bad := &executors.Error{Kind: executors.KindArgument, Hint: fmt.Sprintf("the value of parameter %d does not fit its type", i+1)}
	switch v := v.(type) {
	case nil:
		return castNode(&pgquery.Node{Node: &pgquery.Node_AConst{AConst: &pgquery.A_Const{Isnull: true}}}, name, mods), nil
	case bool:
		return castNode(&pgquery.Node{Node: &pgquery.Node_AConst{AConst: &pgquery.A_Const{
			Val: &pgquery.A_Const_Boolval{Boolval: &pgquery.Boolean{Boolval: v}},
		}}}, name, mods), nil
	case int64:
		if t.ID() == arrow.INT32 && (v < math.MinInt32 || v > math.MaxInt32) {
			return nil, bad
		}
		if !arrow.IsInteger(t.ID()) {
			return nil, unsupported("a parameter of this type", nil)
		}
		return castNode(number(strconv.FormatInt(v, 10)), name, mods), nil
	case string:
		switch {
		case t.ID() == arrow.STRING:
			return castNode(pgquery.MakeAConstStrNode(v, -1), name, mods), nil
		case t.ID() == arrow.DECIMAL128 && decimalText.MatchString(v):
			return castNode(number(v), name, mods), nil
		}
		return nil, unsupported("a parameter of this type", nil)
	}
	return nil, unsupported("a parameter of this type", nil)
}

var decimalText = regexp.MustCompile(`^-?[0-9]{1,37}(\.[0-9]+)?$`)

// number is a numeric constant.
func number(text string) *pgquery.Node {
	return &pgquery.Node{Node: &pgquery.Node_AConst{AConst: &pgquery.A_Const{Val: &pgquery.A_Const_Fval{Fval: &pgquery.Float{Fval: text}}}}}
}

func castNode(n *pgquery.Node, name string, mods []*pgquery.Node) *pgquery.Node {
	return &pgquery.Node{Node: &pgquery.Node_TypeCast{TypeCast: &pgquery.TypeCast{
		Arg: n, TypeName: &pgquery.TypeName{Names: []*pgquery.Node{pgquery.MakeStrNode(name)}, Typmods: mods, Typemod: -1},
	}}}
}

// typeName is the name of a parameter's type in a classified tree.
func typeName(t arrow.DataType) (string, []*pgquery.Node, error) {
	switch t.ID() {
	case arrow.BOOL:
		return "boolean", nil, nil
	case arrow.INT32:
		return "integer", nil, nil
	case arrow.INT64:
		return "bigint", nil, nil
	case arrow.FLOAT64:
		return "double", nil, nil
	case arrow.STRING:
		return "varchar", nil, nil
	case arrow.DATE32:
		return "date", nil, nil
	case arrow.DECIMAL128:
		d := t.(*arrow.Decimal128Type)
		return "decimal", []*pgquery.Node{pgquery.MakeAConstIntNode(int64(d.Precision), -1), pgquery.MakeAConstIntNode(int64(d.Scale), -1)}, nil
	}
	return "", nil, unsupported("a parameter whose type is "+strconv.Quote(t.Name()), nil)
}
