package grants_test

import (
	"slices"
	"strings"

	"gatehouse/classify"
	"gatehouse/policy"
)

// model is what rights mean, written down a second time in the plainest way: a list of what was said, searched from end to
// end. The store and its Rego must agree with it.
type model struct {
	roles   map[string]bool
	members map[policy.Principal]map[string]bool // with admin option or not
	said    map[saying]*extent
}

type saying struct {
	principal policy.Principal
	privilege string
	object    policy.Object
	denied    bool
}

type extent struct{ columns, option, except, optionExcept map[string]bool }

func newModel() *model {
	return &model{roles: map[string]bool{"admin": true}, members: map[policy.Principal]map[string]bool{}, said: map[saying]*extent{}}
}

func setOf(ss []string) map[string]bool {
	out := map[string]bool{}
	for _, s := range ss {
		out[s] = true
	}
	return out
}

// do applies a change that the store has accepted.
func (m *model) do(c policy.Change) {
	key := saying{c.Principal, c.Privilege, c.Object, c.Op == policy.OpDeny || c.Op == policy.OpUndeny}
	cols := c.Columns
	if len(cols) == 0 {
		cols = []string{"*"}
	}
	switch c.Op {
	case policy.OpCreateRole:
		m.roles[c.Role] = true
	case policy.OpDropRole:
		delete(m.roles, c.Role)
		delete(m.members, policy.Principal("role:"+c.Role))
		for _, roles := range m.members {
			delete(roles, c.Role)
		}
		for k := range m.said {
			if k.principal == policy.Principal("role:"+c.Role) {
				delete(m.said, k)
			}
		}
	case policy.OpAddMember:
		if m.members[c.Principal] == nil {
			m.members[c.Principal] = map[string]bool{}
		}
		m.members[c.Principal][c.Role] = m.members[c.Principal][c.Role] || c.Option
	case policy.OpRemoveMember:
		if _, ok := m.members[c.Principal][c.Role]; ok && c.Option {
			m.members[c.Principal][c.Role] = false
		} else {
			delete(m.members[c.Principal], c.Role)
		}
	case policy.OpAllow, policy.OpDeny:
		m.add(key, cols, c)
	case policy.OpRevoke, policy.OpUndeny:
		m.take(key, c)
	}
}

func (m *model) add(key saying, cols []string, c policy.Change) {
	e := m.said[key]
	if e == nil {
		e = &extent{columns: map[string]bool{}, option: map[string]bool{}, except: setOf(c.Except)}
		m.said[key] = e
	}
	meet(e.except, c.Except)
	if c.Option {
		if e.optionExcept == nil {
			e.optionExcept = setOf(c.Except)
		}
		meet(e.optionExcept, c.Except)
	}
	for _, col := range cols {
		e.columns[col] = true
		if c.Option {
			e.option[col] = true
		}
	}
}

func meet(set map[string]bool, with []string) {
	for t := range set {
		if !slices.Contains(with, t) {
			delete(set, t)
		}
	}
}

func (m *model) take(key saying, c policy.Change) {
	e := m.said[key]
	switch {
	case e == nil:
	case len(c.Columns) == 0 && c.Option:
		e.option, e.optionExcept = map[string]bool{}, nil
	case len(c.Columns) == 0:
		delete(m.said, key)
	default:
		for _, col := range c.Columns {
			delete(e.option, col)
			if !c.Option {
				delete(e.columns, col)
			}
		}
		if len(e.columns) == 0 {
			delete(m.said, key)
		}
	}
}

// principals is everything that p is.
func (m *model) principals(p policy.Principal) map[policy.Principal]bool {
	out := map[policy.Principal]bool{p: true, "public": true}
	for grown := true; grown; {
		grown = false
		for q := range out {
			for role := range m.members[q] {
				if r := policy.Principal("role:" + role); !out[r] {
					out[r], grown = true, true
				}
			}
		}
	}
	return out
}

// cell is one thing that can be done: a privilege on a column of a table.
type cell struct{ privilege, table, column string }

func (m *model) may(user policy.Principal, c cell) bool {
	who, allowed := m.principals(user), false
	for k, e := range m.said {
		if !who[k.principal] || !covers(k, e, c) {
			continue
		}
		if k.denied {
			return false
		}
		allowed = true
	}
	return allowed
}

func covers(k saying, e *extent, c cell) bool {
	if k.privilege != c.privilege && (k.denied || k.privilege != "OWNERSHIP") {
		return false
	}
	switch k.object.Level {
	case classify.LevelTable:
		return k.object.Table == c.table && (e.columns["*"] || e.columns[c.column])
	case classify.LevelFutureTables:
		return !e.except[c.table]
	}
	return true
}

// administers reports whether user is an administrator by membership.
func (m *model) administers(user policy.Principal) bool { return m.principals(user)["role:admin"] }

func (m *model) String() string {
	var b strings.Builder
	for p, roles := range m.members {
		for r := range roles {
			b.WriteString(string(p) + " in " + r + "; ")
		}
	}
	for k := range m.said {
		b.WriteString(string(k.principal) + " " + k.privilege + " " + k.object.String() + "; ")
	}
	return b.String()
}
