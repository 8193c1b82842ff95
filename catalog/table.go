package catalog

import (
	"fmt"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// maxFormat is the newest Iceberg format version that we read.
const maxFormat = 3

// NewTable returns the table t at its current snapshot. catalog, schema and name are the canonical spelling. Implementations of
// Catalog make their tables with it. The error wraps ErrUnreadable.
func NewTable(catalog, schema, name string, t *table.Table, files Files, restrictions []byte) (*Table, error) {
	md := t.Metadata()
	if v := md.Version(); v < 1 || v > maxFormat {
		return nil, fmt.Errorf("%w: format version %d", ErrUnreadable, v)
	}
	for range md.EncryptionKeys() {
		return nil, fmt.Errorf("%w: it is encrypted", ErrUnreadable)
	}
	out := &Table{
		Catalog: catalog, Schema: schema, Name: name,
		UUID:    md.TableUUID().String(),
		Iceberg: t, Snapshot: md.CurrentSnapshot(),
		Files: files, Restrictions: restrictions,
	}
	return out, out.read(md.CurrentSchema())
}

// At returns the table at v. Reading by id, by time or at a tag uses the schema of that snapshot; reading a branch uses the
// table's current schema, as the Iceberg specification has it. The error is ErrNoSuchVersion, also if v selects in two ways.
func (t *Table) At(v Version) (*Table, error) {
	set := 0
	for _, is := range []bool{v.Snapshot != 0, v.Micros != nil, v.Ref != ""} {
		if is {
			set++
		}
	}
	switch {
	case set == 0:
		return t, nil
	case set > 1:
		return nil, fmt.Errorf("%w: selected in two ways", ErrNoSuchVersion)
	}
	md := t.Iceberg.Metadata()
	var snapshot *table.Snapshot
	branch := false
	switch {
	case v.Snapshot != 0:
		snapshot = md.SnapshotByID(v.Snapshot)
	case v.Micros != nil:
		snapshot = snapshotAt(md, *v.Micros)
	default:
		snapshot, branch = snapshotOf(md, v.Ref)
	}
	if snapshot == nil {
		return nil, ErrNoSuchVersion
	}
	schema := md.CurrentSchema()
	if !branch && snapshot.SchemaID != nil {
		if schema = schemaByID(md, *snapshot.SchemaID); schema == nil {
			return nil, fmt.Errorf("%w: snapshot %d has no schema", ErrUnreadable, snapshot.SnapshotID)
		}
	}
	out := *t
	out.Snapshot = snapshot
	return &out, out.read(schema)
}

// read sets the schema to read with.
func (t *Table) read(schema *iceberg.Schema) error {
	fields := schema.Fields()
	columns := make([]Column, len(fields))
	for i, f := range fields {
		st, err := SQLType(f.Type)
		if err != nil {
			return fmt.Errorf("column %q: %w", f.Name, err)
		}
		columns[i] = Column{Name: f.Name, FieldID: f.ID, Type: f.Type, SQLType: st, Doc: f.Doc, Required: f.Required}
	}
	t.Fields, t.Columns = schema, columns
	return nil
}

// snapshotAt returns the snapshot that was current at an instant. The log, not the snapshots' parents, says so: after a
// rollback it names the older snapshot again.
func snapshotAt(md table.Metadata, micros int64) *table.Snapshot {
	var found *table.SnapshotLogEntry
	for e := range md.SnapshotLogs() {
		if e.TimestampMs*1000 <= micros && (found == nil || e.TimestampMs >= found.TimestampMs) {
			found = &e
		}
	}
	if found == nil {
		return nil
	}
	return md.SnapshotByID(found.SnapshotID)
}

func snapshotOf(md table.Metadata, name string) (s *table.Snapshot, branch bool) {
	for n, ref := range md.Refs() {
		if n == name {
			return md.SnapshotByID(ref.SnapshotID), ref.SnapshotRefType == table.BranchRef
		}
	}
	return nil, false
}

func schemaByID(md table.Metadata, id int) *iceberg.Schema {
	for _, s := range md.Schemas() {
		if s.ID == id {
			return s
		}
	}
	return nil
}
