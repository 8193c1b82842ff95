package plan

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
)

// deleteFile is one delete file with what decides where it applies.
type deleteFile struct {
	file         DeleteFile
	seq          int64
	target       string // of a deletion vector: its data file
	lower, upper []byte // bounds of the data files' paths, nil if unknown
}

// deleteIndex finds the deletes of a data file by the scope that the Iceberg specification gives each kind: a deletion vector has one data
// file; positional deletes have one, or those of their partition; equality deletes have those of their partition, or all if
// their spec is unpartitioned.
type deleteIndex struct {
	vectors    map[string]int   // by data file, as samePlace has it
	byPath     map[string][]int // positional, the same
	positional map[string][]int // by partition
	equality   map[string][]int // by partition
	global     []int            // equality
}

// filePathID is the reserved field id of the column file_path in positional delete files.
const filePathID = 2147483546

// delete takes one live delete file or deletion vector.
func (b *builder) delete(e iceberg.ManifestEntry) error {
	d := e.DataFile()
	out := deleteFile{
		file: DeleteFile{Path: d.FilePath(), Size: d.FileSizeBytes(), Rows: d.Count()},
		seq:  e.SequenceNum(),
	}
	n := len(b.out.deletes)
	spec := b.out.specs[int(d.SpecID())]
	scope := partitionKey(int(d.SpecID()), d.Partition())
	switch {
	case d.ContentType() == iceberg.EntryContentPosDeletes && d.FileFormat() == iceberg.PuffinFile:
		if err := b.vector(&out, d); err != nil {
			return err
		}
		put(&b.index.vectors, out.target, n)
	case d.FileFormat() != iceberg.ParquetFile:
		return unreadable(nil, "it has delete files of the format %s", d.FileFormat())
	case d.ContentType() == iceberg.EntryContentPosDeletes:
		out.file.Kind = PositionDeletes
		out.lower, out.upper = d.LowerBoundValues()[filePathID], d.UpperBoundValues()[filePathID]
		if ref := d.ReferencedDataFile(); ref != nil {
			add(&b.index.byPath, samePlace(*ref), n)
		} else {
			add(&b.index.positional, scope, n)
		}
	case d.ContentType() == iceberg.EntryContentEqDeletes:
		if err := b.equality(&out, d); err != nil {
			return err
		}
		if spec.IsUnpartitioned() {
			b.index.global = append(b.index.global, n)
		} else {
			add(&b.index.equality, scope, n)
		}
	default:
		return unreadable(nil, "it has deletes of an unknown kind")
	}
	b.out.deletes = append(b.out.deletes, out)
	return nil
}

func (b *builder) vector(out *deleteFile, d iceberg.DataFile) error {
	ref, offset, length := d.ReferencedDataFile(), d.ContentOffset(), d.ContentSizeInBytes()
	if ref == nil || offset == nil || length == nil || *offset < 0 || *length <= 0 || *offset > math.MaxInt64-*length {
		return unreadable(nil, "a deletion vector lacks its place or its data file")
	}
	out.target = samePlace(*ref)
	if _, dup := b.index.vectors[out.target]; dup {
		return unreadable(nil, "a data file has two deletion vectors")
	}
	out.file.Kind, out.file.Offset, out.file.Length = DeletionVector, *offset, *length
	return nil
}

func (b *builder) equality(out *deleteFile, d iceberg.DataFile) error {
	ids := d.EqualityFieldIDs()
	if len(ids) == 0 {
		return unreadable(nil, "an equality delete has no key")
	}
	out.file.Kind = EqualityDeletes
	for _, id := range ids {
		f, err := keyField(b.table, id)
		if err != nil {
			return err
		}
		if f.Nested != nil {
			return unreadable(nil, "an equality delete has the key %q of type %s", f.Name, f.Type)
		}
		out.file.Equality = append(out.file.Equality, f)
	}
	return nil
}

// applying returns the deletes that apply to d, ascending. Deletion vectors and positional deletes apply to files of their own
// commit too, equality deletes only to older ones. Where a deletion vector applies, positional deletes do not: it has them all.
// Statistics of key columns are not used: after a promotion they have the bytes of another type.
func (x *deleteIndex) applying(d *dataFile, all []deleteFile) []int {
	var out []int
	scope := ""
	if len(x.positional)+len(x.equality) > 0 {
		scope = partitionKey(d.spec, d.partition)
	}
	place := ""
	if len(x.vectors)+len(x.byPath) > 0 {
		place = samePlace(d.file.Path)
	}
	if n, ok := x.vectors[place]; ok && all[n].seq >= d.file.Seq {
		out = append(out, n)
	} else {
		for _, n := range x.byPath[place] {
			if all[n].seq >= d.file.Seq {
				out = append(out, n)
			}
		}
		for _, n := range x.positional[scope] {
			if all[n].seq >= d.file.Seq && all[n].mayName(d.file.Path) {
				out = append(out, n)
			}
		}
	}
	for _, list := range [][]int{x.global, x.equality[scope]} {
		for _, n := range list {
			if all[n].seq > d.file.Seq {
				out = append(out, n)
			}
		}
	}
	slices.Sort(out)
	return out
}

// mayName reports whether the bounds of a positional delete file's paths leave room for path, however it is spelt.
func (d *deleteFile) mayName(path string) bool {
	return slices.ContainsFunc(Spellings(path), func(p string) bool {
		return (d.lower == nil || bytes.Compare(d.lower, []byte(p)) <= 0) && (d.upper == nil || bytes.Compare(d.upper, []byte(p)) >= 0)
	})
}

// partitionKey identifies a partition of a spec. Integers and floats of both widths look alike, since a promoted column has
// old values in the old width.
func partitionKey(spec int, partition map[int]any) string {
	var s strings.Builder
	fmt.Fprintf(&s, "%d", spec)
	for _, id := range slices.Sorted(maps.Keys(partition)) {
		fmt.Fprintf(&s, "|%d=", id)
		switch v := partition[id].(type) {
		case nil:
			s.WriteString("null")
		case int32:
			fmt.Fprintf(&s, "i%d", v)
		case int64:
			fmt.Fprintf(&s, "i%d", v)
		case iceberg.Date:
			fmt.Fprintf(&s, "i%d", int64(v))
		case float32:
			fmt.Fprintf(&s, "f%x", math.Float64bits(float64(v)))
		case float64:
			fmt.Fprintf(&s, "f%x", math.Float64bits(v))
		case string:
			s.WriteString("s" + hex.EncodeToString([]byte(v)))
		case []byte:
			s.WriteString("b" + hex.EncodeToString(v))
		case iceberg.Decimal:
			s.WriteString("d" + v.String())
		default:
			fmt.Fprintf(&s, "%T%v", v, v)
		}
	}
	return s.String()
}

func put(m *map[string]int, key string, n int) {
	if *m == nil {
		*m = map[string]int{}
	}
	(*m)[key] = n
}

func add(m *map[string][]int, key string, n int) {
	if *m == nil {
		*m = map[string][]int{}
	}
	(*m)[key] = append((*m)[key], n)
}
