package catalog

import "github.com/apache/iceberg-go"

// Lost reports whether old has a field, at any depth, that c has no more. Both are the same column by field id, old in an older version
// of the table.
func (c Column) Lost(old Column) bool {
	now := map[int]bool{}
	nestedIDs(c.Type, now)
	before := map[int]bool{}
	nestedIDs(old.Type, before)
	for id := range before {
		if !now[id] {
			return true
		}
	}
	return false
}

// nestedIDs collects the ids of the fields of t.
func nestedIDs(t iceberg.Type, into map[int]bool) {
	n, ok := t.(iceberg.NestedType)
	if !ok {
		return
	}
	for _, f := range n.Fields() {
		into[f.ID] = true
		nestedIDs(f.Type, into)
	}
}
