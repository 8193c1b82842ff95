package opa

import (
	"context"
	"runtime"

	"github.com/open-policy-agent/opa/v1/ast"
	"golang.org/x/sync/errgroup"

	"gatehouse/policy"
)

// listingEntry is an optional rule of the shipped router: where the caller could see anything, as a set of [catalog],
// [catalog, schema] and [catalog, schema, table]. It only saves questions: what lies there is asked for as ever, and what does
// not is hidden.
const listingEntry = "trino/gatewayListing"

// listingSize is from how many tables on it pays to ask where to look first.
const listingSize = 32

// spot is a catalog, a schema of one, or a table; "" for what it does not name.
type spot struct{ catalog, schema, table string }

// candidates reports for each table whether it is worth asking for; nil: each is.
func (j *judge) candidates(ctx context.Context, op policy.Operation, rs []policy.Resource) []bool {
	if op != policy.FilterTables || len(rs) < listingSize || j.e.queries[listingEntry] == nil {
		return nil
	}
	v, err := j.eval(ctx, listingEntry, document(j.context, string(op), nil))
	if err != nil {
		return nil // one faulty table must not hide the others
	}
	seen, ok := spots(v)
	if !ok {
		return nil
	}
	out := make([]bool, len(rs))
	for i, r := range rs {
		out[i] = seen[spot{r.Catalog, r.Schema, r.Table}] || seen[spot{r.Catalog, r.Schema, ""}] || seen[spot{r.Catalog, "", ""}]
	}
	return out
}

// spots accepts a set of lists of one to three texts.
func spots(v any) (map[spot]bool, bool) {
	items, ok := v.([]any)
	out := make(map[spot]bool, len(items))
	for _, item := range items {
		parts, isList := item.([]any)
		var names [3]string
		if !isList || len(parts) == 0 || len(parts) > len(names) {
			return nil, false
		}
		for i, part := range parts {
			if names[i], ok = part.(string); !ok || names[i] == "" {
				return nil, false
			}
		}
		out[spot{names[0], names[1], names[2]}] = true
	}
	return out, ok
}

// allowMany asks for those of rs that are worth it, on all processors at once: the tables of a listing do not depend on each other.
func (j *judge) allowMany(ctx context.Context, op policy.Operation, rs []policy.Resource, worth, out []bool) error {
	workers := runtime.GOMAXPROCS(0)
	if j.d.cfg.Trace != nil {
		workers = 1 // a tool is told in order
	}
	g, ctx := errgroup.WithContext(ctx)
	for w := range workers {
		own := ast.NewTerm(j.context).Copy().Value // values cache inside themselves
		g.Go(func() (err error) {
			defer recovered(&err)
			for i := w; i < len(rs); i += workers {
				if worth != nil && !worth[i] {
					continue
				}
				if out[i], err = j.allow(ctx, own, op, rs[i]); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return g.Wait()
}
