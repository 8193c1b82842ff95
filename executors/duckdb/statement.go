package duckdb

import (
	"fmt"
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"

	"gatehouse/auth"
	"gatehouse/classify"
	"gatehouse/executors"
	"gatehouse/plan"
	"gatehouse/policy"
)

// statement is what the engine gets for one plan.
type statement struct {
	text string
	// shape is the text with every scan replaced by typed NULLs: all that the user and the policies wrote, and nothing that
	// depends on files. What it reads is checked once, see checks.
	shape string
	// constant is shape with NULL for every parameter, for plans that the engine cannot serialise before it has values.
	constant string
	// governed is the relations alone, without the user's part: if it does not bind, the fault is not the user's.
	governed string
	// safe is what runs instead of text with parameters of other types than the engine took them for: no sum in it counts on a type. "" if
	// none in text does.
	safe string
	// settled: each aggregate has a form of order.go.
	settled bool
}

// relationParts is one relation as text around its scan.
type relationParts struct{ before, after string }

// relationTexts are the relations of a statement as common table expressions: with their scans, with stubs in their place, and as subqueries
// that count the rows of each.
type relationTexts struct{ real, stub, only []string }

func newRelationTexts(scans []*scan, key auth.Secret) (*relationTexts, error) {
	out := &relationTexts{}
	for i := range scans {
		r := scans[i].relation
		parts, err := newRelationParts(r, key)
		if err != nil {
			return nil, err
		}
		text, err := scans[i].text()
		if err != nil {
			return nil, err
		}
		out.real = append(out.real, parts.before+text+parts.after)
		out.stub = append(out.stub, parts.before+"SELECT "+stubColumns(r.Scan.Fields)+parts.after)
		out.only = append(out.only, "(SELECT count(*) FROM "+identifier(r.CTE)+")")
	}
	return out, nil
}

// newStatement puts the relations in front of the user's tree.
func newStatement(tree *pgquery.SelectStmt, params int, relations *relationTexts) (*statement, error) {
	user, err := printSelect(tree)
	if err != nil {
		return nil, internal("printing the statement: %w", err)
	}
	with := tree.WithClause
	opening := "WITH "
	switch {
	case with.GetRecursive():
		opening = "WITH RECURSIVE "
	case with == nil && strings.HasPrefix(user, "WITH "):
		return nil, internal("a WITH that the tree does not have")
	}
	rest, separator := user, " "
	if with != nil {
		var ok bool
		if rest, ok = strings.CutPrefix(user, opening); !ok {
			return nil, internal("a WITH that was not printed")
		}
		separator = ", "
	}
	restNull := rest
	if params > 0 {
		null := &pgquery.Node{Node: &pgquery.Node_AConst{AConst: &pgquery.A_Const{Isnull: true}}}
		text, err := printSelect(classify.FillParams(tree, func(int) *pgquery.Node { return null }))
		if err != nil {
			return nil, internal("printing the statement: %w", err)
		}
		if restNull = text; with != nil {
			restNull = strings.TrimPrefix(text, opening)
		}
	}
	if len(relations.real) == 0 {
		if with != nil {
			restNull = opening + restNull
		}
		return &statement{text: user, shape: user, constant: restNull, governed: "SELECT 1", settled: true}, nil
	}
	return &statement{
		text:     opening + strings.Join(relations.real, ", ") + separator + rest,
		shape:    opening + strings.Join(relations.stub, ", ") + separator + rest,
		constant: opening + strings.Join(relations.stub, ", ") + separator + restNull,
		governed: "WITH " + strings.Join(relations.stub, ", ") + " SELECT " + strings.Join(relations.only, ", "), settled: true,
	}, nil
}

// newRelationParts prints
//
//	"__gw_1" AS [NOT] MATERIALIZED (SELECT CAST(mask AS type) AS "name", … FROM (SELECT c1 AS "name", … FROM (scan)) WHERE filter AND pushed)
//
// MATERIALIZED is the barrier: nothing of the user's is evaluated on a row that the filter removes. Without the need for one,
// NOT MATERIALIZED lets the engine push the user's conditions and projections into the scan. If a mask could fail on a value of a
// hidden row, there is a barrier of its own between the rows and the masks:
//
//	"__gw_1" AS … (WITH __gw_rows AS MATERIALIZED (SELECT * FROM … WHERE …) SELECT CAST(mask AS type) AS "name", … FROM __gw_rows)
func newRelationParts(r *plan.Relation, key auth.Secret) (relationParts, error) {
	if err := distinctNames(r); err != nil {
		return relationParts{}, err
	}
	expression := func(n *pgquery.Node) (string, error) {
		expanded, err := policy.ExpandHash(n, key)
		if err != nil {
			return "", internal("%w", err)
		}
		text, err := printExpr(expanded)
		if err != nil {
			return "", internal("printing a policy expression: %w", err)
		}
		return text, nil
	}
	var columns []string
	for _, c := range r.Columns {
		value := identifier(rawPrefix + columnName(c.FieldID))
		if c.Mask != nil {
			mask, err := expression(c.Mask)
			if err != nil {
				return relationParts{}, err
			}
			value = fmt.Sprintf("CAST((%s) AS %s)", mask, c.Type)
		}
		columns = append(columns, value+" AS "+identifier(c.Name))
	}
	var conditions []string
	nodes := r.Pushed
	if r.Filter != nil {
		nodes = append([]*pgquery.Node{r.Filter}, nodes...)
	}
	for _, n := range nodes {
		text, err := expression(n)
		if err != nil {
			return relationParts{}, err
		}
		conditions = append(conditions, "("+text+")")
	}
	form := "NOT MATERIALIZED"
	if r.Barrier {
		form = "MATERIALIZED"
	}
	after := ") AS __gw_scan) AS __gw_raw"
	if len(conditions) > 0 {
		after += " WHERE " + strings.Join(conditions, " AND ")
	}
	if r.MaskFails && (r.Filter != nil || len(r.Scan.Deletes) > 0) {
		return relationParts{
			before: fmt.Sprintf("%s AS %s (WITH __gw_rows AS MATERIALIZED (SELECT * FROM (SELECT %s FROM (", identifier(r.CTE), form, rawColumns(r)),
			after:  after + ") SELECT " + strings.Join(columns, ", ") + " FROM __gw_rows)",
		}, nil
	}
	return relationParts{
		before: fmt.Sprintf("%s AS %s (SELECT %s FROM (SELECT %s FROM (",
			identifier(r.CTE), form, strings.Join(columns, ", "), rawColumns(r)),
		after: after + ")",
	}, nil
}

// rawPrefix starts the names of raw columns that are shown as they are, apart from the names that masks and filters use.
const rawPrefix = "__gw_raw_"

// rawColumns gives the scan's columns the names that masks and filters use, and one more each for what is shown unmasked.
func rawColumns(r *plan.Relation) string {
	var out []string
	expressions := r.Filter != nil || len(r.Pushed) > 0
	for _, c := range r.Columns {
		expressions = expressions || c.Mask != nil
		if c.Mask == nil {
			out = append(out, columnName(c.FieldID)+" AS "+identifier(rawPrefix+columnName(c.FieldID)))
		}
	}
	if expressions {
		for _, f := range r.Scan.Fields {
			out = append(out, columnName(f.ID)+" AS "+identifier(f.Name))
		}
	}
	if len(out) == 0 {
		return "1"
	}
	return strings.Join(out, ", ")
}

// distinctNames refuses names that the engine cannot tell apart: it would answer with the first column for both.
func distinctNames(r *plan.Relation) error {
	clash := func(kind, hint string, names []string) error {
		seen := map[string]bool{}
		for _, n := range names {
			if folded := strings.ToLower(n); seen[folded] {
				return &executors.Error{
					Kind:  executors.KindUnsupported,
					Hint:  hint,
					Cause: fmt.Errorf("%s %q", kind, n),
				}
			} else {
				seen[folded] = true
			}
		}
		return nil
	}
	var shown, raw []string
	expressions := r.Filter != nil || len(r.Pushed) > 0
	for _, c := range r.Columns {
		shown = append(shown, c.Name)
		expressions = expressions || c.Mask != nil
	}
	if expressions {
		for _, f := range r.Scan.Fields {
			raw = append(raw, f.Name)
		}
	}
	if err := clash("column", "the table has columns whose names differ only in case", shown); err != nil {
		return err
	}
	return clash("raw column", "", raw) // one of the two may be hidden
}
