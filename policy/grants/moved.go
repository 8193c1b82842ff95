package grants

import (
	"gatehouse/classify"
	"gatehouse/policy"
)

// Elsewhere reports whether a row filter, a mask, a tag or a denial was made for the table with this UUID while it had another name than n. What
// it hid would show under the new name, so whoever asks closes the table.
func (s *State) Elsewhere(uuid string, n classify.Name) bool {
	s.homesOnce.Do(func() { s.homes = s.findHomes() })
	for home := range s.homes[uuid] {
		if home != n {
			return true
		}
	}
	return false
}

// findHomes returns the names under which tables are that something hides, by UUID.
func (s *State) findHomes() map[string]map[classify.Name]bool {
	homes := map[string]map[classify.Name]bool{}
	add := func(uuid string, o policy.Object) {
		if uuid == "" {
			return
		}
		if homes[uuid] == nil {
			homes[uuid] = map[classify.Name]bool{}
		}
		homes[uuid][classify.Name{Catalog: o.Catalog, Schema: o.Schema, Table: o.Table}] = true
	}
	for _, r := range s.Rules(nil) {
		add(r.UUID, r.Object)
	}
	for _, t := range s.Tags(nil) {
		add(t.UUID, t.Object)
	}
	s.each(nil, func(o policy.Object, n node) {
		for _, held := range child(n, "deny") {
			for _, leaf := range held.(node) {
				uuid, _ := leaf.(node)["uuid"].(string)
				add(uuid, o)
			}
		}
	})
	return homes
}
