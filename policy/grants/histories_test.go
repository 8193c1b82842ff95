package grants

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gatehouse/classify"
	"gatehouse/policy"
)

// text is all of a right but who gave it and when, as List and the file tell it.
func (e *extent) text() string {
	r := e.right(hold{})
	r.By = ""
	return fmt.Sprintf("%+v %v", r, e.optionExcept)
}

// right is what List says.
func (e *extent) right(h hold) policy.Right {
	r := policy.Right{Principal: h.principal, Privilege: h.privilege, Object: h.object, Denied: h.denied, UUID: e.uuid, By: e.by, Except: e.except}
	shown := map[string]string{}
	cols := slices.Sorted(maps.Keys(e.cols))
	for _, k := range slices.Sorted(maps.Keys(e.option)) {
		if !e.cols[k] {
			cols = append(cols, k)
		}
	}
	taken := map[string]bool{}
	for _, k := range cols {
		name := e.names[k]
		if name == "" || taken[name] || e.cols[name] || e.option[name] {
			name = k
		}
		shown[k], taken[name] = name, true
		if strings.HasPrefix(k, "#") {
			if r.Fields == nil {
				r.Fields = map[string]int{}
			}
			r.Fields[name] = int(k[1] - '0')
		}
	}
	for _, k := range cols {
		if e.cols[k] && !e.cols["*"] {
			r.Columns = append(r.Columns, shown[k])
		}
		if e.option[k] {
			r.Option = append(r.Option, shown[k])
		}
		if ps := e.via[k]; ps != nil {
			if r.Via == nil {
				r.Via = map[string][]policy.Principal{}
			}
			r.Via[shown[k]] = slices.Sorted(maps.Keys(ps))
		}
	}
	return r
}

// passes reports whether p itself may grant a privilege on.
func (l *ledger) passes(p policy.Principal, o policy.Object, privilege, col string) bool {
	for h, e := range l.held {
		if h.denied || h.principal != p || h.object.Catalog != o.Catalog || h.privilege != privilege && h.privilege != "OWNERSHIP" {
			continue
		}
		option, owns := len(e.option) > 0, h.privilege == "OWNERSHIP"
		switch h.object.Level {
		case classify.LevelCatalog:
			if option || owns {
				return true
			}
		case classify.LevelSchema:
			if h.object.Schema == o.Schema && o.Level != classify.LevelCatalog && (option || owns) {
				return true
			}
		case classify.LevelFutureTables:
			if h.object.Schema == o.Schema && o.Level != classify.LevelCatalog && o.Level != classify.LevelSchema && option && !slices.Contains(e.optionExcept, o.Table) {
				return true
			}
		default:
			if h.object == o && (owns || e.option["*"] || e.option[col]) {
				return true
			}
		}
	}
	return false
}

// abandoned are the columns of grants of which nobody of those who made them could make them now.
func (l *ledger) abandoned() map[hold][]string {
	out := map[hold][]string{}
	for h, e := range l.held {
		for k, ps := range e.via {
			still := slices.ContainsFunc(slices.Collect(maps.Keys(ps)), func(p policy.Principal) bool { return l.passes(p, h.object, h.privilege, k) })
			if !h.denied && !still {
				out[h] = append(out[h], k)
			}
		}
	}
	return out
}

var (
	everybody = []policy.Principal{"user:ann", "user:bob", "group:g", "role:r1", "role:r2", "public", "user@https://issuer ann"}
	objects   = []policy.Object{
		{Level: classify.LevelTable, Catalog: "c", Schema: "s", Table: "t"},
		{Level: classify.LevelTable, Catalog: "c", Schema: "s", Table: "t"},
		{Level: classify.LevelTable, Catalog: "c", Schema: "s", Table: "t"},
		{Level: classify.LevelTable, Catalog: "d", Schema: "s", Table: "t"},
		{Level: classify.LevelTable, Catalog: "c", Schema: "s.t", Table: "u"},
		{Level: classify.LevelTable, Catalog: "c", Schema: "s", Table: "t.u"},
		{Level: classify.LevelFutureTables, Catalog: "c", Schema: "s"},
		{Level: classify.LevelFutureTables, Catalog: "c", Schema: "s"},
		{Level: classify.LevelSchema, Catalog: "c", Schema: "s"},
		{Level: classify.LevelCatalog, Catalog: "c"},
	}
	everyOp = []policy.RightsOp{
		policy.OpCreateRole, policy.OpDropRole, policy.OpAddMember, policy.OpAddMember, policy.OpRemoveMember, policy.OpAllow, policy.OpAllow, policy.OpAllow, policy.OpAllow,
		policy.OpAllow, policy.OpRevoke, policy.OpRevoke, policy.OpRevoke, policy.OpDeny, policy.OpDeny, policy.OpUndeny, policy.OpUndeny, policy.OpSetFilter, policy.OpDropFilter,
		policy.OpSetMask, policy.OpSetMask, policy.OpDropMask, policy.OpSetTag, policy.OpSetTag, policy.OpSetTag, policy.OpUnsetTag,
	}
)

// columnsOf draws columns: one that was renamed, some that are meant by their names.
func columnsOf(t *rapid.T, least int) ([]string, map[string]int) {
	fields := rapid.SampledFrom([]map[string]int{{"a": 1, "b": 2}, {"a": 1, "b": 2}, {"a": 3, "b": 1}, nil}).Draw(t, "fields")
	return rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b"}), least, 2, rapid.ID[string]).Draw(t, "columns"), fields
}

func some(t *rapid.T, what string, least int) []policy.Principal {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(everybody), least, 2, rapid.ID[policy.Principal]).Draw(t, what)
}

// anyChange draws one change of any kind.
func anyChange(t *rapid.T) policy.Change {
	c := policy.Change{Op: rapid.SampledFrom(everyOp).Draw(t, "op")}
	uuid := rapid.SampledFrom([]string{"u1", "u1", "u1", "u2", ""}).Draw(t, "uuid")
	switch c.Op {
	case policy.OpCreateRole, policy.OpDropRole:
		c.Role = rapid.SampledFrom([]string{"r1", "r2", "admin"}).Draw(t, "role")
		return c
	case policy.OpAddMember, policy.OpRemoveMember:
		c.Role, c.Option = rapid.SampledFrom([]string{"r1", "r2", "admin"}).Draw(t, "role"), rapid.Bool().Draw(t, "option")
		c.Principal = rapid.SampledFrom(everybody).Draw(t, "member")
		return c
	case policy.OpSetFilter, policy.OpDropFilter, policy.OpSetMask, policy.OpDropMask:
		return anyRule(t, c, uuid)
	}
	c.Object = rapid.SampledFrom(objects).Draw(t, "object")
	if c.Op == policy.OpSetTag || c.Op == policy.OpUnsetTag {
		c.Object = rapid.SampledFrom(objects[2:6]).Draw(t, "table")
		c.Columns, c.Fields = columnsOf(t, 0)
		c.Tag = &policy.Tag{Key: rapid.SampledFrom([]string{"k", "l"}).Draw(t, "key"), Value: rapid.SampledFrom([]string{"", "v", "w"}).Draw(t, "value")}
		c.UUID = uuid
		return c
	}
	c.Principal = rapid.SampledFrom(everybody[:6]).Draw(t, "principal")
	c.Privilege = rapid.SampledFrom([]string{"SELECT", "SELECT", "SELECT", "INSERT", "OWNERSHIP"}).Draw(t, "privilege")
	c.Option = c.Op != policy.OpDeny && c.Op != policy.OpUndeny && rapid.Bool().Draw(t, "option")
	if c.Object.Level == classify.LevelTable {
		c.Columns, c.Fields = columnsOf(t, 0)
		c.UUID = uuid
	}
	if c.Object.Level == classify.LevelFutureTables && c.Op == policy.OpAllow {
		c.Except = rapid.SampledFrom([][]string{{}, {"t"}, {"u"}, {"t", "u"}}).Draw(t, "except")
	}
	switch c.Op {
	case policy.OpAllow:
		c.Via = some(t, "via", 0)
	case policy.OpRevoke:
		c.Dependants = rapid.SampledFrom([]string{"", "", "cascade", "restrict"}).Draw(t, "dependants")
	}
	return c
}

// handedOn draws three statements: somebody gets a privilege, hands it on, and loses it with what hangs on it.
func handedOn(t *rapid.T) [][]policy.Change {
	who := rapid.SliceOfNDistinct(rapid.SampledFrom(everybody[:6]), 2, 2, rapid.ID[policy.Principal]).Draw(t, "hand to hand")
	c := policy.Change{Object: rapid.SampledFrom(objects[8:]).Draw(t, "object"), Principal: who[0], Privilege: "SELECT"}
	gets, hands, loses := c, c, c
	gets.Op, gets.Option = policy.OpAllow, true
	hands.Op, hands.Principal, hands.Via = policy.OpAllow, who[1], who[:1]
	loses.Op, loses.Dependants = policy.OpRevoke, "cascade"
	return [][]policy.Change{{gets}, {hands}, {loses}}
}

func anyRule(t *rapid.T, c policy.Change, uuid string) policy.Change {
	r := &policy.Rule{
		Name: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "name"), Expression: rapid.SampledFrom([]string{"a = 1", "a = 2"}).Draw(t, "expression"),
		To: some(t, "to", 1), Except: some(t, "spared", 0), UUID: uuid, Maker: rapid.SampledFrom(everybody).Draw(t, "maker"),
	}
	r.Reads = r.Expression == "a = 2"
	slices.Sort(r.To)
	slices.Sort(r.Except)
	if rapid.Bool().Draw(t, "fields are known") {
		r.Fields = map[string]int{"a": rapid.IntRange(1, 3).Draw(t, "field")}
	}
	c.Rule, c.Object = r, rapid.SampledFrom(objects[2:6]).Draw(t, "table")
	if c.Op == policy.OpSetFilter || c.Op == policy.OpDropFilter {
		return c
	}
	if rapid.IntRange(0, 3).Draw(t, "other priority") > 2 {
		r.Priority = rapid.IntRange(-1, 2).Draw(t, "priority")
	}
	if rapid.Bool().Draw(t, "by tag") {
		r.UUID, c.Object = "", policy.Object{}
		r.Tag = &policy.Tag{Key: rapid.SampledFrom([]string{"k", "l"}).Draw(t, "key"), Any: rapid.Bool().Draw(t, "any")}
		if !r.Tag.Any {
			r.Tag.Value = rapid.SampledFrom([]string{"", "v"}).Draw(t, "value")
		}
		return c
	}
	cols, fields := columnsOf(t, 1)
	r.Columns = map[string]int{}
	for _, name := range cols {
		r.Columns[name] = fields[name]
	}
	return c
}

// Whatever is changed, in whatever order: the store tells what the ledger says, takes what it takes and refuses what it refuses. States
// that were handed out never change, the log makes the same state again, and what is exported makes any store the same.
func TestHistories(t *testing.T) {
	refused, cascades := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		states, l := []*State{empty("admin")}, newLedger()
		docs := []string{document(t, states[0])}
		var log []policy.RightsEntry
		var ahead [][]policy.Change
		for range rapid.IntRange(5, 40).Draw(t, "statements") {
			s := states[len(states)-1]
			if len(ahead) == 0 && rapid.IntRange(0, 9).Draw(t, "hands on") == 9 {
				ahead = handedOn(t)
			}
			var changes []policy.Change
			if len(ahead) > 0 {
				changes, ahead = ahead[0], ahead[1:]
			} else {
				for range rapid.SampledFrom([]int{1, 1, 1, 2, 3}).Draw(t, "changes") {
					changes = append(changes, anyChange(t))
				}
			}
			entry := policy.RightsEntry{Version: s.version + 1, Time: time.Unix(int64(len(states)), 5).UTC(), Author: policy.Author{User: fmt.Sprint("u", len(states))}}
			next, made, err := s.apply(newEdit(), changes, stamp{entry.Author.User, entry.Time})
			after := l.do(changes, entry.Author.User)
			var refusal *policy.RightsError
			if err != nil && !errors.As(err, &refusal) || (err != nil) != (after == nil) {
				t.Fatalf("%+v: %v, and by the ledger %v", changes, err, after != nil)
			}
			if err != nil {
				refused++
				continue
			}
			if len(made) > len(changes) {
				cascades++
			}
			if l = after; len(made) == 0 {
				l.agree(t, s)
				continue
			}
			l.agree(t, next)
			entry.Changes = made
			states, docs, log = append(states, next), append(docs, document(t, next)), append(log, overTheWire(t, entry))
		}
		at, ed := states[0], newEdit()
		for i, s := range states {
			if got := document(t, s); got != docs[i] {
				t.Fatalf("version %d was changed after it was handed out:\n%s\n%s", i, docs[i], got)
			}
		}
		var err error
		for _, e := range log {
			if at, err = at.replay(ed, e); err != nil {
				t.Fatal(err)
			}
		}
		last := states[len(states)-1]
		if !reflect.DeepEqual(at.root, last.root) || at.version != last.version {
			t.Fatalf("the log makes\n%s\nand not\n%s", document(t, at), document(t, last))
		}
		carriedOver(t, last, states[len(states)/2])
		none, err := Plan(last, &File{})
		if err != nil {
			t.Fatal(err)
		}
		nothing, _, err := last.apply(newEdit(), none, stamp{})
		if err != nil {
			t.Fatal(err)
		}
		nothing.root = newEdit().set(nothing.root, 0, 0, "version")
		if got, want := document(t, nothing), docs[0]; got != want {
			t.Fatalf("all taken back by %+v:\n%s\nwant\n%s", none, got, want)
		}
	})
	if refused == 0 || cascades == 0 {
		t.Errorf("%d refused, %d cascades: the test shows nothing", refused, cascades)
	}
}

// document is all of a state's document.
func document(t *rapid.T, s *State) string {
	b, err := json.Marshal(s.root)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// overTheWire is an entry as the log gives it back.
func overTheWire(t *rapid.T, e policy.RightsEntry) policy.RightsEntry {
	at, author, changes, err := encode(e)
	if err != nil {
		t.Fatal(err)
	}
	out, err := decode(int64(e.Version), at, author, changes)
	if err != nil || out.Author != e.Author || !out.Time.Equal(e.Time) || len(out.Changes) != len(e.Changes) {
		t.Fatalf("%+v is %+v in the log, %v", e, out, err)
	}
	return out
}

// carriedOver checks that the file of a state makes any other state the same, and that nothing is left to do then.
func carriedOver(t *rapid.T, s, other *State) {
	text := func(s *State) string {
		f, err := Export(s)
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := f.Write(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	want := text(s)
	f, err := ReadFile([]byte(want))
	if err != nil {
		t.Fatalf("%v\n%s", err, want)
	}
	if left, err := Plan(s, f); err != nil || len(left) > 0 {
		t.Fatalf("left to do %+v, %v\n%s", left, err, want)
	}
	changes, err := Plan(other, f)
	if err != nil {
		t.Fatal(err)
	}
	now, _, err := other.apply(newEdit(), changes, stamp{"file", time.Unix(0, 0)})
	if err != nil {
		t.Fatalf("%v by %+v from\n%s\nto\n%s", err, changes, text(other), want)
	}
	if got := text(now); got != want {
		t.Fatalf("after %+v:\n%s", changes, cmp.Diff(want, got))
	}
}
