package grants

import "maps"

// node is one level of the document data.gateway.grants. A node that was handed out is never changed: set copies the nodes
// on the way to what changes and shares all others, so that a version costs what its change costs.
type node = map[string]any

// get returns the value at path.
func get(n node, path ...string) (any, bool) {
	var at any = n
	for _, p := range path {
		m, ok := at.(node)
		if !ok {
			return nil, false
		}
		if at, ok = m[p]; !ok {
			return nil, false
		}
	}
	return at, true
}

// child returns the node at path, nil if there is none.
func child(n node, path ...string) node {
	v, _ := get(n, path...)
	m, _ := v.(node)
	return m
}

// set returns n with v at path. A nil v removes what is there, and the nodes above that are then empty, down to keep
// levels of path.
func set(n node, keep int, v any, path ...string) node {
	out := maps.Clone(n)
	if out == nil {
		out = node{}
	}
	key := path[0]
	if len(path) == 1 {
		if v == nil {
			delete(out, key)
		} else {
			out[key] = v
		}
		return out
	}
	below, _ := n[key].(node)
	if v == nil && below == nil {
		return n
	}
	next := set(below, keep-1, v, path[1:]...)
	if v == nil && len(next) == 0 && keep <= 0 {
		delete(out, key)
	} else {
		out[key] = next
	}
	return out
}
