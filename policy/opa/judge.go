package opa

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	nd "github.com/open-policy-agent/opa/v1/topdown/builtins"

	"gatehouse/classify"
	"gatehouse/policy"
)

// judge answers for one statement with one engine.
type judge struct {
	d       *Decider
	e       *engine
	caller  policy.Caller
	rights  policy.Rights // nil: there is no store of rights
	context ast.Value     // what the policy looks at of it
	quotes  []string      // of all the context, see injected
	answers *answers      // nil: every question is put
	mu      sync.Mutex    // ast values cache inside themselves
}

var _ policy.Judge = (*judge)(nil)

func newJudge(d *Decider, e *engine, c policy.Caller) (*judge, error) {
	if c.Time.IsZero() {
		c.Time = d.cfg.Now()
	}
	ctx, err := inputContext(c, d.cfg)
	if err != nil {
		return nil, &policy.PolicyError{Cause: fmt.Errorf("claims: %w", err)}
	}
	j := &judge{d: d, e: e, caller: c, context: shown(ctx, e.reads.at("context")), quotes: quotes(ctx)}
	if d.cfg.Rights != nil {
		if j.rights, err = d.cfg.Rights.Current(); err != nil {
			return nil, fmt.Errorf("%w: %w", policy.ErrNoPolicy, err)
		}
	}
	if d.cfg.Trace == nil {
		j.answers = e.memoOf(j.rights).of(c.Identity)
	}
	return j, nil
}

// Revision implements policy.Judge.
func (j *judge) Revision() string {
	if j.rights == nil {
		return j.e.revision
	}
	return fmt.Sprintf("%s+grants.%d", j.e.revision, j.rights.Version())
}

// errUndefined says that a rule has no value for an input.
var errUndefined = errors.New("undefined")

// eval returns the one value of an entry rule, errUndefined if it has none. The value is not the caller's to change.
func (j *judge) eval(ctx context.Context, path string, input ast.Value) (any, error) {
	q := j.e.queries[path]
	if q == nil {
		return nil, fmt.Errorf("no rule data.%s", dotted(path))
	}
	if j.answers == nil {
		return j.put(ctx, q, path, input, nil)
	}
	asked, keep, err := questionOf(path, input)
	if err != nil {
		return nil, err
	}
	if !keep {
		return j.put(ctx, q, path, input, nil)
	}
	if a, ok := j.answers.get(asked); ok {
		return a.value, a.err
	}
	outside := nd.NDBCache{} // what the rule reads besides its input and data: the time
	value, err := j.put(ctx, q, path, input, outside)
	if len(outside) == 0 {
		j.answers.put(asked, value, err)
	}
	return value, err
}

// put puts a question to an entry rule and collects what is asked of the world outside. A panic of the engine is an error.
func (j *judge) put(ctx context.Context, q *rego.PreparedEvalQuery, path string, input ast.Value, outside nd.NDBCache) (value any, err error) {
	ctx, cancel := context.WithTimeout(ctx, j.d.cfg.Timeout)
	defer cancel()
	defer func() {
		if p := recover(); p != nil {
			value, err = nil, fmt.Errorf("data.%s: panic: %v", dotted(path), p)
		}
	}()
	txn, err := j.e.store.begin(ctx, j.rights)
	if err != nil {
		return nil, fmt.Errorf("data.%s: %w", dotted(path), err)
	}
	defer j.e.store.Abort(ctx, txn)
	options := []rego.EvalOption{rego.EvalParsedInput(input), rego.EvalTime(j.caller.Time), rego.EvalTransaction(txn)}
	if outside != nil {
		options = append(options, rego.EvalNDBuiltinCache(outside))
	}
	if j.d.cfg.Trace != nil {
		t := &tracer{}
		options = append(options, rego.EvalQueryTracer(t))
		defer func() { j.d.cfg.Trace(t.evaluation(path, input, value, err)) }()
	}
	rs, err := q.Eval(ctx, options...)
	switch {
	case err != nil:
		return nil, fmt.Errorf("data.%s: %w", dotted(path), err)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case len(rs) == 0:
		return nil, errUndefined
	case len(rs) != 1 || len(rs[0].Expressions) != 1:
		return nil, fmt.Errorf("data.%s: more than one value", dotted(path))
	}
	return rs[0].Expressions[0].Value, nil
}

// Allow implements policy.Judge.
func (j *judge) Allow(ctx context.Context, op policy.Operation, rs []policy.Resource) ([]bool, error) {
	rs = slices.Clone(rs)
	for i, r := range rs {
		if r.Detail != nil && j.rights != nil {
			detail := j.tagged(*r.Detail)
			rs[i].Detail = &detail
		}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	out, err := j.allowAll(ctx, op, j.foldResources(rs))
	if err != nil {
		return nil, j.broken(err)
	}
	return out, nil
}

func (j *judge) allowAll(ctx context.Context, op policy.Operation, rs []policy.Resource) ([]bool, error) {
	if j.batched(op) {
		return j.batch(ctx, op, rs)
	}
	worth := j.candidates(ctx, op, rs)
	out := make([]bool, len(rs))
	if len(rs) < listingSize {
		for i := range rs {
			var err error
			if out[i], err = j.allow(ctx, j.context, op, rs[i]); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return out, j.allowMany(ctx, op, rs, worth, out)
}

// allow asks the single rule. The context, who, is one that nobody else uses at the time.
func (j *judge) allow(ctx context.Context, who ast.Value, op policy.Operation, r policy.Resource) (bool, error) {
	input := document(who, string(op), resource(op, r, j.e.reads.at("action", "resource")), grantOperation(r)...)
	v, err := j.eval(ctx, j.e.entry.Allow, input)
	if err != nil && !errors.Is(err, errUndefined) {
		return false, err
	}
	ok, err := boolean(v, err)
	if err != nil {
		return false, fmt.Errorf("data.%s: %w", dotted(j.e.entry.Allow), err)
	}
	if !ok {
		return false, nil
	}
	return j.unopposed(ctx, op, input)
}

// unopposed reports whether nothing forbids what is allowed: no denial, and no obligation that this gateway does
// not know, which so far is every one.
func (j *judge) unopposed(ctx context.Context, op policy.Operation, input ast.Value) (bool, error) {
	paths := []string{j.e.entry.Denials}
	if op == policy.ExecuteQuery || op == policy.SelectColumns {
		paths = append(paths, j.e.entry.Constraints)
	}
	for _, path := range paths {
		if j.e.queries[path] == nil {
			continue
		}
		v, err := j.eval(ctx, path, input)
		if err != nil {
			return false, err // undefined too: a set rule is never undefined
		}
		items, ok := v.([]any)
		if !ok {
			return false, fmt.Errorf("data.%s is not a set", dotted(path))
		}
		if len(items) > 0 {
			return false, nil
		}
	}
	return true, nil
}

// batched reports whether op is asked through the batch rule.
func (j *judge) batched(op policy.Operation) bool {
	switch op {
	case policy.FilterCatalogs, policy.FilterSchemas, policy.FilterTables, policy.FilterColumns:
		return j.d.cfg.Prefer == "batch" && j.e.queries[j.e.entry.Batch] != nil
	default:
		return false
	}
}

// batch asks for all resources at once. Trino sends the columns of one table as one resource, and the answer's
// indices then count columns.
func (j *judge) batch(ctx context.Context, op policy.Operation, rs []policy.Resource) ([]bool, error) {
	about := j.e.reads.at("action", "filterResources", "*")
	out := make([]bool, len(rs))
	for start := 0; start < len(rs); {
		end := len(rs)
		var resources []ast.Value
		if op == policy.FilterColumns {
			end = start + 1
			for end < len(rs) && sameTable(rs[start], rs[end]) {
				end++
			}
			whole := rs[start]
			whole.Columns = nil
			for _, r := range rs[start:end] {
				whole.Columns = append(whole.Columns, r.Columns...)
				if d := r.Detail; d != nil && whole.Detail != nil && whole.Detail != d {
					all := *whole.Detail
					all.Columns = slices.Concat(all.Columns, d.Columns)
					all.FieldTags = maps.Clone(all.FieldTags)
					for id, tags := range d.FieldTags {
						all.FieldTags[id] = tags
					}
					whole.Detail = &all
				}
			}
			if len(whole.Columns) != end-start {
				return nil, errors.New("FilterColumns takes one column a resource")
			}
			resources = []ast.Value{resource(op, whole, about)}
		} else {
			for _, r := range rs {
				resources = append(resources, resource(op, r, about))
			}
		}
		input := batchDocument(j.context, string(op), resources)
		v, err := j.eval(ctx, j.e.entry.Batch, input)
		if errors.Is(err, errUndefined) {
			v, err = []any{}, nil
		}
		if err != nil {
			return nil, err
		}
		allowed, err := indices(v, end-start)
		if err != nil {
			return nil, fmt.Errorf("data.%s: %w", dotted(j.e.entry.Batch), err)
		}
		ok, err := j.unopposed(ctx, op, input)
		if err != nil {
			return nil, err
		}
		for _, i := range allowed {
			out[start+i] = ok
		}
		start = end
	}
	return out, nil
}

func sameTable(a, b policy.Resource) bool {
	return a.Catalog == b.Catalog && a.Schema == b.Schema && a.Table == b.Table
}

// Table implements policy.Judge.
func (j *judge) Table(ctx context.Context, t policy.Table, columns []string) (policy.Decision, error) {
	t = j.tagged(t)
	j.mu.Lock()
	defer j.mu.Unlock()
	id, err := j.newID()
	if err != nil {
		return policy.Decision{}, err
	}
	if j.rights != nil && j.rights.Elsewhere(t.UUID, t.Name) {
		return policy.Decision{}, &policy.PolicyError{Decision: id, Cause: fmt.Errorf("table %s had another name when filters, masks, tags or denials were made for it, and is closed until these are made for its name", t.Name)}
	}
	// One limit for the whole decision, however many columns it has.
	ctx, cancel := context.WithTimeout(ctx, j.d.cfg.Timeout)
	defer cancel()
	out := policy.Decision{ID: id, Masks: map[string]policy.Expression{}}
	asked := j.e.entry.RowFilters
	if out.Filters, err = j.filters(ctx, t); err == nil {
		asked = j.e.entry.ColumnMask
		err = j.masks(ctx, t, columns, out.Masks)
	}
	if err != nil {
		return policy.Decision{}, &policy.PolicyError{Decision: id, Rule: j.e.blamed(asked, err), Cause: err}
	}
	return out, nil
}

// filters asks for the row filters of t. An undefined rule denies: a set rule is never undefined, so something is
// wrong with it.
func (j *judge) filters(ctx context.Context, t policy.Table) ([]policy.Expression, error) {
	path := j.e.entry.RowFilters
	if path == None {
		return nil, nil
	}
	shown := j.foldTable(t)
	r := policy.Resource{Catalog: shown.Name.Catalog, Schema: shown.Name.Schema, Table: shown.Name.Table, Detail: &shown}
	v, err := j.eval(ctx, path, document(j.context, "GetRowFilters", tableResource(r, nil, j.e.reads.at("action", "resource"))))
	if err != nil {
		return nil, fmt.Errorf("data.%s: %w", dotted(path), err)
	}
	items, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("data.%s is not a list or set", dotted(path))
	}
	var out []policy.Expression
	for _, item := range items {
		e, err := j.expression(item, path, t)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// masks asks for the masks of the named columns, by the single rule if there is one.
func (j *judge) masks(ctx context.Context, t policy.Table, names []string, into map[string]policy.Expression) error {
	single, batch := j.e.entry.ColumnMask, j.e.entry.BatchColumnMasks
	batched := j.e.queries[batch] != nil && (j.e.queries[single] == nil || j.d.cfg.Prefer == "batch")
	about := j.e.reads.at("action", "resource")
	if batched {
		about = j.e.reads.at("action", "filterResources", "*")
	}
	shown := j.foldTable(t)
	detail := tableDetail(shown, about.at("column", "gateway", "table"))
	var columns []classify.Column
	var inputs []ast.Value
	for _, name := range names {
		i := slices.IndexFunc(t.Columns, func(c classify.Column) bool { return c.Name == name })
		if i < 0 {
			return fmt.Errorf("table %s has no column %q", t.Name, name)
		}
		columns = append(columns, t.Columns[i])
		inputs = append(inputs, columnResource(shown, shown.Columns[i], detail))
	}
	if len(columns) == 0 || single == None && batch == None {
		return nil
	}
	var found [][]policy.Expression
	var err error
	if batched {
		found, err = j.batchMasks(ctx, t, inputs)
	} else {
		found, err = j.singleMasks(ctx, t, inputs)
	}
	if err != nil {
		return err
	}
	for i, masks := range found {
		if len(masks) == 0 {
			continue
		}
		if into[columns[i].Name], err = policy.CombineMasks(columns[i].Name, masks); err != nil {
			return err
		}
	}
	return nil
}

// singleMasks asks the single rule per column. Undefined is no mask, as in Trino; a set or list holds several masks.
func (j *judge) singleMasks(ctx context.Context, t policy.Table, inputs []ast.Value) ([][]policy.Expression, error) {
	path := j.e.entry.ColumnMask
	out := make([][]policy.Expression, len(inputs))
	for i, input := range inputs {
		v, err := j.eval(ctx, path, document(j.context, "GetColumnMask", input))
		if errors.Is(err, errUndefined) {
			continue
		}
		if err != nil {
			return nil, err
		}
		items, ok := v.([]any)
		if !ok {
			items = []any{v}
		}
		for _, item := range items {
			e, err := j.expression(item, path, t)
			if err != nil {
				return nil, err
			}
			out[i] = append(out[i], e)
		}
	}
	return out, nil
}

// batchMasks asks the batch rule once. Undefined denies, as in Trino.
func (j *judge) batchMasks(ctx context.Context, t policy.Table, inputs []ast.Value) ([][]policy.Expression, error) {
	path := j.e.entry.BatchColumnMasks
	v, err := j.eval(ctx, path, batchDocument(j.context, "GetColumnMask", inputs))
	if err != nil {
		return nil, fmt.Errorf("data.%s: %w", dotted(path), err)
	}
	items, ok := v.([]any)
	if !ok {
		return nil, fmt.Errorf("data.%s is not a list or set", dotted(path))
	}
	out := make([][]policy.Expression, len(inputs))
	for _, item := range items {
		i, body, err := indexed(item, len(inputs))
		if err != nil {
			return nil, fmt.Errorf("data.%s: %w", dotted(path), err)
		}
		e, err := j.expression(body, path, t)
		if err != nil {
			return nil, err
		}
		out[i] = append(out[i], e)
	}
	return out, nil
}

// newID returns a random decision id.
func (j *judge) newID() (string, error) {
	var b [16]byte
	j.d.randMux.Lock()
	defer j.d.randMux.Unlock()
	if _, err := io.ReadFull(j.d.cfg.Rand, b[:]); err != nil {
		return "", fmt.Errorf("opa: decision id: %w", err)
	}
	return hex.EncodeToString(b[:]), nil
}

// broken makes the error of an answer that cannot be used.
func (j *judge) broken(cause error) error {
	id, err := j.newID()
	if err != nil {
		return err
	}
	return &policy.PolicyError{Decision: id, Rule: j.e.blamed(j.e.entry.Allow, cause), Cause: cause}
}

func itoa(i int) string { return strconv.Itoa(i) }
