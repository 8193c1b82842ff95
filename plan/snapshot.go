package plan

import (
	"context"
	"fmt"
	"slices"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"gatehouse/catalog"
)

// snapshot is one snapshot's manifests, decoded: its live data files, its delete files and which delete applies to which file.
// It is immutable and holds nothing that depends on who asks.
type snapshot struct {
	specs   map[int]iceberg.PartitionSpec
	data    []dataFile
	deletes []deleteFile
}

// dataFile is one data file with what pruning needs.
type dataFile struct {
	file      File // without Deletes
	spec      int
	partition map[int]any // by partition field id
	stats     map[int]stat
	deletes   []int // indexes into snapshot.deletes
}

// stat is what a manifest says of one column in one file. Counts are -1 and bounds nil where it says nothing.
type stat struct {
	values, nulls int64
	lower, upper  []byte
}

// snapshot returns the decoded snapshot of t, from the cache if this version of the table was planned before. The caller has
// been authorised: t was loaded with the caller's rights for this statement, and credentials that were vended for it may read the
// manifest list now.
func (p *Planner) snapshot(ctx context.Context, t *catalog.Table) (*snapshot, error) {
	key := cacheKey{t.Files.Scope(), t.Catalog, t.UUID, t.Iceberg.MetadataLocation(), t.Snapshot.SnapshotID, t.Fields.ID}
	if s, ok := p.cache.get(key); ok {
		if err := t.Files.Proven(ctx, t.Snapshot.ManifestList); err != nil {
			return nil, Unread(err, "its manifest list cannot be read")
		}
		return s, nil
	}
	s, err := decode(ctx, t)
	if err != nil {
		return nil, err
	}
	p.cache.put(key, s)
	return s, nil
}

// decode reads all manifests of t's snapshot.
func decode(ctx context.Context, t *catalog.Table) (s *snapshot, err error) {
	// The decoder of foreign files must not bring the process down.
	defer func() {
		if r := recover(); r != nil {
			s, err = nil, unreadable(fmt.Errorf("panic: %v", r), "a manifest cannot be decoded")
		}
	}()
	md := t.Iceberg.Metadata()
	b := &builder{
		table: t, mapping: nameMapping(md), pushable: pushableColumns(md, t.Fields),
		out: &snapshot{specs: map[int]iceberg.PartitionSpec{}}, paths: map[string]bool{}, vectors: map[string]int{},
	}
	fs := manifestFiles{ctx: ctx, files: t.Files}
	manifests, err := t.Snapshot.Manifests(fs)
	if err != nil {
		return nil, Unread(err, "its manifest list cannot be read")
	}
	// Deletes come first, so that each data file finds its own in one pass.
	slices.SortStableFunc(manifests, func(a, b iceberg.ManifestFile) int {
		return int(b.ManifestContent()) - int(a.ManifestContent())
	})
	fs.ahead = readAhead(ctx, t.Files, manifests)
	defer fs.ahead.close()
	for _, m := range manifests {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := b.manifest(m, fs); err != nil {
			return nil, err
		}
	}
	return b.out, b.finish()
}

// builder collects a snapshot.
type builder struct {
	table    *catalog.Table
	mapping  map[string]int
	pushable map[int]bool
	out      *snapshot
	paths    map[string]bool
	vectors  map[string]int // data file → its deletion vector
	index    deleteIndex
}

func (b *builder) manifest(m iceberg.ManifestFile, fs manifestFiles) error {
	if len(m.KeyMetadata()) > 0 {
		return unreadable(nil, "it is encrypted")
	}
	id := int(m.PartitionSpecID())
	spec := b.table.Iceberg.Metadata().PartitionSpecByID(id)
	if spec == nil {
		return unreadable(nil, "a manifest names a partition spec that the table does not have")
	}
	for i := range spec.NumFields() {
		if len(spec.Field(i).SourceIDs) != 1 {
			return unreadable(nil, "it is partitioned by a transform of more than one column")
		}
	}
	b.out.specs[id] = *spec
	for e, err := range m.Entries(fs, true) {
		if err != nil {
			return Unread(err, "a manifest cannot be decoded")
		}
		if err := b.entry(e, m); err != nil {
			return err
		}
	}
	return nil
}

// entry takes one live file.
func (b *builder) entry(e iceberg.ManifestEntry, m iceberg.ManifestFile) error {
	d := e.DataFile()
	if len(d.KeyMetadata()) > 0 {
		return unreadable(nil, "it is encrypted")
	}
	if err := b.table.Files.Check(d.FilePath()); err != nil {
		return Unread(err, "a file lies where files may not be read")
	}
	if e.SequenceNum() < 0 || d.Count() < 0 || d.FileSizeBytes() < 0 {
		return unreadable(nil, "a manifest lists a file without its sequence number, rows or size")
	}
	isDelete := d.ContentType() != iceberg.EntryContentData
	if isDelete != (m.ManifestContent() == iceberg.ManifestContentDeletes) {
		return unreadable(nil, "a manifest mixes data and deletes")
	}
	if isDelete {
		return b.delete(e)
	}
	return b.file(e)
}

func (b *builder) file(e iceberg.ManifestEntry) error {
	d := e.DataFile()
	if d.FileFormat() != iceberg.ParquetFile {
		return unreadable(nil, "it has data files of the format %s", d.FileFormat())
	}
	place := samePlace(d.FilePath())
	if b.paths[place] {
		return unreadable(nil, "a data file is listed twice")
	}
	b.paths[place] = true
	out := dataFile{
		file: File{
			Path: d.FilePath(), Size: d.FileSizeBytes(), Rows: d.Count(), Seq: e.SequenceNum(),
			FirstRow: d.FirstRowID(), Mapping: b.mapping,
		},
		spec: int(d.SpecID()), partition: d.Partition(), stats: statsOf(d, b.pushable),
	}
	var err error
	if out.file.Constants, err = constants(b.table, b.out.specs[out.spec], out.partition); err != nil {
		return err
	}
	b.out.data = append(b.out.data, out)
	return nil
}

// finish matches deletes to data files.
func (b *builder) finish() error {
	for i := range b.out.data {
		d := &b.out.data[i]
		d.deletes = b.index.applying(d, b.out.deletes)
	}
	return nil
}

// statsOf keeps the statistics of columns that conditions may use.
func statsOf(d iceberg.DataFile, ids map[int]bool) map[int]stat {
	values, nulls := d.ValueCounts(), d.NullValueCounts()
	lower, upper := d.LowerBoundValues(), d.UpperBoundValues()
	out := map[int]stat{}
	for id := range ids {
		s := stat{values: -1, nulls: -1, lower: lower[id], upper: upper[id]}
		v, haveValues := values[id]
		n, haveNulls := nulls[id]
		if haveValues {
			s.values = v
		}
		if haveNulls {
			s.nulls = n
		}
		if haveValues || haveNulls || s.lower != nil || s.upper != nil {
			out[id] = s
		}
	}
	return out
}

// constants returns the values of identity-partitioned columns. A file that was imported from a folder tree does not hold these
// columns; the manifest is then the only place that knows the value.
func constants(t *catalog.Table, spec iceberg.PartitionSpec, partition map[int]any) (map[int]*string, error) {
	var out map[int]*string
	for i := range spec.NumFields() {
		f := spec.Field(i)
		if _, ok := f.Transform.(iceberg.IdentityTransform); !ok {
			continue
		}
		source, ok := lastField(t.Iceberg.Metadata(), f.SourceID())
		if !ok {
			continue // a nested field, or one that no schema has any more
		}
		text, err := partitionText(source.Type, partition[f.FieldID])
		if err != nil {
			return nil, unreadable(err, "the partition value of column %q is not understood", source.Name)
		}
		if out == nil {
			out = map[int]*string{}
		}
		out[source.ID] = text
	}
	return out, nil
}

// nameMapping flattens the table's name mapping; nested names are joined with dots. It is nil if two fields share one such name, as a
// column "a.b" and a field b in a struct a would.
func nameMapping(md table.Metadata) map[string]int {
	nm := md.NameMapping()
	if nm == nil {
		return nil
	}
	out := map[string]int{}
	clash := false
	var walk func(prefix string, fs []iceberg.MappedField)
	walk = func(prefix string, fs []iceberg.MappedField) {
		for _, f := range fs {
			for _, n := range f.Names {
				if f.FieldID != nil {
					id, seen := out[prefix+n]
					clash = clash || seen && id != *f.FieldID
					out[prefix+n] = *f.FieldID
				}
				walk(prefix+n+".", f.Fields)
			}
		}
	}
	walk("", nm)
	if clash {
		return nil
	}
	return out
}
