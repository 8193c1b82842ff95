package duckdb

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/file"
	"github.com/apache/arrow-go/v18/parquet/schema"

	"gatehouse/executors"
)

// maxFooters bounds the cache of footers.
const maxFooters = 50_000

// footer is what a scan has to know of a Parquet file's schema: without it, a file without field ids would read as NULLs, and a
// renamed field inside of a struct too.
type footer struct {
	rows int64
	ids  bool // some column has a field id
	// columns is by the schema's order. Lists and maps are cut down to element, or key and value.
	columns []node
}

// node is one field of a file's schema.
type node struct {
	name     string
	id       int // -1: none
	shape    shape
	int96    bool
	written  string // the type of a leaf that Iceberg may have widened since, "" for any other
	children []node
}

type shape int

const (
	leaf shape = iota
	structShape
	listShape
	mapShape
)

// byID returns the top-level column with that field id, nil if there is none.
func (f *footer) byID(id int) *node {
	for i := range f.columns {
		if f.columns[i].id == id {
			return &f.columns[i]
		}
	}
	return nil
}

// footers caches footers by private name, which stands for the content.
type footers struct {
	mu    sync.Mutex
	cache map[string]*footer
}

func newFooters() *footers { return &footers{cache: map[string]*footer{}} }

// read returns the footer of the Parquet file l.
func (f *footers) read(l *link) (*footer, error) {
	f.mu.Lock()
	cached, ok := f.cache[l.path]
	f.mu.Unlock()
	if ok {
		return cached, nil
	}
	ft, err := readFooter(l.path)
	if err != nil {
		if _, typed := errors.AsType[*executors.Error](err); typed {
			return nil, err
		}
		return nil, dataError("%w", err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.cache) >= maxFooters {
		clear(f.cache)
	}
	f.cache[l.path] = ft
	return ft, nil
}

func readFooter(path string) (ft *footer, err error) {
	err = withParquet(path, func(r *file.Reader, _ int64) error {
		ft = &footer{rows: r.NumRows()}
		if err := checkCodecs(r); err != nil {
			return err
		}
		root := r.MetaData().Schema.Root()
		for i := range root.NumFields() {
			ft.columns = append(ft.columns, newNode(root.Field(i)))
		}
		ft.ids = anyID(ft.columns)
		return nil
	})
	return ft, err
}

// withParquet hands the Parquet file at path, of which only the footer has been read, and its size to use.
func withParquet(path string, use func(r *file.Reader, size int64) error) (err error) {
	// The reader panics on some damaged footers.
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("damaged footer: %v", v)
		}
	}()
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return err
	}
	r, err := file.NewParquetReader(in)
	if err != nil {
		return err
	}
	defer r.Close()
	return use(r, info.Size())
}

// codecs are the compressions that the engine reads. Its LZ4 is the raw one: the older framing of Hadoop's is not read.
var codecs = map[compress.Compression]bool{
	compress.Codecs.Uncompressed: true, compress.Codecs.Snappy: true, compress.Codecs.Gzip: true,
	compress.Codecs.Zstd: true, compress.Codecs.Brotli: true, compress.Codecs.Lz4Raw: true,
}

func checkCodecs(r *file.Reader) error {
	for i := range r.NumRowGroups() {
		group := r.MetaData().RowGroup(i)
		for j := range group.NumColumns() {
			c, err := group.ColumnChunk(j)
			if err != nil {
				return err
			}
			if !codecs[c.Compression()] {
				return &executors.Error{
					Kind: executors.KindUnsupported,
					Hint: "data files with the compression " + c.Compression().String() + " cannot be read here",
				}
			}
		}
	}
	return nil
}

func anyID(nodes []node) bool {
	for i := range nodes {
		if nodes[i].id >= 0 || anyID(nodes[i].children) {
			return true
		}
	}
	return false
}

func newNode(n schema.Node) node {
	out := node{name: n.Name(), id: int(n.FieldID())}
	group, ok := n.(*schema.GroupNode)
	if !ok {
		if p, ok := n.(*schema.PrimitiveNode); ok {
			out.int96 = p.PhysicalType() == parquet.Types.Int96
			out.written = written(p)
		}
		return out
	}
	switch {
	case isList(group):
		out.shape = listShape
		out.children = []node{newNode(listElement(group))}
	case isMap(group):
		entries := group.Field(0).(*schema.GroupNode)
		out.shape = mapShape
		out.children = []node{newNode(entries.Field(0)), newNode(entries.Field(1))}
	default:
		out.shape = structShape
		for i := range group.NumFields() {
			out.children = append(out.children, newNode(group.Field(i)))
		}
	}
	return out
}

// written returns the engine's name for what a leaf holds, if it is of a type that schema evolution may widen.
func written(p *schema.PrimitiveNode) string {
	switch t := p.LogicalType().(type) {
	case schema.DecimalLogicalType:
		return fmt.Sprintf("DECIMAL(%d,%d)", t.Precision(), t.Scale())
	case schema.NoLogicalType, schema.UnknownLogicalType:
	case schema.IntLogicalType:
		if t.BitWidth() != 32 || !t.IsSigned() {
			return ""
		}
	default:
		return ""
	}
	switch p.PhysicalType() {
	case parquet.Types.Int32:
		return "INTEGER"
	case parquet.Types.Float:
		return "FLOAT"
	}
	return ""
}

func isList(g *schema.GroupNode) bool {
	_, logical := g.LogicalType().(schema.ListLogicalType)
	return (logical || g.ConvertedType() == schema.ConvertedTypes.List) && g.NumFields() == 1
}

// listElement finds the element of a list of the standard three levels, or of the older two.
func listElement(g *schema.GroupNode) schema.Node {
	repeated := g.Field(0)
	if inner, ok := repeated.(*schema.GroupNode); ok && inner.NumFields() == 1 && inner.Name() != "array" && inner.Name() != g.Name()+"_tuple" {
		return inner.Field(0)
	}
	return repeated
}

func isMap(g *schema.GroupNode) bool {
	_, logical := g.LogicalType().(schema.MapLogicalType)
	converted := g.ConvertedType()
	if !logical && converted != schema.ConvertedTypes.Map && converted != schema.ConvertedTypes.MapKeyValue || g.NumFields() != 1 {
		return false
	}
	entries, ok := g.Field(0).(*schema.GroupNode)
	return ok && entries.NumFields() == 2
}
