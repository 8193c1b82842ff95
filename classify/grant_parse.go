package classify

import (
	"slices"
	"strings"

	"gatehouse/classify/keyword"
)

// access parses the statements about rights. It returns nil and no error if toks is none of them.
func access(text string, toks []token) (*Statement, error) {
	p := &rights{words: words{toks: toks, end: len(text)}, text: text}
	a, kind, err := p.statement()
	if a == nil || err != nil {
		return nil, err
	}
	if err := p.done(); err != nil {
		return nil, err
	}
	return &Statement{text: text, kind: kind, rights: a}, nil
}

// rights reads the tokens of a statement about rights.
type rights struct {
	words
	text string
}

// sequence accepts all of the words, or none.
func (p *rights) sequence(ws ...string) bool {
	for i, w := range ws {
		if !get(p.toks, p.i+i).is(w) {
			return false
		}
	}
	p.i += len(ws)
	return true
}

func (p *rights) statement() (*Access, Kind, error) {
	a := &Access{}
	show := func(act Action, f func(*Access) error) (*Access, Kind, error) {
		a.Action = act
		return a, KindShowAccess, f(a)
	}
	change := func(act Action, f func(*Access) error) (*Access, Kind, error) {
		a.Action = act
		return a, KindAccess, f(a)
	}
	nothing := func(*Access) error { return nil }
	switch {
	case p.sequence("create", "role"):
		return change(CreateRole, func(a *Access) error { a.Exists = p.sequence("if", "not", "exists"); return p.roles(a) })
	case p.sequence("drop", "role"):
		return change(DropRole, p.dropRole)
	case p.sequence("grant", "role"):
		return change(GrantRole, func(a *Access) error { return p.membership(a, "to") })
	case p.sequence("revoke", "role"):
		return change(RevokeRole, func(a *Access) error { return p.membership(a, "from") })
	case p.sequence("revoke", "admin", "option", "for", "role"):
		a.Option = true
		return change(RevokeRole, func(a *Access) error { return p.membership(a, "from") })
	case p.accept("grant"):
		return change(Grant, func(a *Access) error { return p.privilege(a, "to") })
	case p.sequence("revoke", "grant", "option", "for"):
		a.Option = true
		return change(Revoke, func(a *Access) error { return p.privilege(a, "from") })
	case p.sequence("revoke", "deny"):
		a.Denial = true
		return change(Revoke, func(a *Access) error { return p.privilege(a, "from") })
	case p.accept("revoke"):
		return change(Revoke, func(a *Access) error { return p.privilege(a, "from") })
	case p.accept("deny"):
		return change(Deny, func(a *Access) error { return p.privilege(a, "to") })
	case p.sequence("set", "role"):
		a.Action = SetRole
		return a, KindSetRole, p.setRole(a)
	case p.sequence("reset", "role"):
		a.Action, a.Exists = SetRole, true
		return a, KindSetRole, nil
	case p.sequence("show", "roles"):
		return show(ShowRoles, nothing)
	case p.sequence("show", "current", "role"), p.selectCurrentRole():
		return show(CurrentRole, nothing)
	case p.sequence("show", "grants"):
		return show(ShowGrants, p.showGrants)
	case p.sequence("show", "grant", "history"):
		return show(ShowHistory, nothing)
	case p.sequence("show", "effective", "grants"):
		return show(ShowEffective, func(a *Access) error { return p.word("for", func() error { return p.grantees(a, 1) }) })
	case p.sequence("show", "effective", "policy"):
		return show(EffectivePolicy, p.effectivePolicy)
	case p.sequence("check", "access"):
		return show(CheckAccess, p.checkAccess)
	}
	kind, err := p.rule(a)
	if kind == KindInvalid && err == nil {
		return nil, kind, nil
	}
	return a, kind, err
}

// selectCurrentRole accepts SELECT CURRENT_ROLE, with or without brackets, and nothing longer.
func (p *rights) selectCurrentRole() bool {
	if !get(p.toks, 0).is("select") || !get(p.toks, 1).is("current_role") {
		return false
	}
	if len(p.toks) == 2 || len(p.toks) == 4 && p.toks[2].punct("(") && p.toks[3].punct(")") {
		p.i = len(p.toks)
		return true
	}
	return false
}

// word wants the word w and goes on with f.
func (p *rights) word(w string, f func() error) error {
	if !p.accept(w) {
		return p.unexpected()
	}
	return f()
}

// one reads one identifier.
func (p *rights) one() (string, error) {
	t := p.peek()
	if t.kind != tokQuoted && (t.kind != tokWord || keyword.Of(fold(t.text)).PostgreSQL == keyword.Reserved) {
		return "", p.unexpected()
	}
	p.i++
	return t.value, nil
}

// list reads items with commas between them.
func (p *rights) list(item func() error) error {
	for {
		if err := item(); err != nil {
			return err
		}
		if !p.peek().punct(",") {
			return nil
		}
		p.i++
	}
}

func (p *rights) roles(a *Access) error {
	return p.list(func() error {
		name, err := p.one()
		a.Roles = append(a.Roles, name)
		return err
	})
}

func (p *rights) dropRole(a *Access) error {
	a.Exists = p.sequence("if", "exists")
	err := p.roles(a)
	p.cascade(a)
	return err
}

func (p *rights) setRole(a *Access) error {
	switch t := p.peek(); {
	case t.is("all"), t.is("none"), t.is("default"):
		p.i++
		a.Exists = !t.is("none") // ALL, DEFAULT: every role again
		return nil
	}
	name, err := p.one()
	a.Roles = []string{name}
	return err
}

// membership reads r [, …] TO|FROM grantees [WITH ADMIN OPTION].
func (p *rights) membership(a *Access, to string) error {
	if err := p.roles(a); err != nil {
		return err
	}
	if err := p.word(to, func() error { return p.grantees(a, 0) }); err != nil {
		return err
	}
	if to == "to" && p.sequence("with", "admin", "option") {
		a.Option = true
	}
	return nil
}

// grantees reads USER|ROLE|GROUP name [, …] and PUBLIC; a kind holds until the next one. most is the largest number, 0 for any.
func (p *rights) grantees(a *Access, most int) error {
	kind := ""
	return p.list(func() error {
		t := p.peek()
		if most > 0 && len(a.Grantees) == most {
			return p.unexpected()
		}
		if t.is("public") {
			p.i++
			a.Grantees = append(a.Grantees, Grantee{Kind: "public"})
			return nil
		}
		for _, k := range []string{"user", "role", "group"} {
			if next := get(p.toks, p.i+1); t.is(k) && (next.kind == tokWord || next.kind == tokQuoted) {
				kind = k
				p.i++
				break
			}
		}
		if kind == "" {
			return &SyntaxError{Message: "USER, ROLE, GROUP or PUBLIC has to stand before " + quoteToken(t), Pos: t.pos}
		}
		name, err := p.one()
		if err != nil {
			return err
		}
		g := Grantee{Kind: kind, Name: name}
		if kind == "user" && p.sequence("from", "issuer") {
			if t := p.peek(); !t.exact() || t.value == "" {
				return p.unexpected()
			}
			g.Issuer = p.peek().value
			p.i++
		}
		a.Grantees = append(a.Grantees, g)
		return nil
	})
}

// cascade reads CASCADE or RESTRICT, which is what holds without either.
func (p *rights) cascade(a *Access) {
	if a.Cascade = p.accept("cascade"); !a.Cascade {
		p.accept("restrict")
	}
}

func quoteToken(t token) string {
	if t.pos < 0 {
		return "the end"
	}
	return `"` + t.value + `"`
}

// privilege reads privileges ON objects TO|FROM grantees [WITH GRANT OPTION].
func (p *rights) privilege(a *Access, to string) error {
	start := p.i
	if err := p.privileges(a); err != nil {
		return err
	}
	if err := p.word("on", func() error { return p.objects(a) }); err != nil {
		return err
	}
	if err := p.levels(a, start); err != nil {
		return err
	}
	if err := p.word(to, func() error { return p.grantees(a, 0) }); err != nil {
		return err
	}
	switch {
	case a.Action == Grant && p.sequence("with", "grant", "option"):
		a.Option = true
	case a.Action == Revoke && !a.Denial:
		p.cascade(a)
	}
	return nil
}

func (p *rights) privileges(a *Access) error {
	return p.list(func() error {
		t := p.peek()
		if t.kind != tokWord {
			return p.unexpected()
		}
		p.i++
		one := Privilege{Name: strings.ToUpper(t.text)}
		if one.Name == "ALL" {
			p.accept("privileges")
		} else if !contains(privileges[LevelCatalog], one.Name) {
			return &SyntaxError{Message: "there is no privilege " + one.Name + "; there are " + strings.Join(privileges[LevelCatalog], ", ") + " and ALL", Pos: t.pos}
		}
		if p.peek().punct("(") {
			p.i++
			err := p.list(func() error {
				name, err := p.one()
				one.Columns = append(one.Columns, name)
				return err
			})
			if err != nil {
				return err
			}
			if !p.peek().punct(")") {
				return p.unexpected()
			}
			p.i++
		}
		a.Privileges = append(a.Privileges, one)
		return nil
	})
}

// levels checks that each privilege exists at the level and may have columns.
func (p *rights) levels(a *Access, start int) error {
	pos := get(p.toks, start).pos
	for _, one := range a.Privileges {
		if one.Name != "ALL" && !contains(PrivilegesOn(a.Level), one.Name) {
			return &SyntaxError{Message: "the privilege " + one.Name + " does not exist on a " + string(a.Level) + "; there are " + strings.Join(PrivilegesOn(a.Level), ", ") + " and ALL", Pos: pos}
		}
		if len(one.Columns) == 0 {
			continue
		}
		if a.Level != LevelTable || len(a.Objects) != 1 {
			return &SyntaxError{Message: "columns can be named for one table only", Pos: pos}
		}
		if one.Name != "SELECT" && one.Name != "INSERT" && one.Name != "UPDATE" {
			return &SyntaxError{Message: "the privilege " + one.Name + " is on whole tables, not on columns", Pos: pos}
		}
	}
	return nil
}

// afterObjects are the words that can stand behind the name of an object.
var afterObjects = []string{"to", "from", "for", "as", "using", "except", "priority"}

// objects reads what stands after ON.
func (p *rights) objects(a *Access) error {
	t, next := p.peek(), get(p.toks, p.i+1)
	named := next.kind == tokWord && !slices.ContainsFunc(afterObjects, next.is) || next.kind == tokQuoted
	switch {
	case p.sequence("all", "tables", "in", "schema"):
		a.Level = LevelAllTables
	case p.sequence("future", "tables", "in", "schema"):
		a.Level = LevelFutureTables
	case t.is("catalog") && named:
		p.i++
		a.Level = LevelCatalog
	case t.is("schema") && named:
		p.i++
		a.Level = LevelSchema
	case (t.is("table") || t.is("view")) && named:
		p.i++
		a.Level = LevelTable
	case t.kind == tokWord && named:
		return &UnsupportedError{Construct: "rights on " + strings.ToUpper(t.text) + "; there are CATALOG, SCHEMA, TABLE, VIEW, ALL TABLES IN SCHEMA and FUTURE TABLES IN SCHEMA", Pos: t.pos}
	default:
		a.Level = LevelTable
	}
	return p.list(func() error {
		a.Positions = append(a.Positions, p.peek().pos)
		name, err := p.name()
		a.Objects = append(a.Objects, name)
		if err == nil && a.Level == LevelCatalog && len(name) > 1 {
			return &SyntaxError{Message: "a catalog has one name", Pos: a.Positions[len(a.Positions)-1]}
		}
		return err
	})
}

func contains(ss []string, s string) bool {
	for _, x := range ss {
		if x == s {
			return true
		}
	}
	return false
}
