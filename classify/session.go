package classify

import (
	"strings"

	"gatehouse/classify/keyword"
)

// session parses the statements that we answer ourselves, which PostgreSQL's grammar does not have or has otherwise. It
// returns nil and no error if toks is none of them.
func session(text string, toks []token) (*Statement, error) {
	first := toks[0]
	if first.kind != tokWord {
		return nil, nil
	}
	word := strings.ToUpper(first.text)
	if s, err := access(text, toks); s != nil || err != nil {
		return s, err
	}
	if refused[word] {
		return nil, &UnsupportedError{Construct: word, Pos: first.pos}
	}
	p := &words{toks: toks, i: 1, end: len(text)}
	s := &Statement{text: text}
	var err error
	switch word {
	case "EXPLAIN":
		return explain(text, toks)
	case "SHOW":
		err = p.show(s)
	case "DESCRIBE", "DESC":
		err = p.describe(s)
	case "USE":
		s.kind = KindUse
		s.target, err = p.name()
	case "SET", "RESET":
		err = p.set(s, word == "RESET")
	case "BEGIN", "START", "COMMIT", "END", "ROLLBACK", "ABORT":
		err = p.transaction(s, word)
	default:
		return nil, nil
	}
	if err == nil {
		err = p.done()
	}
	if err != nil {
		return nil, err
	}
	return s, nil
}

// refused are first words of statements that write, or act on an engine.
var refused = map[string]bool{
	"INSERT": true, "UPDATE": true, "DELETE": true, "MERGE": true, "UPSERT": true, "REPLACE": true, "CREATE": true, "DROP": true,
	"ALTER": true, "TRUNCATE": true, "COPY": true, "EXPORT": true, "IMPORT": true, "ATTACH": true, "DETACH": true, "INSTALL": true,
	"LOAD": true, "PRAGMA": true, "CALL": true, "EXECUTE": true, "PREPARE": true, "DEALLOCATE": true, "DO": true, "VACUUM": true,
	"ANALYZE": true, "CHECKPOINT": true, "FORCE": true, "GRANT": true, "REVOKE": true, "LOCK": true, "DECLARE": true, "FETCH": true, "MOVE": true,
	"CLOSE": true, "COMMENT": true, "REFRESH": true, "SUMMARIZE": true, "SAVEPOINT": true, "RELEASE": true, "LISTEN": true, "NOTIFY": true,
	"UNLISTEN": true, "DISCARD": true, "REINDEX": true, "CLUSTER": true, "SECURITY": true, "REASSIGN": true, "OPTIMIZE": true,
}

// explain parses EXPLAIN [ANALYZE] and EXPLAIN (ANALYZE) of a statement that reads.
func explain(text string, toks []token) (*Statement, error) {
	i, analyze := 1, false
	if get(toks, i).is("analyze") {
		i, analyze = 2, true
	} else if get(toks, i).punct("(") && !get(toks, i+1).is("select") && !get(toks, i+1).is("with") && !get(toks, i+1).punct("(") && !get(toks, i+1).is("from") && !get(toks, i+1).is("values") {
		if !get(toks, i+1).is("analyze") || !get(toks, i+2).punct(")") {
			return nil, &UnsupportedError{Construct: "an option of EXPLAIN", Pos: get(toks, i+1).pos}
		}
		i, analyze = 4, true
	}
	if i >= len(toks) {
		return nil, &SyntaxError{Message: "EXPLAIN without a statement", Pos: len(text)}
	}
	first := toks[i]
	if w := strings.ToUpper(first.text); first.kind == tokWord && refused[w] {
		return nil, &UnsupportedError{Construct: w, Pos: first.pos}
	}
	inner, err := query(text, toks[i:])
	if err != nil {
		return nil, err
	}
	inner.hash = hash(toks[i:])
	return &Statement{
		text: text, kind: KindExplain, inner: inner, analyze: analyze,
		tables: inner.tables, functions: inner.functions, params: inner.params,
	}, nil
}

// words reads the tokens of a short statement.
type words struct {
	toks []token
	i    int
	end  int // where the text ends, for errors
}

func (p *words) peek() token { return get(p.toks, p.i) }

func (p *words) accept(word string) bool {
	if p.peek().is(word) {
		p.i++
		return true
	}
	return false
}

func (p *words) unexpected() error {
	t := p.peek()
	if t.pos < 0 {
		return &SyntaxError{Message: "unexpected end", Pos: p.end}
	}
	return &SyntaxError{Message: `unexpected "` + t.text + `"`, Pos: t.pos}
}

func (p *words) done() error {
	if p.i < len(p.toks) {
		return p.unexpected()
	}
	return nil
}

// name reads identifiers with dots between them; SHOW's and USE's targets may have any number of levels.
func (p *words) name() ([]string, error) {
	var parts []string
	for {
		t := p.peek()
		if t.kind != tokQuoted && (t.kind != tokWord || keyword.Of(fold(t.text)).PostgreSQL == keyword.Reserved && len(parts) == 0) {
			return nil, p.unexpected()
		}
		parts = append(parts, t.value)
		p.i++
		if !p.peek().punct(".") {
			return parts, nil
		}
		p.i++
	}
}

// like reads an optional LIKE 'pattern'.
func (p *words) like(s *Statement) error {
	if !p.accept("like") {
		return nil
	}
	t := p.peek()
	if t.kind != tokString || !t.plain {
		return p.unexpected()
	}
	s.pattern = t.value
	p.i++
	return nil
}

// from reads an optional FROM or IN name.
func (p *words) from(s *Statement) (err error) {
	if p.accept("from") || p.accept("in") {
		s.target, err = p.name()
	}
	return err
}

func (p *words) show(s *Statement) error {
	t := p.peek()
	if t.kind != tokWord {
		return p.unexpected()
	}
	p.i++
	switch strings.ToUpper(t.text) {
	case "CATALOGS", "DATABASES":
		s.kind = KindShowCatalogs
		return p.like(s)
	case "SCHEMAS", "NAMESPACES":
		s.kind = KindShowSchemas
	case "TABLES":
		s.kind = KindShowTables
	case "COLUMNS":
		s.kind = KindShowColumns
		if !p.peek().is("from") && !p.peek().is("in") {
			return p.unexpected()
		}
	case "ALL":
		s.kind, s.name = KindShow, "all"
		return nil
	case "GRANTS", "CREATE", "FUNCTIONS", "STATS", "SESSION":
		return &UnsupportedError{Construct: "SHOW " + strings.ToUpper(t.text), Pos: t.pos}
	default:
		s.kind = KindShow
		p.i--
		return p.setting(s)
	}
	if err := p.from(s); err != nil {
		return err
	}
	return p.like(s)
}

func (p *words) describe(s *Statement) (err error) {
	s.kind = KindShowColumns
	p.accept("table")
	if t := p.peek(); t.is("select") || t.is("with") || t.punct("(") || t.is("from") || t.is("values") {
		return &UnsupportedError{Construct: "DESCRIBE of a query", Pos: t.pos}
	}
	s.target, err = p.name()
	return err
}

// setting reads the name of a session setting; TIME ZONE is two words.
func (p *words) setting(s *Statement) error {
	if p.accept("time") {
		if !p.accept("zone") {
			return p.unexpected()
		}
		s.name = "timezone"
		return nil
	}
	parts, err := p.name()
	s.name = fold(strings.Join(parts, "."))
	return err
}

// set reads SET [SESSION | LOCAL] name = | TO value, and RESET name. SET TIME ZONE has no sign between.
func (p *words) set(s *Statement, reset bool) error {
	s.kind, s.reset = KindSet, reset
	if !reset && !p.accept("session") {
		p.accept("local")
	}
	if t := p.peek(); t.is("transaction") || t.is("global") || t.is("role") || t.is("authorization") || t.is("constraints") || t.is("variable") || t.is("all") {
		word := "SET "
		if reset {
			word = "RESET "
		}
		return &UnsupportedError{Construct: word + strings.ToUpper(t.text), Pos: t.pos}
	}
	zone := p.peek().is("time")
	if err := p.setting(s); err != nil || reset {
		return err
	}
	if !zone {
		if t := p.peek(); !t.op("=") && !t.is("to") && !t.punct(":=") {
			return p.unexpected()
		}
		p.i++
	}
	sign := ""
	if p.peek().op("-") {
		sign = "-"
		p.i++
	}
	t := p.peek()
	switch {
	case t.kind == tokString && t.plain && sign == "", t.kind == tokNumber:
	case t.is("default") && sign == "":
		s.reset = true
		p.i++
		return nil
	case (t.kind == tokWord || t.kind == tokQuoted) && sign == "":
	default:
		return p.unexpected()
	}
	s.value = sign + t.value
	p.i++
	return nil
}

func (p *words) transaction(s *Statement, word string) error {
	s.kind = KindTransaction
	if word == "START" {
		if !p.accept("transaction") {
			return p.unexpected()
		}
	} else if !p.accept("transaction") {
		p.accept("work")
	}
	if t := p.peek(); t.is("to") || t.is("prepared") || t.is("and") || t.is("isolation") || t.is("read") {
		return &UnsupportedError{Construct: word + " " + strings.ToUpper(t.text), Pos: t.pos}
	}
	return nil
}
