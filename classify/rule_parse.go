package classify

import (
	"strconv"
	"strings"
)

// rule reads the statements about row filters, masks and tags. It returns the zero kind if toks is none of them.
func (p *rights) rule(a *Access) (Kind, error) {
	r := &Rule{Pos: -1}
	change := func(act Action, f func(*Access, *Rule) error) (Kind, error) {
		a.Action, a.Rule = act, r
		return KindAccess, f(a, r)
	}
	switch {
	case p.sequence("create", "or", "replace", "row", "filter"):
		r.Replace = true
		return change(CreateFilter, p.createRule)
	case p.sequence("create", "row", "filter"):
		return change(CreateFilter, p.createRule)
	case p.sequence("create", "or", "replace", "mask"):
		r.Replace = true
		return change(CreateMask, p.createRule)
	case p.sequence("create", "mask"):
		return change(CreateMask, p.createRule)
	case p.sequence("alter", "row", "filter"):
		return change(AlterFilter, p.alterRule)
	case p.sequence("alter", "mask"):
		return change(AlterMask, p.alterRule)
	case p.sequence("drop", "row", "filter"):
		return change(DropFilter, p.dropRule)
	case p.sequence("drop", "mask"):
		return change(DropMask, p.dropRule)
	case p.sequence("show", "row", "filters"):
		a.Action = ShowFilters
		return KindShowAccess, p.showRules(a)
	case p.sequence("show", "masks"):
		a.Action = ShowMasks
		return KindShowAccess, p.showRules(a)
	case p.sequence("show", "tags"):
		a.Action = ShowTags
		return KindShowAccess, p.showRules(a)
	}
	return p.tags(a)
}

// createRule reads [IF NOT EXISTS] name ON place USING (expression) [TO …] [EXCEPT …] [PRIORITY n].
func (p *rights) createRule(a *Access, r *Rule) error {
	a.Exists = p.sequence("if", "not", "exists")
	if a.Exists && r.Replace {
		return &SyntaxError{Message: "OR REPLACE and IF NOT EXISTS exclude each other", Pos: get(p.toks, p.i-1).pos}
	}
	if err := p.ruleName(r); err != nil {
		return err
	}
	if err := p.rulePlace(a, r, a.Action.IsMask()); err != nil {
		return err
	}
	if !p.peek().is("using") {
		return p.unexpected()
	}
	return p.ruleParts(a, r)
}

// alterRule reads [IF EXISTS] name ON place and at least one part.
func (p *rights) alterRule(a *Access, r *Rule) error {
	a.Exists = p.sequence("if", "exists")
	if err := p.ruleName(r); err != nil {
		return err
	}
	if err := p.rulePlace(a, r, false); err != nil {
		return err
	}
	if p.i == len(p.toks) {
		return &SyntaxError{Message: "ALTER changes USING, TO, EXCEPT or PRIORITY", Pos: p.end}
	}
	return p.ruleParts(a, r)
}

func (p *rights) dropRule(a *Access, r *Rule) error {
	a.Exists = p.sequence("if", "exists")
	if err := p.list(func() error { return p.ruleName(r) }); err != nil {
		return err
	}
	return p.rulePlace(a, r, false)
}

func (p *rights) ruleName(r *Rule) error {
	name, err := p.one()
	r.Names = append(r.Names, name)
	return err
}

// rulePlace reads ON [TABLE] t, ON t (columns) or ON TAG key [= 'value'].
func (p *rights) rulePlace(a *Access, r *Rule, columns bool) error {
	if !p.accept("on") {
		return p.unexpected()
	}
	if next := get(p.toks, p.i+1); a.Action.IsMask() && p.peek().is("tag") && (next.kind == tokWord || next.kind == tokQuoted) && !next.is("using") {
		p.i++
		t, err := p.tag(true)
		r.Tag = &t
		return err
	}
	if err := p.oneTable(a); err != nil {
		return err
	}
	if !columns {
		return nil
	}
	if !p.peek().punct("(") {
		return &SyntaxError{Message: "a mask is on columns, ON t (column), or on a tag, ON TAG key = 'value'", Pos: p.place()}
	}
	return p.brackets(func() error {
		name, err := p.one()
		r.Columns = append(r.Columns, name)
		return err
	})
}

// place is where the next token stands.
func (p *rights) place() int {
	if t := p.peek(); t.pos >= 0 {
		return t.pos
	}
	return p.end
}

// brackets reads ( item [, …] ).
func (p *rights) brackets(item func() error) error {
	if !p.peek().punct("(") {
		return p.unexpected()
	}
	p.i++
	if err := p.list(item); err != nil {
		return err
	}
	if !p.peek().punct(")") {
		return p.unexpected()
	}
	p.i++
	return nil
}

// ruleParts reads USING (expression), TO grantees, EXCEPT grantees | NONE and PRIORITY n, in this order, each at most once.
func (p *rights) ruleParts(a *Access, r *Rule) error {
	if p.accept("using") {
		if err := p.using(r); err != nil {
			return err
		}
	}
	var err error
	if p.accept("to") {
		if r.To, err = p.several(); err != nil {
			return err
		}
	}
	if p.accept("except") {
		if r.Nobody = p.accept("none"); !r.Nobody {
			if r.Except, err = p.several(); err != nil {
				return err
			}
		}
	}
	if t := p.peek(); t.is("priority") {
		if !a.Action.IsMask() {
			return &SyntaxError{Message: "row filters have no priority: all of them hold", Pos: t.pos}
		}
		p.i++
		return p.priority(r)
	}
	return nil
}

func (p *rights) priority(r *Rule) error {
	sign := ""
	if p.peek().op("-") {
		sign = "-"
		p.i++
	}
	t := p.peek()
	n, err := strconv.ParseInt(sign+t.text, 10, 32)
	if t.kind != tokNumber || err != nil {
		return p.unexpected()
	}
	p.i++
	priority := int(n)
	r.Priority = &priority
	return nil
}

// several reads grantees of their own.
func (p *rights) several() ([]Grantee, error) {
	var a Access
	err := p.grantees(&a, 0)
	return a.Grantees, err
}

// using takes the text between the brackets as it stands: what it says is for the policy's own reader.
func (p *rights) using(r *Rule) error {
	if !p.peek().punct("(") {
		return p.unexpected()
	}
	open, depth := p.i, 0
	for ; p.i < len(p.toks); p.i++ {
		switch t := p.toks[p.i]; {
		case t.punct("("):
			depth++
		case t.punct(")"):
			depth--
		case t.kind == tokParam:
			return &UnsupportedError{Construct: "a parameter in a row filter or mask", Pos: t.pos}
		}
		if depth == 0 {
			break
		}
	}
	if p.i == len(p.toks) {
		return p.unexpected()
	}
	r.Pos = p.toks[open].pos + 1
	r.Using = strings.TrimSpace(p.text[r.Pos:p.toks[p.i].pos])
	if r.Using == "" {
		return p.unexpected()
	}
	p.i++
	return nil
}

// tag reads key [= 'value']; without a value a mask holds for any, and a tag has the empty one.
func (p *rights) tag(mask bool) (Tag, error) {
	t := p.peek()
	out := Tag{Key: t.value, Any: mask}
	if t.exact() {
		p.i++
	} else {
		var err error
		if out.Key, err = p.one(); err != nil {
			return out, err
		}
	}
	if out.Key == "" {
		return out, &SyntaxError{Message: "a tag has no name", Pos: t.pos}
	}
	if !p.peek().op("=") {
		return out, nil
	}
	p.i++
	if !p.peek().exact() {
		return out, p.unexpected()
	}
	out.Value, out.Any = p.peek().value, false
	p.i++
	return out, nil
}

// tags reads ALTER TABLE t [ALTER [COLUMN] c] SET|UNSET TAG … and nothing else that begins with ALTER TABLE.
func (p *rights) tags(a *Access) (Kind, error) {
	start := p.i
	if !p.sequence("alter", "table") {
		return 0, nil
	}
	other := func() (Kind, error) {
		p.i = start
		return 0, nil
	}
	a.Exists = p.sequence("if", "exists")
	a.Level = LevelTable
	a.Positions = []int{p.place()}
	name, err := p.name()
	if err != nil {
		return other()
	}
	a.Objects = [][]string{name}
	if p.accept("alter") || p.accept("modify") {
		p.accept("column")
		err := p.list(func() error {
			c, err := p.one()
			a.Columns = append(a.Columns, c)
			return err
		})
		if err != nil {
			return other()
		}
	}
	switch {
	case p.sequence("set", "tag"):
		a.Action = SetTag
		return KindAccess, p.list(func() error { return p.addTag(a) })
	case p.sequence("set", "tags"):
		a.Action = SetTag
		return KindAccess, p.brackets(func() error { return p.addTag(a) })
	case p.sequence("unset", "tag"):
		a.Action = UnsetTag
		return KindAccess, p.list(func() error { return p.addTag(a) })
	case p.sequence("unset", "tags"):
		a.Action = UnsetTag
		return KindAccess, p.brackets(func() error { return p.addTag(a) })
	}
	return other()
}

func (p *rights) addTag(a *Access) error {
	at := p.place()
	t, err := p.tag(false)
	if err == nil && a.Action == UnsetTag && t.Value != "" {
		return &SyntaxError{Message: "UNSET TAG takes names, without values", Pos: at}
	}
	a.Tags = append(a.Tags, t)
	return err
}

// showRules reads [ON t | ON TAG key] [AS OF …].
func (p *rights) showRules(a *Access) error {
	if p.peek().is("on") {
		r := &Rule{Pos: -1}
		mask := *a
		if a.Action == ShowMasks {
			mask.Action = CreateMask
		}
		if err := p.rulePlace(&mask, r, false); err != nil {
			return err
		}
		a.Objects, a.Positions, a.Level, a.Rule = mask.Objects, mask.Positions, mask.Level, r
	}
	return p.asOf(a)
}
