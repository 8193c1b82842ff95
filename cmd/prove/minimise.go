package main

import "slices"

// minimise makes st smaller as long as still holds. It changes the tree in place and tries at most budget statements.
func minimise(st *statement, budget int, still func() bool) {
	for changed := true; changed && budget > 0; {
		changed = false
		for _, n := range nodes(st.root) {
			if n.leaf || budget <= 0 {
				continue
			}
			old := *n
			for _, c := range smaller(n) {
				if budget--; budget < 0 {
					break
				}
				*n = c
				if still() {
					changed = true
					break
				}
				*n = old
			}
		}
	}
}

func nodes(root *node) []*node {
	var out []*node
	seen := map[*node]bool{}
	root.walk(func(n *node) {
		if !seen[n] {
			seen[n] = true
			out = append(out, n)
		}
	})
	return out
}

// smaller returns what may stand in place of n, the smallest first: nothing, NULL, or a part of n of the same type.
func smaller(n *node) []node {
	var out []node
	if n.optional {
		out = append(out, node{optional: true, leaf: true})
	}
	if n.kind == "" || n.kind == "query" {
		if n.kind == "query" {
			out = append(out, descendants(n)...)
		}
		return out
	}
	out = append(out, node{kind: n.kind, parts: []any{"NULL"}, leaf: true})
	return append(out, descendants(n)...)
}

func descendants(n *node) []node {
	var out []node
	n.walk(func(d *node) {
		if d != n && d.kind == n.kind {
			out = append(out, node{kind: d.kind, parts: slices.Clone(d.parts), leaf: d.leaf, optional: n.optional})
		}
	})
	slices.Reverse(out)
	return out[:min(len(out), 8)]
}
