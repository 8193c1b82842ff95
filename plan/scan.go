package plan

import (
	"context"
	"fmt"

	"gatehouse/catalog"
	"gatehouse/policy"
)

// scan says what has to be read for one governed relation.
func (p *Planner) scan(ctx context.Context, t *catalog.Table, r policy.Relation) (Scan, error) {
	if len(t.Restrictions) > 0 {
		return Scan{}, unreadable(nil, "its catalog demands read restrictions, which are not applied here yet")
	}
	if t.Schema != r.Name.Schema || t.Name != r.Name.Table || t.Catalog != r.Name.Catalog {
		return Scan{}, fmt.Errorf("%w: relation %s is not of that table", ErrInvalid, r.CTE)
	}
	out := Scan{Catalog: t.Catalog, Schema: t.Schema, Table: t.Name, UUID: t.UUID}
	need, err := needed(t, r)
	if err != nil {
		return Scan{}, err
	}
	if t.Snapshot != nil {
		out.Snapshot = t.Snapshot.SnapshotID
		snap, err := p.snapshot(ctx, t)
		if err != nil {
			return Scan{}, err
		}
		snap.choose(&out, conditions(t, r))
		for _, d := range out.Deletes {
			for _, f := range d.Equality {
				need[f.ID] = true
			}
		}
	}
	out.Fields, err = fields(t, need)
	return out, err
}

// choose fills in the files that may hold rows for which cond is true, and the deletes that apply to them.
func (s *snapshot) choose(out *Scan, cond condition) {
	out.FilesTotal = len(s.data)
	index := map[int]int{} // of s.deletes → of out.Deletes
	for i := range s.data {
		d := &s.data[i]
		if cond != nil && !cond.mayMatch(s, d) {
			continue
		}
		f := d.file
		f.Deletes = make([]int, 0, len(d.deletes))
		for _, n := range d.deletes {
			at, ok := index[n]
			if !ok {
				at = len(out.Deletes)
				index[n] = at
				out.Deletes = append(out.Deletes, s.deletes[n].file)
			}
			f.Deletes = append(f.Deletes, at)
		}
		out.Rows += f.Rows
		out.Files = append(out.Files, f)
	}
}
