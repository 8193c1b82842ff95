package grants

import (
	"maps"
	"reflect"
	"slices"
	"strings"

	"gatehouse/classify"
	"gatehouse/policy"
)

// ledger is what changes mean for what is kept, written down a second time without a document, paths or sharing. The store
// must agree with it in all that it tells, see TestHistories.
type ledger struct {
	roles    map[string]bool
	members  map[policy.Principal]map[string]bool // with admin option or not
	held     map[hold]*extent
	filters  map[policy.Object]map[string]policy.Rule
	masks    map[policy.Object]map[string]policy.Rule
	tagMasks map[string]map[string]policy.Rule
	tags     map[policy.Object]*bearer
}

type hold struct {
	object    policy.Object
	denied    bool
	principal policy.Principal
	privilege string
}

// extent is one right; columns are written as in the document.
type extent struct {
	cols, option         map[string]bool
	names                map[string]string
	via                  map[string]map[policy.Principal]bool
	except, optionExcept []string // nil: none are said
	uuid, by             string
}

// bearer holds the tags of one table; the column "" is the table itself.
type bearer struct {
	uuid  string
	tags  map[string]map[string]string
	names map[string]string
}

func newLedger() *ledger {
	return &ledger{
		roles: map[string]bool{"admin": true}, members: map[policy.Principal]map[string]bool{}, held: map[hold]*extent{},
		filters: map[policy.Object]map[string]policy.Rule{}, masks: map[policy.Object]map[string]policy.Rule{},
		tagMasks: map[string]map[string]policy.Rule{}, tags: map[policy.Object]*bearer{},
	}
}

func (l *ledger) clone() *ledger {
	out := &ledger{
		roles: maps.Clone(l.roles), members: map[policy.Principal]map[string]bool{}, held: map[hold]*extent{},
		filters: map[policy.Object]map[string]policy.Rule{}, masks: map[policy.Object]map[string]policy.Rule{},
		tagMasks: map[string]map[string]policy.Rule{}, tags: map[policy.Object]*bearer{},
	}
	for k, v := range l.members {
		out.members[k] = maps.Clone(v)
	}
	for k, v := range l.held {
		out.held[k] = v.clone()
	}
	for k, v := range l.filters {
		out.filters[k] = maps.Clone(v)
	}
	for k, v := range l.masks {
		out.masks[k] = maps.Clone(v)
	}
	for k, v := range l.tagMasks {
		out.tagMasks[k] = maps.Clone(v)
	}
	for k, v := range l.tags {
		b := &bearer{v.uuid, map[string]map[string]string{}, maps.Clone(v.names)}
		for col, tags := range v.tags {
			b.tags[col] = maps.Clone(tags)
		}
		out.tags[k] = b
	}
	return out
}

func (e *extent) clone() *extent {
	out := *e
	out.cols, out.option, out.names, out.via = maps.Clone(e.cols), maps.Clone(e.option), maps.Clone(e.names), map[string]map[policy.Principal]bool{}
	for k, v := range e.via {
		out.via[k] = maps.Clone(v)
	}
	return &out
}

// do returns the ledger after a statement; nil if it is refused.
func (l *ledger) do(changes []policy.Change, by string) *ledger {
	out := l.clone()
	cascade, restrict := false, false
	for _, c := range changes {
		if !out.one(c, by) {
			return nil
		}
		cascade, restrict = cascade || c.Dependants == "cascade", restrict || c.Dependants == "restrict"
	}
	for cascade || restrict {
		gone := out.abandoned()
		if len(gone) == 0 {
			break
		}
		if !cascade {
			return nil
		}
		for h, keys := range gone {
			out.lose(h, keys, false, by)
		}
	}
	return out
}

func (l *ledger) one(c policy.Change, by string) bool {
	o := c.Object
	switch c.Op {
	case policy.OpCreateRole:
		l.roles[c.Role] = true
		return true
	case policy.OpDropRole:
		return l.drop(c.Role)
	case policy.OpAddMember, policy.OpRemoveMember:
		return l.member(c)
	case policy.OpAllow, policy.OpDeny:
		return l.exists(c.Principal) && l.give(hold{o, c.Op == policy.OpDeny, c.Principal, c.Privilege}, c, by)
	case policy.OpRevoke, policy.OpUndeny:
		return l.exists(c.Principal) && l.take(hold{o, c.Op == policy.OpUndeny, c.Principal, c.Privilege}, c, by)
	case policy.OpSetTag, policy.OpUnsetTag:
		l.tag(c)
		return true
	case policy.OpSetFilter, policy.OpSetMask:
		for _, p := range slices.Concat(c.Rule.To, c.Rule.Except) {
			if !l.exists(p) {
				return false
			}
		}
	}
	set := c.Op == policy.OpSetFilter || c.Op == policy.OpSetMask
	switch {
	case c.Op == policy.OpSetFilter || c.Op == policy.OpDropFilter:
		put1(l.filters, o, *c.Rule, set)
	case c.Rule.Tag != nil:
		put1(l.tagMasks, c.Rule.Tag.Key, *c.Rule, set)
	default:
		put1(l.masks, o, *c.Rule, set)
	}
	return true
}

func put1[K comparable](m map[K]map[string]policy.Rule, k K, r policy.Rule, set bool) {
	if !set {
		delete(m[k], r.Name)
		return
	}
	if m[k] == nil {
		m[k] = map[string]policy.Rule{}
	}
	was := m[k][r.Name]
	if now := r; was.To != nil { // the same rule again stays that of who made it
		if now.Maker = was.Maker; reflect.DeepEqual(now, was) {
			return
		}
	}
	m[k][r.Name] = r
}

func (l *ledger) exists(p policy.Principal) bool {
	role, ok := strings.CutPrefix(string(p), "role:")
	return !ok || l.roles[role]
}

func (l *ledger) drop(role string) bool {
	if role == "admin" {
		return false
	}
	p := policy.Principal("role:" + role)
	named := false
	each := func(rules map[string]policy.Rule) {
		for _, r := range rules {
			named = named || slices.Contains(slices.Concat(r.To, r.Except), p)
		}
	}
	for _, m := range l.filters {
		each(m)
	}
	for _, m := range l.masks {
		each(m)
	}
	for _, m := range l.tagMasks {
		each(m)
	}
	if named && l.roles[role] {
		return false
	}
	delete(l.roles, role)
	delete(l.members, p)
	for _, m := range l.members {
		delete(m, role)
	}
	maps.DeleteFunc(l.held, func(h hold, _ *extent) bool { return h.principal == p })
	return true
}

func (l *ledger) member(c policy.Change) bool {
	if !l.exists(c.Principal) || !l.roles[c.Role] || c.Principal == "public" {
		return false
	}
	m := l.members[c.Principal]
	if m == nil {
		m = map[string]bool{}
		l.members[c.Principal] = m
	}
	had, is := m[c.Role]
	switch {
	case c.Op == policy.OpAddMember:
		m[c.Role] = had || c.Option
	case !c.Option:
		delete(m, c.Role)
	case is:
		m[c.Role] = false
	}
	return true
}

func columnKeys(c policy.Change) []string {
	var out []string
	for _, name := range c.Columns {
		if id := c.Fields[name]; id > 0 {
			name = "#" + itoa(id)
		}
		out = append(out, name)
	}
	if out == nil {
		return []string{"*"}
	}
	return out
}

func itoa(i int) string { return string(rune(48 + i)) } // field ids here are digits

func (l *ledger) give(h hold, c policy.Change, by string) bool {
	if h.denied && (h.privilege == "OWNERSHIP" || h.object.Level == classify.LevelFutureTables) {
		return false
	}
	old := l.held[h]
	if old == nil || old.uuid != "" && c.UUID != "" && old.uuid != c.UUID {
		old = &extent{}
	}
	e := old.clone()
	e.uuid, e.by = c.UUID, by
	if e.cols == nil {
		e.cols, e.option, e.names = map[string]bool{}, map[string]bool{}, map[string]string{}
	}
	for i, k := range columnKeys(c) {
		e.cols[k] = true
		if c.Option {
			e.option[k] = true
		}
		if strings.HasPrefix(k, "#") {
			e.names[k] = c.Columns[i]
		}
		before := old.cols[k] || old.cols["*"]
		switch {
		case len(c.Via) == 0:
			delete(e.via, k)
		case !before || e.via[k] != nil:
			if e.via[k] == nil {
				e.via[k] = map[policy.Principal]bool{}
			}
			for _, p := range c.Via {
				e.via[k][p] = true
			}
		}
	}
	for _, set := range []map[string]bool{e.cols, e.option} {
		if set["*"] {
			clear(set)
			set["*"] = true
		}
	}
	maps.DeleteFunc(e.names, func(k, _ string) bool { return !e.cols[k] })
	maps.DeleteFunc(e.via, func(k string, _ map[policy.Principal]bool) bool { return !e.cols[k] })
	if h.object.Level == classify.LevelFutureTables {
		e.except = both(old.except, c.Except)
		if c.Option {
			e.optionExcept = both(old.optionExcept, c.Except)
		}
	}
	l.keep(h, e)
	return true
}

// both are the names that two lists have; a list that was never said has all.
func both(old, now []string) []string {
	out := []string{}
	for _, t := range now {
		if old == nil || slices.Contains(old, t) {
			out = append(out, t)
		}
	}
	slices.Sort(out)
	return out
}

// keep puts e in place unless it says what was there: then nobody made it now.
func (l *ledger) keep(h hold, e *extent) {
	if old := l.held[h]; old != nil && old.text() == e.text() {
		e.by = old.by
	}
	l.held[h] = e
}

func (l *ledger) take(h hold, c policy.Change, by string) bool {
	if h.denied && h.privilege == "OWNERSHIP" && c.Op == policy.OpDeny {
		return false
	}
	e := l.held[h]
	if e == nil {
		return true
	}
	if len(c.Columns) == 0 {
		l.lose(h, []string{"*"}, c.Option, by)
		return true
	}
	if e.cols["*"] && (!c.Option || e.option["*"]) {
		return false
	}
	if e.uuid != "" && c.UUID != "" && e.uuid != c.UUID {
		return true
	}
	l.lose(h, append(columnKeys(c), c.Columns...), c.Option, by)
	return true
}

// lose takes columns of a right, or all of it, or only the grant option of them.
func (l *ledger) lose(h hold, keys []string, option bool, by string) {
	e := l.held[h].clone()
	e.by = by
	if slices.Contains(keys, "*") {
		keys = append(slices.Collect(maps.Keys(e.cols)), slices.Collect(maps.Keys(e.option))...)
	}
	for _, k := range keys {
		delete(e.option, k)
		if !option {
			delete(e.cols, k)
			delete(e.via, k)
		}
	}
	if len(e.option) == 0 {
		e.optionExcept = nil
	}
	if len(e.cols) == 0 {
		delete(l.held, h)
		return
	}
	l.keep(h, e)
}

func (l *ledger) tag(c policy.Change) {
	b := l.tags[c.Object]
	if b == nil || c.Op == policy.OpSetTag && b.uuid != c.UUID {
		b = &bearer{c.UUID, map[string]map[string]string{}, map[string]string{}}
	}
	keys := columnKeys(c)
	if len(c.Columns) == 0 {
		keys = []string{""}
	}
	changes := func(k string) bool { v, ok := b.tags[k][c.Tag.Key]; return !ok || v != c.Tag.Value }
	if c.Op == policy.OpSetTag && !slices.ContainsFunc(keys, changes) {
		return
	}
	for i, k := range keys {
		if c.Op == policy.OpUnsetTag {
			if delete(b.tags[k], c.Tag.Key); len(b.tags[k]) == 0 {
				delete(b.tags, k)
			}
			continue
		}
		if b.tags[k] == nil {
			b.tags[k] = map[string]string{}
		}
		b.tags[k][c.Tag.Key] = c.Tag.Value
		if k != "" {
			b.names[k] = c.Columns[i]
		}
	}
	if l.tags[c.Object] = b; len(b.tags) == 0 {
		delete(l.tags, c.Object)
	}
}
