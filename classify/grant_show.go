package classify

import "time"

// showGrants reads [ON object | TO grantee] [AS OF [TIMESTAMP] 'time'].
func (p *rights) showGrants(a *Access) error {
	switch {
	case p.accept("on"):
		if err := p.objects(a); err != nil {
			return err
		}
		if len(a.Objects) > 1 || a.Level == LevelAllTables {
			return &SyntaxError{Message: "SHOW GRANTS ON takes one catalog, schema or table", Pos: a.Positions[0]}
		}
	case p.accept("to"):
		if err := p.grantees(a, 1); err != nil {
			return err
		}
	}
	return p.asOf(a)
}

func (p *rights) asOf(a *Access) error {
	if !p.sequence("as", "of") {
		return nil
	}
	p.accept("timestamp")
	t := p.peek()
	if t.kind != tokString || !t.plain {
		return p.unexpected()
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02 15:04:05.999999", "2006-01-02 15:04", "2006-01-02"} {
		if at, err := time.Parse(layout, t.value); err == nil {
			a.At = at.UTC()
			p.i++
			return nil
		}
	}
	return &SyntaxError{Message: "a time is written as '2026-01-31', '2026-01-31 13:45' or '2026-01-31T13:45:00Z'", Pos: t.pos}
}

// effectivePolicy reads ON table [FOR USER u].
func (p *rights) effectivePolicy(a *Access) error {
	return p.word("on", func() error {
		if err := p.oneTable(a); err != nil || !p.accept("for") {
			return err
		}
		return p.grantees(a, 1)
	})
}

// checkAccess reads privilege ON table FOR USER u.
func (p *rights) checkAccess(a *Access) error {
	start := p.i
	if err := p.privileges(a); err != nil {
		return err
	}
	if len(a.Privileges) != 1 || a.Privileges[0].Name == "ALL" {
		return &SyntaxError{Message: "CHECK ACCESS takes one privilege", Pos: get(p.toks, start).pos}
	}
	return p.word("on", func() error {
		if err := p.oneTable(a); err != nil {
			return err
		}
		if err := p.levels(a, start); err != nil {
			return err
		}
		return p.word("for", func() error { return p.grantees(a, 1) })
	})
}

func (p *rights) oneTable(a *Access) error {
	if err := p.objects(a); err != nil {
		return err
	}
	if len(a.Objects) != 1 || a.Level != LevelTable {
		return &SyntaxError{Message: "one table has to be named", Pos: a.Positions[0]}
	}
	return nil
}
