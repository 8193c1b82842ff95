package plan

import (
	"context"
	"fmt"
	"slices"

	"gatehouse/catalog"
	"gatehouse/objects"
	"gatehouse/policy"
)

// scan says what has to be read for one governed relation. Snapshots that are not among the known ones are decoded.
func (p *Planner) scan(ctx context.Context, t *catalog.Table, r policy.Relation, known snapshots) (Scan, error) {
	if string(t.Restrictions) != r.Restricted {
		return Scan{}, unreadable(nil, "its catalog demands read restrictions, and they were not applied")
	}
	if t.Schema != r.Name.Schema || t.Name != r.Name.Table || t.Catalog != r.Name.Catalog {
		return Scan{}, fmt.Errorf("%w: relation %s is not of that table", ErrInvalid, r.CTE)
	}
	out := Scan{Catalog: t.Catalog, Schema: t.Schema, Table: t.Name, UUID: t.UUID}
	if r.Filter != nil {
		out.Rough = rough(0)
	}
	need, err := needed(t, r)
	if err != nil {
		return Scan{}, err
	}
	if t.Snapshot != nil {
		out.Snapshot = t.Snapshot.SnapshotID
		snap, err := known.of(t, func() (*snapshot, error) { return p.snapshot(ctx, t) })
		if err != nil {
			return Scan{}, err
		}
		snap.choose(&out, conditions(t, r), r.Filter != nil || len(snap.deletes) > 0)
		if out.Objects, err = stored(ctx, t, &out); err != nil {
			return Scan{}, err
		}
		for _, d := range out.Deletes {
			for _, f := range d.Equality {
				need[f.ID] = true
			}
		}
	}
	if out.Fields, err = fields(t, need); err != nil || !t.Computed {
		return out, err
	}
	out.Computed, out.Rows = true, int64(len(t.Rows))
	out.Values, err = values(t, out.Fields)
	return out, err
}

// stored returns what reads the scan's objects, nil if all its files are local. The snapshot may have been decoded for an earlier statement, and
// the credentials of this one may open less.
func stored(ctx context.Context, t *catalog.Table, s *Scan) (objects.Store, error) {
	var places []string
	for i := range s.Files {
		places = append(places, s.Files[i].Path)
	}
	for _, d := range s.Deletes {
		places = append(places, d.Path)
	}
	places = slices.DeleteFunc(places, func(location string) bool { return !objects.IsObject(location) })
	if len(places) == 0 {
		return nil, nil
	}
	for _, location := range places {
		if err := t.Files.Check(location); err != nil {
			return nil, Unread(err, "a file lies where files may not be read")
		}
	}
	if !objects.IsObject(t.Snapshot.ManifestList) { // which would have been the proof, see Planner.snapshot
		if err := t.Files.Proven(ctx, places[0]); err != nil {
			return nil, Unread(err, "a data file cannot be read")
		}
	}
	return t.Files.Objects(), nil
}

// values cuts the rows of a computed table to fields.
func values(t *catalog.Table, fs []Field) ([][]*string, error) {
	at := make([]int, len(fs))
	for i, f := range fs {
		at[i] = slices.IndexFunc(t.Columns, func(c catalog.Column) bool { return c.FieldID == f.ID })
	}
	out := make([][]*string, len(t.Rows))
	for n, row := range t.Rows {
		if len(row) != len(t.Columns) {
			return nil, fmt.Errorf("%w: a row of %d values for %d columns", ErrInvalid, len(row), len(t.Columns))
		}
		out[n] = make([]*string, len(fs))
		for i, from := range at {
			out[n][i] = row[from]
		}
	}
	return out, nil
}

// choose fills in the files that may hold rows for which cond is true, and the deletes that apply to them.
//
// Where rows are hidden, one file at least is read and Rough takes the place of the number of rows: an engine that knew that there is nothing
// to read, or how much, would plan otherwise, so that the statement's own failures came or stayed away by values and numbers of hidden rows.
func (s *snapshot) choose(out *Scan, cond condition, hides bool) {
	out.FilesTotal = len(s.data)
	index := map[int]int{} // of s.deletes → of out.Deletes
	take := func(d *dataFile) {
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
	for i := range s.data {
		if d := &s.data[i]; cond == nil || cond.mayMatch(s, d) {
			take(d)
		}
	}
	if !hides {
		return
	}
	total := int64(0)
	smallest := -1
	for i := range s.data {
		total += s.data[i].file.Rows
		if smallest < 0 || s.data[i].file.Size < s.data[smallest].file.Size {
			smallest = i
		}
	}
	if out.Rough = rough(total); len(out.Files) == 0 && smallest >= 0 {
		take(&s.data[smallest])
	}
}

// rough is the next power of four, 64 at least, so that it tells the order of magnitude of n only.
func rough(n int64) int64 {
	out := int64(64)
	for out < n && out < 1<<60 {
		out *= 4
	}
	return out
}
