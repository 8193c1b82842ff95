package ballista

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/protobuf/proto"

	"gatehouse/auth"
	"gatehouse/executors/ballista/wire"
	"gatehouse/plan"
	"gatehouse/policy"
)

// fieldID is the key of a field's metadata that holds its id.
const fieldID = "PARQUET:field_id"

// describedRelations are the relations without files and credentials. Whatever the cluster cannot read is refused here, before anything runs.
func (x *Executor) describedRelations(p *plan.Plan) ([]*wire.Relation, error) {
	var out []*wire.Relation
	for i := range p.Relations() {
		r := &p.Relations()[i]
		if _, err := x.locations(p, r); err != nil {
			return nil, err
		}
		payload, err := newPayload(p, r)
		if err != nil {
			return nil, err
		}
		bytes, err := proto.MarshalOptions{Deterministic: true}.Marshal(payload)
		if err != nil {
			return nil, internal("%w", err)
		}
		w, err := newRelation(r)
		if err != nil {
			return nil, err
		}
		// Without a credential nobody can run it; the scheduler plans its expressions.
		w.Groups = []*wire.TaskGroup{{Payload: bytes}}
		out = append(out, w)
	}
	return out, nil
}

// relations are the relations with their task groups, each with a credential of its own.
func (x *Executor) relations(ctx context.Context, p *plan.Plan) ([]*wire.Relation, error) {
	var out []*wire.Relation
	// A statement that runs again has other credentials: an executor refuses those that another job has used.
	run := rand.Text()[:8]
	for i := range p.Relations() {
		r := &p.Relations()[i]
		w, err := newRelation(r)
		if err != nil {
			return nil, err
		}
		where, err := x.locations(p, r)
		if err != nil {
			return nil, err
		}
		files, err := scanFiles(ctx, &r.Scan)
		if err != nil {
			return nil, err
		}
		size, err := x.groupBytes(ctx, files)
		if err != nil {
			return nil, err
		}
		for n, group := range split(files, size) {
			g, err := x.taskGroup(ctx, p, r, group, where, fmt.Sprintf("%s.%s.%d", r.Task.ID, run, n))
			if err != nil {
				return nil, err
			}
			w.Groups = append(w.Groups, g)
		}
		out = append(out, w)
	}
	return out, nil
}

// taskGroup makes and signs one payload. The credential's id begins with that of the relation's credential in the plan, which is in the audit log.
func (x *Executor) taskGroup(ctx context.Context, p *plan.Plan, r *plan.Relation, files []*wire.File, where *locations, id string) (*wire.TaskGroup, error) {
	payload, err := newPayload(p, r)
	if err != nil {
		return nil, err
	}
	payload.Files = files
	if err := addEquality(payload, &r.Scan); err != nil {
		return nil, err
	}
	if err := where.seal(ctx, payload, id); err != nil {
		return nil, err
	}
	if err := x.sealHash(where.to, payload, r, id); err != nil {
		return nil, err
	}
	bytes, err := proto.MarshalOptions{Deterministic: true}.Marshal(payload)
	if err != nil {
		return nil, internal("%w", err)
	}
	// Credentials have whole seconds; rounding up keeps them alive until the statement's own deadline ends it.
	expires := p.Deadline().Truncate(time.Second)
	if expires.Before(p.Deadline()) {
		expires = expires.Add(time.Second)
	}
	sum := sha256.Sum256(bytes)
	token, err := x.config.Minter.Mint(auth.TaskClaims{
		ID: id, Issuer: x.config.Issuer, Subject: p.Identity().Subject, UserIss: p.Identity().Issuer,
		Query: p.Query(), Relation: r.CTE, Digest: base64.RawURLEncoding.EncodeToString(sum[:]), Expires: expires,
	})
	if err != nil {
		return nil, internal("signing a task group: %w", err)
	}
	return &wire.TaskGroup{Payload: bytes, Token: token.Reveal()}, nil
}

// newRelation is what the optimiser sees.
func newRelation(r *plan.Relation) (*wire.Relation, error) {
	schema, err := shownSchema(r)
	if err != nil {
		return nil, err
	}
	return &wire.Relation{Name: r.CTE, Schema: schema, Rows: estimate(r), Expected: expected(r)}, nil
}

// newPayload is a payload without files.
func newPayload(p *plan.Plan, r *plan.Relation) (*wire.Payload, error) {
	if r.Scan.Computed {
		return nil, unsupported("reading a table that has no files", nil)
	}
	out := &wire.Payload{Query: p.Query(), Subject: p.Identity().Subject, UserIssuer: p.Identity().Issuer, Relation: r.CTE}
	var err error
	if out.Read, err = readSchema(r.Scan.Fields); err != nil {
		return nil, err
	}
	if out.Schema, err = shownSchema(r); err != nil {
		return nil, err
	}
	if r.Filter != nil {
		if out.Filter, err = expression(r.Filter); err != nil {
			return nil, err
		}
	}
	for _, n := range r.Pushed {
		text, err := expression(n)
		if err != nil {
			return nil, err
		}
		out.Pushed = append(out.Pushed, text)
	}
	for _, c := range r.Columns {
		w := &wire.Column{}
		at := slices.IndexFunc(r.Scan.Fields, func(f plan.Field) bool { return f.ID == c.FieldID })
		switch {
		case c.Mask != nil:
			text, err := expression(c.Mask)
			if err != nil {
				return nil, err
			}
			w.Value = &wire.Column_Mask{Mask: text}
		case at < 0:
			return nil, internal("column %d of %s is not read", c.FieldID, r.CTE)
		default:
			w.Value = &wire.Column_Raw{Raw: int32(at)}
		}
		out.Columns = append(out.Columns, w)
	}
	out.Defaults = defaults(r.Scan.Fields)
	return out, nil
}

// defaults are those of fields, and of what is inside of them.
func defaults(fields []plan.Field) []*wire.Constant {
	var out []*wire.Constant
	for _, f := range fields {
		if f.Default != nil {
			out = append(out, &wire.Constant{Field: int32(f.ID), Text: *f.Default})
		}
		out = append(out, defaults(f.Nested)...)
	}
	return out
}

// addEquality adds the equality deletes that apply to files of the payload, which name them by their place in the scan before and by that in
// the payload after.
func addEquality(p *wire.Payload, s *plan.Scan) error {
	place := map[int32]int32{}
	for _, f := range p.Files {
		for i, n := range f.Equality {
			at, ok := place[n]
			if !ok {
				w, err := equalityDelete(&s.Deletes[n])
				if err != nil {
					return err
				}
				at = int32(len(p.Equality))
				place[n], p.Equality = at, append(p.Equality, w)
			}
			f.Equality[i] = at
		}
	}
	return nil
}

// equalityDelete is a delete file with its key, ascending by field id.
func equalityDelete(d *plan.DeleteFile) (*wire.EqualityDelete, error) {
	path, err := filePath(d.Path)
	if err != nil {
		return nil, err
	}
	keys := slices.Clone(d.Equality)
	slices.SortFunc(keys, func(a, b plan.Field) int { return a.ID - b.ID })
	w := &wire.EqualityDelete{Path: path, Size: d.Size, Rows: d.Rows}
	w.Keys, err = readSchema(keys)
	return w, err
}

// readSchema names the columns to read as filter and masks do.
func readSchema(fields []plan.Field) ([]byte, error) {
	var out []arrow.Field
	for _, f := range fields {
		t, err := columnType(f, true)
		if err != nil {
			return nil, err
		}
		out = append(out, arrow.Field{Name: f.Name, Type: t, Nullable: true, Metadata: idMetadata(f)})
	}
	return flight.SerializeSchema(arrow.NewSchema(out, nil), memory.DefaultAllocator), nil
}

func shownSchema(r *plan.Relation) ([]byte, error) {
	var out []arrow.Field
	for _, c := range r.Columns {
		// A column that a mask hides is not read.
		f := plan.Field{Type: c.Type}
		if at := slices.IndexFunc(r.Scan.Fields, func(f plan.Field) bool { return f.ID == c.FieldID }); at >= 0 && c.Name != policy.RowMarker {
			f = r.Scan.Fields[at]
		}
		t, err := columnType(f, false)
		if err != nil {
			return nil, err
		}
		out = append(out, arrow.Field{Name: c.Name, Type: t, Nullable: true})
	}
	return flight.SerializeSchema(arrow.NewSchema(out, nil), memory.DefaultAllocator), nil
}

// scanFiles are a scan's files with their deleted positions.
func scanFiles(ctx context.Context, s *plan.Scan) ([]*wire.File, error) {
	deletes, err := loadDeletes(ctx, s)
	if err != nil {
		return nil, err
	}
	var out []*wire.File
	for i := range s.Files {
		f := &s.Files[i]
		path, err := filePath(f.Path)
		if err != nil {
			return nil, err
		}
		w := &wire.File{Path: path, Size: f.Size, Rows: f.Rows, FirstRow: f.FirstRow, Sequence: f.Seq}
		if w.Deleted, w.Equality, err = deletes.of(f); err != nil {
			return nil, err
		}
		for _, id := range slices.Sorted(maps.Keys(f.Constants)) {
			c := &wire.Constant{Field: int32(id), Null: f.Constants[id] == nil}
			if v := f.Constants[id]; v != nil {
				c.Text = *v
			}
			w.Constants = append(w.Constants, c)
		}
		for _, name := range slices.Sorted(maps.Keys(f.Mapping)) {
			w.Mapping = append(w.Mapping, &wire.Name{Name: name, Field: int32(f.Mapping[name])})
		}
		out = append(out, w)
	}
	return out, nil
}

func localPath(location string) (string, error) {
	path, err := plan.LocalPath(location)
	if err != nil {
		return "", unsupported("reading files that are not local", fmt.Errorf("location %q: %w", location, err))
	}
	return path, nil
}
