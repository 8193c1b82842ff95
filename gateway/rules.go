package gateway

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"gatehouse/catalog"
	"gatehouse/classify"
	"gatehouse/policy"
)

// ruleOps are the operation that the policy is asked for, the change that is made, and the words of the statement.
var ruleOps = map[classify.Action]struct {
	ask  policy.Operation
	make policy.RightsOp
	verb string
}{
	classify.CreateFilter: {policy.CreateRowFilter, policy.OpSetFilter, "CREATE ROW FILTER"},
	classify.AlterFilter:  {policy.AlterRowFilter, policy.OpSetFilter, "ALTER ROW FILTER"},
	classify.DropFilter:   {policy.DropRowFilter, policy.OpDropFilter, "DROP ROW FILTER"},
	classify.CreateMask:   {policy.CreateMask, policy.OpSetMask, "CREATE MASK"},
	classify.AlterMask:    {policy.AlterMask, policy.OpSetMask, "ALTER MASK"},
	classify.DropMask:     {policy.DropMask, policy.OpDropMask, "DROP MASK"},
	classify.SetTag:       {policy.SetTag, policy.OpSetTag, "SET TAG"},
	classify.UnsetTag:     {policy.UnsetTag, policy.OpUnsetTag, "UNSET TAG"},
}

// ruling is one statement about row filters or masks.
type ruling struct {
	*run
	a     *classify.Access
	base  policy.Rights
	admin bool
	on    target         // the table; zero for a mask by tag
	now   *catalog.Table // the table as it is
}

// ruleChanges resolves CREATE, ALTER and DROP of row filters and masks.
func (r *run) ruleChanges(a *classify.Access, base policy.Rights) ([]policy.Change, error) {
	admin, err := r.administers()
	if err != nil {
		return nil, err
	}
	s := ruling{run: r, a: a, base: base, admin: admin}
	if a.Rule.Tag == nil {
		targets, err := r.targets(a)
		if err != nil {
			return nil, err
		}
		s.on = targets[0]
		if s.now, err = s.on.table(); err != nil {
			return nil, err
		}
	}
	var out []policy.Change
	for _, name := range a.Rule.Names {
		c, err := s.change(name)
		if err != nil {
			return nil, err
		}
		if c != nil {
			out = append(out, *c)
		}
	}
	return out, nil
}

// change returns what is to be done about one name; nil if nothing.
func (s ruling) change(written string) (*policy.Change, error) {
	name, old := s.find(written)
	do := ruleOps[s.a.Action]
	if old != nil && s.a.Rule.Replace {
		do = map[bool]struct {
			ask  policy.Operation
			make policy.RightsOp
			verb string
		}{true: ruleOps[classify.AlterMask], false: ruleOps[classify.AlterFilter]}[s.a.Action.IsMask()]
	}
	ask := do.ask
	creates := do.ask == policy.CreateRowFilter || do.ask == policy.CreateMask
	if old == nil && !creates {
		ask = policy.ShowTablePolicy // who may see that there is none
	}
	if err := s.allowed(ask, name, do.verb); err != nil {
		return nil, err
	}
	switch {
	case creates && old != nil:
		if s.a.Exists {
			return nil, nil
		}
		return nil, &classify.NameError{Kind: s.kind(), Name: written, Why: "exists already", Pos: -1}
	case !creates && old == nil:
		if s.a.Exists {
			return nil, nil
		}
		return nil, &classify.NameError{Kind: s.kind(), Name: written, Why: "does not exist", Pos: -1}
	}
	c := policy.Change{Op: do.make, Object: s.on.object, Rule: &policy.Rule{Name: name, Tag: s.tag()}}
	if do.make == policy.OpDropFilter || do.make == policy.OpDropMask {
		return &c, nil
	}
	if old != nil && !s.a.Rule.Replace {
		kept := old.Rule
		c.Rule = &kept
	}
	if err := s.fill(c.Rule); err != nil {
		return nil, err
	}
	return &c, nil
}

func (s ruling) kind() string {
	if s.a.Action.IsMask() {
		return "mask"
	}
	return "row filter"
}

func (s ruling) tag() *policy.Tag {
	if s.a.Rule.Tag == nil {
		return nil
	}
	t := policy.Tag(*s.a.Rule.Tag)
	return &t
}

// find returns the rule of that name at the statement's place, and its name as it was made.
func (s ruling) find(written string) (string, *policy.PlacedRule) {
	var here []policy.PlacedRule
	object := &s.on.object
	if s.a.Rule.Tag != nil {
		object = nil
	}
	for _, r := range s.base.Rules(object) {
		at := r.Mask == s.a.Action.IsMask() && (r.Tag == nil) == (s.a.Rule.Tag == nil)
		if at && (r.Tag == nil || r.Tag.Key == s.a.Rule.Tag.Key) {
			here = append(here, r)
		}
	}
	name, ok := fold(written, here, func(r policy.PlacedRule) string { return r.Name })
	if !ok {
		return written, nil
	}
	i := slices.IndexFunc(here, func(r policy.PlacedRule) bool { return r.Name == name })
	return name, &here[i]
}

// allowed asks the policy about one rule.
func (s ruling) allowed(op policy.Operation, name, verb string) error {
	res := policy.Resource{
		Catalog: s.on.object.Catalog, Schema: s.on.object.Schema, Table: s.on.object.Table,
		Grant: &policy.GrantRequest{Name: name, Priority: s.a.Rule.Priority != nil},
	}
	what := verb + " " + name
	if s.now != nil {
		what += " on \"" + s.on.written + "\""
		res.Detail = s.detail()
	}
	return s.may(op, res, what)
}

func (s ruling) detail() *policy.Table {
	return &policy.Table{Name: s.name(), UUID: s.now.UUID, Columns: columns(s.now)}
}

func (s ruling) name() classify.Name {
	return classify.Name{Catalog: s.on.object.Catalog, Schema: s.on.object.Schema, Table: s.on.object.Table}
}

// fill puts what the statement says into r, and binds it to the table as it is now.
func (s ruling) fill(r *policy.Rule) error {
	said := s.a.Rule
	var err error
	if len(said.To) > 0 {
		if r.To, err = s.principals(said.To, s.base); err != nil {
			return err
		}
	}
	if len(r.To) == 0 {
		r.To = []policy.Principal{"public"}
	}
	if said.Nobody {
		r.Except = nil
	}
	if len(said.Except) > 0 {
		if r.Except, err = s.principals(said.Except, s.base); err != nil {
			return err
		}
	}
	if said.Priority != nil {
		r.Priority = *said.Priority
	}
	r.Maker = policy.UserPrincipal(s.session.identity, s.g.home())
	renewed := s.now != nil && r.UUID != s.now.UUID // what the ids of another table meant is of no use
	if said.Using != "" {
		r.Expression = said.Using
	}
	if said.Using != "" || renewed {
		if err := s.bind(r); err != nil {
			return err
		}
	}
	if s.now == nil {
		return s.fitsTagged(r)
	}
	if err := s.maySee(r); err != nil {
		return err
	}
	return s.fits(s.on.object, s.now, r, slices.Collect(maps.Keys(r.Columns)))
}

// bind finds out what r's names mean.
func (s ruling) bind(r *policy.Rule) error {
	mask := s.a.Action.IsMask()
	if s.now == nil {
		fields, reads, err := policy.BindRule(r.Expression, policy.Table{}, true, &classify.Column{Name: policy.Value, Type: "VARCHAR"})
		if err != nil {
			return s.wrong(fmt.Errorf("%w (a mask by tag knows the masked column as %s, and no other)", err, policy.Value))
		}
		r.Fields, r.Reads = fields, reads
		return nil
	}
	known, err := s.on.load()
	if err != nil {
		return err
	}
	var value *classify.Column
	if mask {
		names := s.a.Rule.Columns
		if len(names) == 0 { // ALTER
			names = slices.Sorted(maps.Keys(r.Columns))
		}
		r.Columns = map[string]int{}
		for _, w := range names {
			name, ok := fold(w, known, func(c classify.Column) string { return c.Name })
			if !ok {
				return &classify.NameError{Kind: "column", Name: w, Why: "does not exist", Pos: -1}
			}
			i := slices.IndexFunc(known, func(c classify.Column) bool { return c.Name == name })
			r.Columns[name], value = known[i].FieldID, &known[i]
		}
	}
	r.UUID = s.now.UUID
	r.Fields, r.Reads, err = policy.BindRule(r.Expression, policy.Table{Name: s.name(), Columns: known}, mask, value)
	if err != nil {
		return s.wrong(err)
	}
	return nil
}

// wrong says what is wrong with an expression. The words are ours and the maker's.
func (s ruling) wrong(err error) error {
	return &policy.RightsError{Message: fmt.Sprintf("%s %q: %v", s.kind(), s.a.Rule.Names[0], err)}
}

// maySee refuses a rule that reads, or stands in for, what its maker does not see as it is: with a filter over a masked column
// he would learn the column's values by counting rows.
func (s ruling) maySee(r *policy.Rule) error {
	if s.admin {
		return nil
	}
	if err := s.cannotFail(r); err != nil {
		return err
	}
	seen, err := s.seesColumns(s.name(), s.now.UUID, columns(s.now))
	if err != nil {
		return err
	}
	ids := slices.Concat(slices.Collect(maps.Values(r.Fields)), slices.Collect(maps.Values(r.Columns)))
	var names []string
	for _, id := range ids {
		i := indexOf(seen, id)
		if i < 0 {
			return s.denied(fmt.Sprintf("a column that %s %q reads", s.kind(), r.Name))
		}
		names = append(names, seen[i].Name)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	d, err := s.judge.Table(s.ctx, *s.detail(), names)
	if err != nil {
		return err
	}
	if len(s.now.Restrictions) > 0 {
		if err := d.Restrict(s.now.Restrictions, *s.detail()); err != nil {
			return s.denied(fmt.Sprintf("what %s %q reads", s.kind(), r.Name)) // nothing of the table can be read
		}
	}
	for _, n := range names {
		if _, masked := d.Masks[n]; masked {
			return s.denied(fmt.Sprintf("column %q in %s %q, which is masked for you", n, s.kind(), r.Name))
		}
	}
	return nil
}

// cannotFail refuses a row filter that can fail, whose maker would learn from the error that a row is there which another filter
// hides from him. Masks meet only rows that no filter drops.
func (s ruling) cannotFail(r *policy.Rule) error {
	if s.a.Action.IsMask() {
		return nil
	}
	fails, err := policy.FilterMayFail(*r, *s.detail())
	if err == nil && fails {
		err = errors.New("it can fail on some value, and such filters are for administrators to make")
	}
	if err != nil {
		return s.wrong(err)
	}
	return nil
}

// fits lets the engine prepare a query with r alone in force, which shows whether the expression's types agree. Nothing is run.
func (r *run) fits(o policy.Object, now *catalog.Table, rule *policy.Rule, on []string) error {
	e := policy.Expression{ID: rule.Name, SQL: rule.Expression, Params: policy.SampleParams(), Fields: map[string]int{}}
	maps.Copy(e.Fields, rule.Fields)
	d := policy.Decision{ID: r.id, Masks: map[string]policy.Expression{}}
	all := columns(now)
	if len(on) == 0 {
		d.Filters = []policy.Expression{e}
	}
	for _, name := range on {
		i := slices.IndexFunc(all, func(c classify.Column) bool { return c.Name == name })
		if i < 0 {
			continue
		}
		m := e
		m.Fields = maps.Clone(e.Fields)
		if rule.Reads {
			m.Fields[policy.Value] = all[i].FieldID
		}
		if err := policy.CheckMask(m, policy.Table{Columns: all}, all[i]); err != nil {
			return &policy.RightsError{Message: fmt.Sprintf("mask %q does not hold on table %q: %v", rule.Name, o.Table, err)}
		}
		d.Masks[name] = m
	}
	err := r.prepares(o, now, all, d)
	var fault *policy.PolicyError
	var unreadable *UnreadableError
	switch {
	case err == nil, errors.As(err, &unreadable):
		return err
	case errors.As(err, &fault):
		return &policy.RightsError{Message: fmt.Sprintf("%q does not hold on table %q: %v", rule.Name, o.Table, fault.Cause)}
	}
	what := "the types of what it compares do not agree"
	if len(on) > 0 {
		what = "its type, or that of a column that it reads, does not agree with " + strings.Join(slices.Sorted(slices.Values(on)), ", ")
	}
	return &policy.RightsError{Message: fmt.Sprintf("%q does not hold on table %q: %s", rule.Name, o.Table, what)}
}

// prepares takes SELECT * through the stages under d.
func (r *run) prepares(o policy.Object, now *catalog.Table, all []classify.Column, d policy.Decision) error {
	quoted := make([]string, 0, 3)
	for _, part := range append([]string{o.Catalog}, append(strings.Split(o.Schema, "."), o.Table)...) {
		quoted = append(quoted, `"`+strings.ReplaceAll(part, `"`, `""`)+`"`)
	}
	stmt, err := classify.Parse("SELECT * FROM " + strings.Join(quoted, "."))
	if err != nil {
		return nil // a name that no statement can have
	}
	t := &table{
		ref: stmt.Tables()[0], name: classify.Name{Catalog: o.Catalog, Schema: o.Schema, Table: o.Table}, current: now, loaded: now,
		all: all, visible: all, written: o.Table, position: -1,
	}
	bound, err := stmt.Bind(relations([]*table{t}))
	if err != nil {
		return nil
	}
	described := policy.Table{Name: t.name, UUID: now.UUID, Columns: all}
	if err := r.restrict(&d, described, t); err != nil {
		return err
	}
	governed, err := policy.Apply(bound, r.judge.Revision(), []policy.Table{described}, []policy.Decision{d})
	if err != nil {
		return err
	}
	deadline, _ := r.ctx.Deadline()
	p, err := r.g.cfg.Planner.Plan(r.ctx, r.session.identity, r.id, governed, []*catalog.Table{now}, deadline)
	if err != nil {
		return unreadable([]*table{t}, err)
	}
	prepared, err := r.executor().Prepare(r.ctx, p)
	if err != nil {
		return err
	}
	return prepared.Close()
}

// fitsTagged checks a mask by tag on every column that bears the tag now.
func (s ruling) fitsTagged(r *policy.Rule) error {
	for o, on := range bearers(s.base, *r.Tag) {
		if err := s.fitsOn(o, r, on); err != nil {
			return err
		}
	}
	return nil
}

// bearers are the tables with columns, or as a whole with the column 0, that a mask on t is about.
func bearers(base policy.Rights, t policy.Tag) map[policy.Object][]int {
	out := map[policy.Object][]int{}
	for _, tag := range base.Tags(nil) {
		if tag.Key == t.Key && (t.Any || tag.Value == t.Value) {
			out[tag.Object] = append(out[tag.Object], tag.Field)
		}
	}
	return out
}

// fitsOn checks a mask by tag on the columns of a table, 0 for all of them. A table that is gone has nothing to check.
func (r *run) fitsOn(o policy.Object, rule *policy.Rule, fields []int) error {
	cat, _ := r.g.catalog(o.Catalog)
	if cat == nil {
		return nil
	}
	now, err := cat.Table(r.ctx, r.session.identity, o.Schema, o.Table)
	if errors.Is(err, catalog.ErrNoSuchTable) {
		return nil
	}
	if err != nil {
		return unreadable([]*table{{written: o.Table}}, err)
	}
	var on []string
	for _, c := range columns(now) {
		if slices.Contains(fields, 0) || slices.Contains(fields, c.FieldID) {
			on = append(on, c.Name)
		}
	}
	if len(on) == 0 {
		return nil
	}
	return r.fits(o, now, rule, on)
}

// tagChanges resolves SET TAG and UNSET TAG.
func (r *run) tagChanges(a *classify.Access, base policy.Rights) ([]policy.Change, error) {
	targets, err := r.targets(a)
	var none *classify.NameError
	if a.Exists && errors.As(err, &none) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	t, do := targets[0], ruleOps[a.Action]
	now, err := t.table()
	if err != nil {
		return nil, err
	}
	err = r.may(do.ask, policy.Resource{
		Catalog: t.object.Catalog, Schema: t.object.Schema, Table: t.object.Table, Grant: &policy.GrantRequest{},
		Detail: &policy.Table{Name: classify.Name{Catalog: t.object.Catalog, Schema: t.object.Schema, Table: t.object.Table}, UUID: now.UUID, Columns: columns(now)},
	}, do.verb+" on \""+t.written+"\"")
	if err != nil {
		return nil, err
	}
	names, err := t.columns(a.Columns)
	if err != nil {
		return nil, err
	}
	c := policy.Change{Op: do.make, Object: t.object, UUID: now.UUID, Columns: names, Fields: fieldsOf(columns(now), names)}
	var out []policy.Change
	for _, tag := range a.Tags {
		one := policy.Tag(tag)
		c.Tag = &one
		out = append(out, c)
		if a.Action == classify.SetTag {
			if err := r.tagFits(base, c); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// tagFits checks the masks on a tag that is about to be set.
func (r *run) tagFits(base policy.Rights, c policy.Change) error {
	fields := slices.Collect(maps.Values(c.Fields))
	if len(c.Columns) == 0 {
		fields = []int{0}
	}
	for _, rule := range base.Rules(nil) {
		if rule.Tag == nil || rule.Tag.Key != c.Tag.Key || !rule.Tag.Any && rule.Tag.Value != c.Tag.Value {
			continue
		}
		if err := r.fitsOn(c.Object, &rule.Rule, fields); err != nil {
			return err
		}
	}
	return nil
}

// fieldsOf are the field ids of named columns.
func fieldsOf(all []classify.Column, names []string) map[string]int {
	out := map[string]int{}
	for _, c := range all {
		if slices.Contains(names, c.Name) {
			out[c.Name] = c.FieldID
		}
	}
	return out
}
