package opa

import (
	"context"
	"errors"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"

	"gatehouse/policy"
)

// candidatesEntry is an optional rule of the shipped router: the indices of the tables of a listing that could be visible.
// It only saves questions: what it names is asked for as ever, and what it leaves out is hidden.
const candidatesEntry = "trino/gatewayCandidates"

// listingSize is from how many tables on it pays to ask for candidates first.
const listingSize = 32

// candidates reports for each table whether it is worth asking for; nil: each is.
func (j *judge) candidates(ctx context.Context, op policy.Operation, rs []policy.Resource) ([]bool, error) {
	if op != policy.FilterTables || len(rs) < listingSize || j.e.queries[candidatesEntry] == nil {
		return nil, nil
	}
	resources := make([]ast.Value, len(rs))
	for i, r := range rs {
		resources[i] = object(field{"table", object(field{"catalogName", str(r.Catalog)}, field{"schemaName", str(r.Schema)}, field{"tableName", str(r.Table)})})
	}
	v, err := j.eval(ctx, candidatesEntry, batchDocument(j.context, string(op), resources))
	if errors.Is(err, errUndefined) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	some, err := indices(v, len(rs))
	if err != nil {
		return nil, fmt.Errorf("data.%s: %w", dotted(candidatesEntry), err)
	}
	out := make([]bool, len(rs))
	for _, i := range some {
		out[i] = true
	}
	return out, nil
}
