package gateway

import (
	"context"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/scalar"

	"gatehouse/classify"
	"gatehouse/executors"
	"gatehouse/plan"
)

// Prepared is a statement that its owner may run many times. It holds text and schemas only: every Execute decides again
// with the policy in force at that moment, and for the session that executes.
type Prepared struct {
	g      *Gateway
	sql    string
	schema *arrow.Schema
	params *arrow.Schema
	rows   bool
}

// Prepare takes a statement through every stage and keeps what clients need to know of it.
func (g *Gateway) Prepare(ctx context.Context, s *Session, sql string) (*Prepared, error) {
	r, err := g.begin(ctx, s, "prepare")
	if err != nil {
		return nil, err
	}
	p, err := r.prepare(sql)
	if err = r.finish(err); err != nil {
		return nil, err
	}
	return p, nil
}

func (r *run) prepare(sql string) (*Prepared, error) {
	stmt, err := r.classify(sql)
	if err != nil {
		return nil, err
	}
	empty := arrow.NewSchema(nil, nil)
	out := &Prepared{g: r.g, sql: sql, schema: empty, params: empty, rows: returnsRows(stmt)}
	if !out.rows {
		return out, nil
	}
	if stmt.Kind() != classify.KindSelect {
		out.schema, err = answerSchema(stmt)
		return out, err
	}
	p, err := r.plan(stmt)
	if err != nil {
		return nil, err
	}
	return out, r.stage("prepare", func() error { return out.describe(r, p) })
}

func (p *Prepared) describe(r *run, pl *plan.Plan) error {
	var prepared executors.Prepared
	prepared, err := r.executor().Prepare(r.ctx, pl)
	if err != nil {
		return err
	}
	p.schema, p.params = r.session.present(prepared.Schema()), prepared.Params()
	return prepared.Close()
}

// Schema is the result's schema; empty for a statement that returns no rows.
func (p *Prepared) Schema() *arrow.Schema { return p.schema }

// Params are the parameters' types, arrow.Null where unknown.
func (p *Prepared) Params() *arrow.Schema { return p.params }

// Rows reports whether the statement returns rows; if not, run it with Update.
func (p *Prepared) Rows() bool { return p.rows }

// SQL returns the statement's text as its owner wrote it.
func (p *Prepared) SQL() string { return p.sql }

// Execute decides anew and returns a result with args bound by position.
func (p *Prepared) Execute(ctx context.Context, s *Session, args []any) (*Result, error) {
	r, err := p.g.begin(ctx, s, "execute")
	if err != nil {
		return nil, err
	}
	if args == nil {
		args = []any{}
	}
	res, err := r.query(p.sql, args)
	if err != nil {
		return nil, r.finish(err)
	}
	return res, nil
}

// settle puts what it can of the values of stmt's parameters into its tree, where they count as constants, and returns the
// values that are left to bind.
func settle(stmt *classify.Statement, args []any) (*classify.Statement, []any, error) {
	if len(args) != stmt.Params() {
		return nil, nil, &classify.SyntaxError{Message: "the number of bound values is not the number of parameters", Pos: -1}
	}
	values := make([]any, len(args))
	for i, v := range args {
		values[i] = v
		if d, ok := v.(*scalar.Date32); ok && d.IsValid() {
			values[i] = classify.Date(d.Value.ToTime().Format(time.DateOnly))
		}
	}
	stmt, left, err := stmt.WithArgs(values)
	rest := make([]any, len(left))
	for i, k := range left {
		rest[i] = args[k]
	}
	return stmt, rest, err
}

// Update runs a statement that returns no rows, and returns how many rows it changed: 0 for SET, USE and the like.
func (g *Gateway) Update(ctx context.Context, s *Session, sql string) (int64, error) {
	r, err := g.begin(ctx, s, "update")
	if err != nil {
		return 0, err
	}
	return 0, r.finish(r.update(sql))
}

func (r *run) update(sql string) error {
	stmt, err := r.classify(sql)
	if err != nil {
		return err
	}
	if returnsRows(stmt) {
		return &classify.UnsupportedError{Construct: "a statement that returns rows, run as an update", Pos: -1}
	}
	res, err := r.answer(stmt)
	if err != nil {
		return err
	}
	res.local.Release()
	return nil
}

func returnsRows(stmt *classify.Statement) bool {
	switch stmt.Kind() {
	case classify.KindSet, classify.KindUse, classify.KindTransaction, classify.KindAccess, classify.KindSetRole:
		return false
	}
	return true
}
