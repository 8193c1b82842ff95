package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/apache/iceberg-go"
)

// The scope of each kind of delete, by the rules of the Iceberg specification.
func TestDeleteScope(t *testing.T) {
	all := []deleteFile{
		0: {seq: 5},                                         // vector of a
		1: {seq: 5, target: "a"},                            // positional, names a alone
		2: {seq: 5},                                         // positional, partition p
		3: {seq: 5, lower: []byte("b"), upper: []byte("c")}, // positional, partition p, paths b to c
		4: {seq: 5},                                         // equality, partition p
		5: {seq: 5},                                         // equality, global
	}
	p := partitionKey(1, map[int]any{1000: "p"})
	index := deleteIndex{
		vectors: map[string]int{"v": 0}, byPath: map[string][]int{"a": {1}},
		positional: map[string][]int{p: {2, 3}}, equality: map[string][]int{p: {4}}, global: []int{5},
	}
	for _, c := range []struct {
		path      string
		spec      int
		partition any
		seq       int64
		want      string
	}{
		{"a", 1, "p", 4, "[1 2 4 5]"},
		{"a", 1, "p", 5, "[1 2]"}, // of the same commit: no equality delete
		{"a", 1, "p", 6, "[]"},
		{"a", 1, "q", 4, "[1 5]"}, // another partition
		{"a", 2, "p", 4, "[1 5]"}, // another spec
		{"b", 1, "p", 4, "[2 3 4 5]"},
		{"d", 1, "p", 4, "[2 4 5]"},
		{"v", 1, "p", 5, "[0]"}, // a vector has all positions
		{"v", 1, "p", 4, "[0 4 5]"},
		{"v", 1, "p", 6, "[]"}, // the file is newer than the vector
		{"x", 1, nil, 4, "[5]"},
	} {
		d := &dataFile{file: File{Path: c.path, Seq: c.seq}, spec: c.spec, partition: map[int]any{1000: c.partition}}
		if got := fmt.Sprint(index.applying(d, all)); got != c.want {
			t.Errorf("%s of spec %d, partition %v, sequence %d: got %s, want %s", c.path, c.spec, c.partition, c.seq, got, c.want)
		}
	}
}

// Partitions are told apart by value; the width of a number, which a promotion changes, does not count.
func TestPartitionKey(t *testing.T) {
	key := func(v any) string { return partitionKey(1, map[int]any{1000: v}) }
	for _, same := range [][2]any{{int32(7), int64(7)}, {float32(0.5), 0.5}} {
		if key(same[0]) != key(same[1]) {
			t.Errorf("%T and %T of one value differ", same[0], same[1])
		}
	}
	values := []any{nil, "null", "", "7", int32(7), 7.0, []byte("7"), "7|1001=s37", true, iceberg.Time(7)}
	for i, a := range values {
		for _, b := range values[:i] {
			if key(a) == key(b) {
				t.Errorf("%#v and %#v are one partition", a, b)
			}
		}
	}
}

// Statistics are not used where they may be about another type or, in files without field ids, another column.
func TestPushableColumns(t *testing.T) {
	c := openZoo(t)
	for _, x := range []struct{ table, want string }{
		{"spark.orders", "amount customer id region"},
		{"spark.evo_promote", ""},
		{"spark.imported_name_mapping", "added id"},
		{"spark.imported_name_reused", "id"},
		{"py.promoted", ""},
	} {
		ns, name, _ := strings.Cut(x.table, ".")
		tbl, err := c.Table(t.Context(), alice, ns, name)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for id := range maps.Keys(pushableColumns(tbl.Iceberg.Metadata(), tbl.Fields)) {
			f, _ := topLevel(tbl.Fields, id)
			got = append(got, f.Name)
		}
		slices.Sort(got)
		if s := strings.Join(got, " "); s != x.want {
			var types []string
			for _, f := range tbl.Columns {
				types = append(types, f.Name+" "+f.SQLType)
			}
			t.Errorf("%s: %q, want %q of %q", x.table, s, x.want, types)
		}
	}
}
