package duckdb

import (
	"fmt"
	"slices"
	"strings"

	"gatehouse/plan"
)

// chains order the sets of equality deletes that files have. A stream of upserts gives nearly every file a set of its own, but
// the older the file, the more deletes apply: the sets are nested, so that one number for each file and one for each delete
// say what applies, and all the files of a chain are read at once.
type chains struct {
	sets  [][][]int // by chain: its sets, each within the next
	place [][2]int  // by file: chain and step; step 0 has no deletes
}

// newChains sorts the files' sets into as few chains as a greedy search finds. Files without equality deletes are step 0 of the
// first chain.
func newChains(s *plan.Scan) *chains {
	c := &chains{place: make([][2]int, len(s.Files))}
	order := make([]int, len(s.Files))
	sets := make([][]int, len(s.Files))
	for i, f := range s.Files {
		order[i] = i
		for _, d := range f.Deletes {
			if d >= 0 && d < len(s.Deletes) && s.Deletes[d].Kind == plan.EqualityDeletes {
				sets[i] = append(sets[i], d)
			}
		}
		slices.Sort(sets[i])
		sets[i] = slices.Compact(sets[i])
	}
	slices.SortStableFunc(order, func(a, b int) int { return len(sets[a]) - len(sets[b]) })
	for _, i := range order {
		if len(sets[i]) > 0 {
			c.place[i] = c.add(sets[i])
		}
	}
	return c
}

func (c *chains) add(set []int) [2]int {
	for n, chain := range c.sets {
		last := chain[len(chain)-1]
		if slices.Equal(last, set) {
			return [2]int{n, len(chain)}
		}
		if within(last, set) {
			c.sets[n] = append(chain, set)
			return [2]int{n, len(chain) + 1}
		}
	}
	c.sets = append(c.sets, [][]int{set})
	return [2]int{len(c.sets) - 1, 1}
}

// within reports whether all of a, which is sorted, is in b, which is sorted.
func within(a, b []int) bool {
	for _, x := range a {
		if _, ok := slices.BinarySearch(b, x); !ok {
			return false
		}
	}
	return true
}

// of returns the chain and step of a file.
func (c *chains) of(file int) (chain, step int) { return c.place[file][0], c.place[file][1] }

// steps are the deletes that each step of a chain adds.
func (c *chains) steps(chain int) [][]int {
	if chain >= len(c.sets) {
		return nil
	}
	var out [][]int
	var last []int
	for _, set := range c.sets[chain] {
		var added []int
		for _, d := range set {
			if _, old := slices.BinarySearch(last, d); !old {
				added = append(added, d)
			}
		}
		out, last = append(out, added), set
	}
	return out
}

// keyGroup is the equality deletes with one set of key columns.
type keyGroup struct {
	keys  []plan.Field
	links []*link
	steps []int // by link: the first step that has it
	rows  int64
}

func (s *scan) keyGroups(a *arm) []*keyGroup {
	var groups []*keyGroup
	byKeys := map[string]*keyGroup{}
	for step, deletes := range a.equality {
		for _, i := range deletes {
			d := s.relation.Scan.Deletes[i]
			keys := slices.Clone(d.Equality)
			slices.SortFunc(keys, func(a, b plan.Field) int { return a.ID - b.ID })
			var name strings.Builder
			for j := range keys {
				fmt.Fprintf(&name, "%d ", keys[j].ID)
				keys[j].Default = nil // a key that a delete file holds is never a default
			}
			g := byKeys[name.String()]
			if g == nil {
				g = &keyGroup{keys: keys}
				byKeys[name.String()] = g
				groups = append(groups, g)
			}
			g.links = append(g.links, s.deletes[i])
			g.steps = append(g.steps, step+1)
			g.rows += d.Rows
		}
	}
	return groups
}

// equalityJoins are the anti-joins with the arm's equality deletes, one for each set of key columns. A NULL key deletes rows with
// NULL; both sides have the current type, as a delete may have been written before its column was widened, or after.
func (s *scan) equalityJoins(a *arm) (string, error) {
	fields := s.relation.Scan.Fields
	fileSteps := make([]int, len(a.files))
	for i, f := range a.files {
		fileSteps[i] = f.step
	}
	if slices.Max(append(fileSteps, 0)) == 0 {
		return "", nil
	}
	var b strings.Builder
	for i, g := range s.keyGroups(a) {
		var on []string
		for _, k := range g.keys {
			at := slices.IndexFunc(fields, func(f plan.Field) bool { return f.ID == k.ID })
			if at < 0 || len(k.Nested) > 0 {
				return "", internal("equality key %d is not read", k.ID)
			}
			f := fields[at]
			on = append(on, fmt.Sprintf("%s IS NOT DISTINCT FROM CAST(e%d.%s AS %s)", a.value(f, a.layout.sources[at]), i, columnName(k.ID), f.Type))
		}
		// Without this condition every delete of the arm would apply to every file.
		if slices.Min(fileSteps) < slices.Max(g.steps) {
			on = append(on, fmt.Sprintf("%s[d.file_index::BIGINT + 1] >= %s[e%d.file_index::BIGINT + 1]", stepList(fileSteps), stepList(g.steps), i))
		}
		links := list(g.links, func(l *link) string { return literal(l.path) })
		fmt.Fprintf(&b, " ANTI JOIN %s e%d ON %s", readParquet(links, g.keys, nil, g.rows), i, strings.Join(on, " AND "))
	}
	return b.String(), nil
}

func stepList(steps []int) string {
	return "(" + list(steps, func(n int) string { return fmt.Sprintf("%d", n) }) + "::INTEGER[])"
}
