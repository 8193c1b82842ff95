package classes

import (
	"fmt"
	"os"
	"strings"
)

// call makes the text of a call of what is probed from the texts of its arguments.
type call func(args []string) string

// finding is what probing says, from best to worst.
type finding struct {
	tried    int // combinations of values
	raises   fault
	example  string
	volatile bool
	leak     string // the form in which a value of a hidden row was evaluated: "dictionary", "barrier"
	leaking  string // the call that was, with c0 (and so on) for columns
	types    string // of those columns
	shown    bool   // a file was made that shows on what rows it raises
}

const maxTuples = 60

// probe looks for a value on which a call raises, and for a form in which it is evaluated on rows that are filtered out.
func (e *engine) probe(f call, types []string, pool [][]string) finding {
	tuples := combinations(pool, maxTuples)
	columns := names(len(types))
	run := func(tuples [][]string) (fault, string) {
		if len(types) == 0 {
			return e.try("SELECT " + f(nil))
		}
		var rows []string
		for _, t := range tuples {
			rows = append(rows, "("+strings.Join(t, ", ")+")")
		}
		text := fmt.Sprintf("SELECT %s AS x FROM (VALUES %s) AS t(%s)", f(columns), strings.Join(rows, ", "), strings.Join(columns, ", "))
		if why, sum := e.try("SELECT bit_xor(hash(x)) FROM (" + text + ")"); why != unbound {
			return why, sum
		}
		return e.try(text)
	}
	constant := func(t []string) fault { why, _ := e.try("SELECT " + f(t)); return why }
	found := finding{tried: max(len(tuples), 1)}
	all, sum := run(tuples)
	if all == none {
		if again, sum2 := run(tuples); again == none && sum != sum2 {
			found.volatile = true
		}
		return found
	}
	one := func(t []string) fault { why, _ := run([][]string{t}); return why }
	if all == unbound {
		// Some arguments must be constants: those are tried as they stand.
		one = constant
	}
	var raising, harmless [][]string
	bound := false
	for _, t := range tuples {
		switch why := one(t); {
		case why == unbound:
			continue
		case why == none:
			harmless = append(harmless, t)
		default:
			if found.raises == none || why == invalid || why == broken {
				found.raises, found.example = why, f(t)
			}
			raising = append(raising, t)
		}
		bound = true
		if len(raising) >= 3 && len(harmless) >= 1 || len(raising) >= 8 {
			break
		}
	}
	if !bound {
		found.raises = unbound
		return found
	}
	if len(raising) == 0 {
		if all != unbound && all != none {
			found.raises, found.example = all, "all values together"
		}
		return found
	}
	e.hide(&found, f, one, types, raising, harmless, pool)
	return found
}

// hide puts raising values into rows that a filter removes, as all arguments and as each one beside constants, and runs the call
// above the filter.
func (e *engine) hide(found *finding, f call, one func([]string) fault, types []string, raising, harmless [][]string, pool [][]string) {
	if len(raising) > 2 {
		raising = raising[:2]
	}
	for _, bad := range raising {
		if len(harmless) > 0 && len(types) > 1 {
			found.shown = e.evaluate(found, f, types, bad, harmless[0]) || found.shown
		}
		for i := range types {
			for _, good := range pool[i] {
				t := append([]string(nil), bad...)
				t[i] = good
				if good == bad[i] || one(t) != none {
					continue
				}
				part := func(args []string) string {
					full := append([]string(nil), bad...)
					full[i] = args[0]
					return f(full)
				}
				found.shown = e.evaluate(found, part, types[i:i+1], bad[i:i+1], []string{good}) || found.shown
				break
			}
		}
		if found.leak != "" {
			return
		}
	}
}

// carriers are types in which a file can hold values of a type that Parquet lacks.
var carriers = []string{"", "DECIMAL(38,0)", "BIGINT", "VARCHAR", "BLOB"}

// evaluate reports whether it could be shown on what rows the call is evaluated.
func (e *engine) evaluate(found *finding, f call, types, hidden, visible []string) bool {
	shown := 0
	for _, carrier := range carriers {
		stored := append([]string(nil), types...)
		if carrier != "" {
			for i := range stored {
				stored[i] = carrier
			}
		}
		path, ok := e.file(stored, visible, hidden)
		if !ok {
			continue
		}
		var columns, same []string
		for i := range types {
			c := fmt.Sprintf("c%d", i)
			if carrier != "" {
				c = fmt.Sprintf("CAST(c%d AS %s)", i, types[i])
			}
			columns = append(columns, c)
			same = append(same, fmt.Sprintf("%s IS NOT DISTINCT FROM %s", c, hidden[i]))
		}
		alone, ok := e.file(stored, visible, visible)
		if why, _ := e.try("SELECT " + f(columns) + " FROM read_parquet('" + alone + "')"); !ok || why != none {
			continue // the carrier changes a value
		}
		if why, all := e.try(fmt.Sprintf("SELECT bool_and(%s) FROM read_parquet('%s') WHERE k = 'h'", strings.Join(same, " AND "), path)); why == none && all == "true" {
			if e.filtered(found, f(columns), path) {
				shown++
			}
			if found.leak != "" && found.leaking == "" {
				found.leaking, found.types = f(names(len(types))), strings.Join(types, ";")
			}
		}
		_, _ = os.Remove(path), os.Remove(alone)
		if shown == 1 || found.leak != "" {
			break
		}
	}
	return shown > 0
}

// filtered runs a call above filters that remove the hidden rows; it reports whether the control, without one, raises.
func (e *engine) filtered(found *finding, text, path string) bool {
	form := "WITH r AS %s (SELECT * FROM (SELECT * FROM read_parquet('" + path + "')) WHERE %s) SELECT " + text + " FROM r"
	if why, _ := e.try(fmt.Sprintf(form, "NOT MATERIALIZED", "true")); why == none || why == unbound {
		return false
	}
	for _, filter := range []string{"k = 'v'", "k LIKE 'v%'"} {
		if why, _ := e.try(fmt.Sprintf(form, "NOT MATERIALIZED", filter)); why != none {
			found.leak = "dictionary"
		}
		if why, _ := e.try(fmt.Sprintf(form, "MATERIALIZED", filter)); why != none {
			found.leak = "barrier"
			return true
		}
	}
	return true
}

func names(n int) []string {
	var out []string
	for i := range n {
		out = append(out, fmt.Sprintf("c%d", i))
	}
	return out
}

// merge keeps the worst of two findings.
func merge(a, b finding) finding {
	a.tried += b.tried
	a.volatile = a.volatile || b.volatile
	a.shown = a.shown || b.shown
	rank := func(f fault) int {
		switch f {
		case none:
			return 0
		case broken:
			return 2
		case invalid:
			return 3
		}
		return 1
	}
	if rank(b.raises) > rank(a.raises) || a.leak == "" && b.leak == "dictionary" || a.leak != "barrier" && b.leak == "barrier" {
		if b.raises != none {
			a.raises, a.example = b.raises, b.example
		}
	}
	if b.leak == "barrier" && a.leak != "barrier" || a.leak == "" {
		a.leak, a.leaking, a.types = b.leak, b.leaking, b.types
	}
	return a
}
