package duckdb

import (
	"fmt"
	"strings"

	"gatehouse/executors"
	"gatehouse/plan"
)

// maxComputed bounds the values that a statement's text carries.
const maxComputed = 1_000_000

// computed is a SELECT of the columns c<id> of a scan whose rows are values.
func computed(s *plan.Scan) (string, error) {
	if len(s.Values) == 0 || len(s.Fields) == 0 {
		return "SELECT " + stubColumns(s.Fields) + " WHERE false", nil
	}
	if len(s.Values)*len(s.Fields) > maxComputed {
		return "", &executors.Error{Kind: executors.KindMemory, Hint: "too many rows of " + s.Schema + "." + s.Table + "; add conditions on its columns"}
	}
	var b strings.Builder
	b.WriteString("SELECT ")
	for i, f := range s.Fields {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "CAST(v%d AS %s) AS %s", i, f.Type, columnName(f.ID))
	}
	b.WriteString(" FROM (VALUES ")
	for n, row := range s.Values {
		if len(row) != len(s.Fields) {
			return "", internal("a row of %d values for %d fields", len(row), len(s.Fields))
		}
		if n > 0 {
			b.WriteString(", ")
		}
		for i, v := range row {
			b.WriteString(map[bool]string{true: "(", false: ", "}[i == 0])
			switch {
			case v == nil:
				b.WriteString("NULL")
			case strings.ContainsRune(*v, 0):
				return "", internal("a computed value with a NUL")
			default:
				b.WriteString(literal(*v))
			}
		}
		b.WriteString(")")
	}
	b.WriteString(") AS __gw_values(")
	for i := range s.Fields {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "v%d", i)
	}
	b.WriteString(")")
	return b.String(), nil
}
