package grants

import (
	"maps"
	"reflect"
)

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

// edit is one change of a document, made of many sets. Nodes that it has made itself are nobody else's yet, so that it
// changes them in place: a thousand sets copy each node once.
type edit struct{ fresh map[uintptr]bool }

func newEdit() *edit { return &edit{fresh: map[uintptr]bool{}} }

// own returns n itself if it is fresh, else a fresh copy.
func (e *edit) own(n node) node {
	if n != nil && e.fresh[reflect.ValueOf(n).Pointer()] {
		return n
	}
	out := maps.Clone(n)
	if out == nil {
		out = node{}
	}
	e.fresh[reflect.ValueOf(out).Pointer()] = true
	return out
}

// set returns n with v at path. A nil v removes what is there, and the nodes above that are then empty, down to keep
// levels of path.
func (e *edit) set(n node, keep int, v any, path ...string) node {
	key := path[0]
	below, _ := n[key].(node)
	if v == nil && len(path) > 1 && below == nil {
		return n
	}
	out := e.own(n)
	if len(path) == 1 {
		if v == nil {
			delete(out, key)
		} else {
			out[key] = v
		}
		return out
	}
	next := e.set(below, keep-1, v, path[1:]...)
	if v == nil && len(next) == 0 && keep <= 0 {
		delete(out, key)
	} else {
		out[key] = next
	}
	return out
}
