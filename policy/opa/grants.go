package opa

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"

	"gatehouse/policy"
)

// layered is what policies read as data: their own, and the gateway's rights below data.gateway.grants. The rights are
// those of the transaction, so that a statement decides with one version from its admission to its end, without a lock.
type layered struct {
	storage.Store // the policy's own data, which never changes
}

// grantsAt is where the rights lie.
var grantsAt = []string{reserved, "grants"}

// pinned is a transaction that also pins a version of the rights.
type pinned struct {
	storage.Transaction
	rights policy.Rights // nil: none
}

// begin returns a transaction that reads rights, too.
func (l *layered) begin(ctx context.Context, rights policy.Rights) (storage.Transaction, error) {
	t, err := l.Store.NewTransaction(ctx)
	return &pinned{t, rights}, err
}

// NewTransaction implements storage.Store.
func (l *layered) NewTransaction(ctx context.Context, params ...storage.TransactionParams) (storage.Transaction, error) {
	t, err := l.Store.NewTransaction(ctx, params...)
	return &pinned{Transaction: t}, err
}

// Read implements storage.Store.
func (l *layered) Read(ctx context.Context, txn storage.Transaction, path storage.Path) (any, error) {
	t, ok := txn.(*pinned)
	if !ok {
		return nil, fmt.Errorf("opa: foreign transaction %T", txn)
	}
	if len(path) == 0 || path[0] != reserved {
		return l.Store.Read(ctx, t.Transaction, path)
	}
	missing := &storage.Error{Code: storage.NotFoundErr, Message: "no such right"}
	if t.rights == nil {
		return nil, missing
	}
	if len(path) == 1 {
		v, _ := t.rights.Read(nil)
		return map[string]any{grantsAt[1]: v}, nil
	}
	if path[1] != grantsAt[1] {
		return nil, missing
	}
	v, ok := t.rights.Read(path[2:])
	if !ok {
		return nil, missing
	}
	return v, nil
}

// Commit implements storage.Store.
func (l *layered) Commit(ctx context.Context, txn storage.Transaction) error {
	return l.Store.Commit(ctx, txn.(*pinned).Transaction)
}

// Abort implements storage.Store.
func (l *layered) Abort(ctx context.Context, txn storage.Transaction) {
	l.Store.Abort(ctx, txn.(*pinned).Transaction)
}

// Write is refused: what policies read never changes under them.
func (l *layered) Write(context.Context, storage.Transaction, storage.PatchOp, storage.Path, any) error {
	return &storage.Error{Code: storage.WritesNotSupportedErr, Message: "data is read-only"}
}

// Rights implements policy.Pinned.
func (j *judge) Rights() policy.Rights { return j.rights }

var _ policy.Pinned = (*judge)(nil)

// tagged returns t with the tags that it and its columns bear; a column bears those of its table that it does not override. Tags
// of another table that had the name before are not its own.
func (j *judge) tagged(t policy.Table) policy.Table {
	if j.rights == nil {
		return t
	}
	v, _ := j.rights.Read([]string{"tags", t.Name.Catalog, t.Name.Schema, t.Name.Table})
	at, _ := v.(map[string]any)
	if uuid, _ := at["uuid"].(string); at == nil || uuid != "" && uuid != t.UUID {
		return t
	}
	table, _ := at["table"].(map[string]any)
	columns, _ := at["columns"].(map[string]any)
	t.Tags, t.FieldTags = tagTexts(table), map[int][]string{}
	for _, c := range t.Columns {
		own := maps.Clone(table)
		for _, key := range []string{c.Name, "#" + itoa(c.FieldID)} {
			if tags, ok := columns[key].(map[string]any); ok {
				if own == nil {
					own = map[string]any{}
				}
				maps.Copy(own, tags)
			}
		}
		t.FieldTags[c.FieldID] = tagTexts(own)
	}
	return t
}

func tagTexts(tags map[string]any) []string {
	var out []string
	for key, v := range tags {
		out = append(out, key)
		if value, _ := v.(string); value != "" {
			out = append(out, key+"="+value)
		}
	}
	slices.Sort(out)
	return out
}

// grantOperation makes the parts of action that only operations about rights have.
func grantOperation(r policy.Resource) []field {
	g := r.Grant
	if g == nil {
		return nil
	}
	priority := field{key: "priority"}
	if g.Priority {
		priority.value = ast.Boolean(true)
	}
	return []field{{"gateway", object(
		field{"privilege", opt(g.Privilege)}, field{"option", ast.Boolean(g.Option)}, field{"principal", opt(string(g.Principal))},
		field{"role", opt(g.Role)}, field{"except", strs(g.Except)}, field{"name", opt(g.Name)}, priority,
	)}}
}

// levelResource makes the resource of an operation that exists at every level.
func levelResource(r policy.Resource, about *reads) ast.Value {
	switch {
	case r.Table != "":
		return tableResource(r, strs(r.Columns), about)
	case r.Schema != "":
		return object(field{"schema", object(field{"catalogName", str(r.Catalog)}, field{"schemaName", str(r.Schema)})})
	default:
		return object(field{"catalog", object(field{"name", str(r.Catalog)})})
	}
}
