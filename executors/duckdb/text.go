package duckdb

import (
	"fmt"
	"strings"
)

// literal is s as a string literal of the engine, which knows no escapes but the doubled quote.
func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// identifier is s as a quoted identifier.
func identifier(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

// columnName is the name of a field inside of a scan. A name of the table's own could hide the engine's virtual columns, or
// differ from another one only in case.
func columnName(id int) string { return fmt.Sprintf("c%d", id) }

func columnRef(id int) string { return "d." + columnName(id) }

// list is the elements in brackets.
func list[T any](elements []T, text func(T) string) string {
	var b strings.Builder
	b.WriteByte('[')
	for i, e := range elements {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(text(e))
	}
	b.WriteByte(']')
	return b.String()
}
