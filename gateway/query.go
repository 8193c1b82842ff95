package gateway

import (
	"context"
	"fmt"

	"gatehouse/classify"
	"gatehouse/executors"
	"gatehouse/plan"
	"gatehouse/policy"
)

// Query takes one statement through every stage up to the executor's prepared form: nothing has run yet, and the schema is
// known. The caller runs the result once, or closes it.
func (g *Gateway) Query(ctx context.Context, s *Session, sql string) (*Result, error) {
	r, err := g.begin(ctx, s, "statement")
	if err != nil {
		return nil, err
	}
	res, err := r.query(sql, nil)
	if err != nil {
		return nil, r.finish(err)
	}
	return res, nil
}

// query is the whole flow. args are the values of the statement's parameters; nil if it is not known that there are none.
func (r *run) query(sql string, args []any) (*Result, error) {
	stmt, err := r.classify(sql)
	if err != nil {
		return nil, err
	}
	if args != nil {
		if stmt, args, err = settle(stmt, args); err != nil {
			return nil, err
		}
	}
	if stmt.Kind() != classify.KindSelect {
		return r.answer(stmt)
	}
	p, err := r.plan(stmt)
	if err != nil {
		return nil, err
	}
	var prepared executors.Prepared
	err = r.stage("prepare", func() (err error) {
		prepared, err = r.executor().Prepare(r.ctx, p)
		return err
	})
	if err != nil {
		return nil, err
	}
	return &Result{run: r, prepared: prepared, schema: r.session.present(prepared.Schema()), args: args}, nil
}

// classify parses sql and asks whether this caller may run statements at all.
func (r *run) classify(sql string) (*classify.Statement, error) {
	var stmt *classify.Statement
	err := r.stage("classify", func() (err error) {
		if stmt, err = classify.Parse(sql); err == nil {
			stmt = stmt.In(r.session.Namespace(), r.session.identity.User, r.currentRole())
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	r.event.Kind, r.event.Statement = kindName[stmt.Kind()], stmt.Hash()
	return stmt, r.stage("admit", func() error { return r.mayExecute(stmt) })
}

// plan governs a SELECT and plans its scans.
func (r *run) plan(stmt *classify.Statement) (*plan.Plan, error) {
	var (
		tables   []*table
		bound    *classify.Bound
		governed *policy.Governed
		p        *plan.Plan
	)
	err := r.stage("resolve", func() (err error) {
		tables, err = r.resolve(stmt)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = r.stage("bind", func() (err error) {
		bound, err = stmt.Bind(relations(tables))
		return err
	})
	if err != nil {
		return nil, err
	}
	err = r.stage("decide", func() (err error) {
		if err = r.fillInformation(bound, tables); err != nil {
			return err
		}
		governed, err = r.govern(bound, tables)
		return err
	})
	if err != nil {
		return nil, err
	}
	deadline, ok := r.ctx.Deadline()
	if !ok {
		return nil, fmt.Errorf("statement without a deadline")
	}
	err = r.stage("plan", func() (err error) {
		p, err = r.g.cfg.Planner.Plan(r.ctx, r.session.identity, r.id, governed, loaded(tables), deadline)
		return unreadable(tables, err)
	})
	if err != nil {
		return nil, err
	}
	r.note(p)
	return p, nil
}

// mayExecute asks the policy for ExecuteQuery.
func (r *run) mayExecute(stmt *classify.Statement) error {
	if err := r.decide(stmt.Kind(), stmt.Hash()); err != nil {
		return err
	}
	ok, err := r.judge.Allow(r.ctx, policy.ExecuteQuery, []policy.Resource{{}})
	if err != nil {
		return err
	}
	if len(ok) != 1 || !ok[0] {
		return r.denied("this statement")
	}
	return nil
}

func (r *run) denied(what string) error { return &policy.DeniedError{Decision: r.id, What: what} }

var kindName = map[classify.Kind]string{
	classify.KindSelect: "select", classify.KindExplain: "explain", classify.KindShowCatalogs: "show_catalogs",
	classify.KindShowSchemas: "show_schemas", classify.KindShowTables: "show_tables", classify.KindShowColumns: "show_columns",
	classify.KindAccess: "access", classify.KindSetRole: "set_role", classify.KindShowAccess: "show_access",
	classify.KindSet: "set", classify.KindShow: "show", classify.KindUse: "use", classify.KindTransaction: "transaction",
}
