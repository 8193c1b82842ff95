package classify

import (
	"regexp"
	"strconv"
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// The engine has two matchers for LIKE. The one for constant patterns without _ and ESCAPE takes time by the length of the text. The
// other one tries every place for every %, one within the other, in a step that nothing interrupts: with three of them and a text of
// some kilobytes it does not return within a day. So that one is left patterns with at most one %; what else it would get becomes a
// regular expression, whose matcher never goes back.

// likeKinds are the forms of LIKE by their operators, and whether they ask for the opposite.
var likeKinds = map[string]struct{ folds, not bool }{"~~": {}, "!~~": {not: true}, "~~*": {folds: true}, "!~~*": {folds: true, not: true}}

// likePattern is what stands at the right of LIKE.
type likePattern struct {
	node    *pgquery.Node // without its ESCAPE
	text    string        // of a literal
	literal bool
	escape  string // at most a byte
	escaped bool   // there is an ESCAPE
	known   bool   // the ESCAPE is a literal, or there is none
}

func patternOf(e *pgquery.A_Expr) likePattern {
	p := likePattern{node: e.Rexpr, known: true}
	if f := e.Rexpr.GetFuncCall(); f != nil && nameOf(f) == "like_escape" && len(f.Args) == 2 {
		c := f.Args[1].GetAConst().GetSval()
		p.node, p.escaped, p.known, p.escape = f.Args[0], true, c != nil, c.GetSval()
	}
	if c := p.node.GetAConst(); c.GetSval() != nil {
		p.text, p.literal = c.GetSval().Sval, true
	}
	return p
}

// canonicalLike gives a LIKE that is spelt as an operator, ~~, the kind of the others.
func canonicalLike(e *pgquery.A_Expr) {
	if e.Kind != pgquery.A_Expr_Kind_AEXPR_OP || len(e.Name) != 1 || e.Lexpr == nil {
		return
	}
	if kind, ok := likeKinds[e.Name[0].GetString_().GetSval()]; ok {
		e.Kind = pgquery.A_Expr_Kind_AEXPR_LIKE
		if kind.folds {
			e.Kind = pgquery.A_Expr_Kind_AEXPR_ILIKE
		}
	}
}

func isLike(e *pgquery.A_Expr) bool {
	return e.GetKind() == pgquery.A_Expr_Kind_AEXPR_LIKE || e.GetKind() == pgquery.A_Expr_Kind_AEXPR_ILIKE
}

// steep reports whether matching e would go back from one % to another.
func steep(e *pgquery.A_Expr) bool {
	p := patternOf(e)
	if c := p.node.GetAConst(); c != nil && !p.literal {
		return false // NULL, or no text
	}
	if !p.literal {
		return true
	}
	if p.escape == "" && !strings.Contains(p.text, "_") {
		return false
	}
	stars := len(runs.FindAllString(p.text, -1))
	if p.escape != "" {
		stars = strings.Count(p.text, "%") // those that are escaped are counted, too
	}
	return stars > 1 || stars == 1 && len(p.text) > maxPattern
}

var runs = regexp.MustCompile(`%+`)

// like refuses a LIKE that has no equal without going back.
func (a *allow) like(e *pgquery.A_Expr) error {
	p := patternOf(e)
	switch {
	case !p.known, p.escaped && !p.literal && p.node.GetAConst() == nil:
		return a.refuse("ESCAPE, or a pattern with ESCAPE, that is not a literal")
	case len(p.escape) > 1:
		return a.refuse("ESCAPE of more than one ASCII character")
	}
	if f := e.Rexpr.GetFuncCall(); p.escaped {
		a.placed[f] = true // the grammar's own wrapper
	}
	if !steep(e) {
		return nil
	}
	a.steep = true
	if p.literal && len(p.text) > maxPattern {
		return a.refuse("a pattern of LIKE with _ or ESCAPE and % that is longer than " + strconv.Itoa(maxPattern) + " bytes")
	}
	if p.escape != "" {
		if _, ok := patternRegexp(p.text, p.escape[0]); !ok {
			return a.refuse("a pattern that ends with its escape character")
		}
		if e.Kind == pgquery.A_Expr_Kind_AEXPR_ILIKE && !ascii(p.text) {
			return a.refuse("ILIKE with ESCAPE and letters that are not ASCII")
		}
	}
	return nil
}

func ascii(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}

// patternRegexp writes a pattern of LIKE as a regular expression over the whole text. It is not ok if the escape is the last character.
func patternRegexp(pattern string, escape byte) (text string, ok bool) {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		c := pattern[i]
		switch {
		case c == escape && escape != 0:
			if i++; i == len(pattern) {
				return "", false
			}
			b.WriteString(quoteByte(pattern[i]))
		case c == '_':
			b.WriteByte('.')
		case c == '%':
			if !strings.HasSuffix(b.String(), ".*") || i == 0 || pattern[i-1] != '%' {
				b.WriteString(".*")
			}
		default:
			b.WriteString(quoteByte(c))
		}
	}
	return b.String(), true
}

// quoteByte escapes what means something in a regular expression; bytes of longer characters do not.
func quoteByte(c byte) string {
	if strings.IndexByte(`\.+*?()|[]{}^$`, c) >= 0 {
		return `\` + string(c)
	}
	return string([]byte{c})
}

// WithoutBacktracking returns tree with regular expressions for what the engine would match by trying every place for every wildcard;
// tree itself if there is nothing of the kind. The rows are the same. It is for a tree that is printed next: what is known of LIKE, such
// as that it never fails, is asked before.
func WithoutBacktracking[T proto.Message](tree T) T {
	found := false
	descend(tree, func(m proto.Message) bool {
		switch n := m.(type) {
		case *pgquery.A_Expr:
			found = found || isLike(n) && steep(n)
		case *pgquery.FuncCall:
			found = found || likeRegexp(n)
		}
		return !found
	})
	if !found {
		return tree
	}
	tree = proto.CloneOf(tree)
	var replaced []*pgquery.FuncCall
	eachNode(tree, func(n *pgquery.Node) {
		if e := n.GetAExpr(); e != nil && isLike(e) && steep(e) {
			n.Node = linear(e).Node
		}
		if f := n.GetFuncCall(); f != nil && likeRegexp(f) {
			replaced = append(replaced, f)
		}
	})
	for _, f := range replaced {
		f.Args[1] = binary(textNode("()"), "||", f.Args[1])
	}
	return tree
}

// linear writes a LIKE as a call of regexp_full_match, with . for all characters. The engine's ILIKE is its LIKE between lower cases.
func linear(e *pgquery.A_Expr) *pgquery.Node {
	kind, p := likeKinds[e.Name[0].GetString_().GetSval()], patternOf(e)
	text, pattern := e.Lexpr, p.node
	switch {
	case kind.folds && p.escape != "":
		text = callNode("lower", text)
		r, _ := patternRegexp(strings.ToLower(p.text), p.escape[0])
		pattern = textNode(r)
	case p.literal && !kind.folds:
		escape := byte(0)
		if p.escape != "" {
			escape = p.escape[0]
		}
		r, _ := patternRegexp(p.text, escape)
		pattern = textNode(r)
	default:
		if kind.folds {
			text, pattern = callNode("lower", text), callNode("lower", pattern)
		}
		// regexp_escape puts \ before %, and not before _.
		pattern = callNode("replace", callNode("replace", callNode("regexp_escape", pattern), textNode(`\%`), textNode(".*")), textNode("_"), textNode("."))
		if !p.literal {
			// What is too long becomes a pattern that the engine refuses.
			pattern = callNode("regexp_replace", callNode("left", pattern, pgquery.MakeAConstIntNode(maxComputed+1, -1)),
				textNode("(?s)^.{"+strconv.Itoa(maxComputed)+"}.$"), textNode("("))
		}
	}
	match := callNode("regexp_full_match", text, pattern, textNode("s"))
	if !kind.not {
		return match
	}
	return &pgquery.Node{Node: &pgquery.Node_BoolExpr{BoolExpr: &pgquery.BoolExpr{
		Boolop: pgquery.BoolExprType_NOT_EXPR, Args: []*pgquery.Node{match}, Location: -1,
	}}}
}

// maxComputed bounds a pattern that is computed, in characters of the regular expression: each row compiles one of its own.
const maxComputed = 1000

// likeRegexp reports whether the engine's optimizer might make a LIKE with several % out of a call, as it does where the whole
// pattern is made of ., .* and letters. A group in front of the pattern keeps it from that.
func likeRegexp(f *pgquery.FuncCall) bool {
	if nameOf(f) != "regexp_matches" || len(f.Args) < 2 {
		return false
	}
	c := f.Args[1].GetAConst()
	if c == nil {
		return true
	}
	p := c.GetSval().GetSval()
	return strings.Contains(p, ".") && strings.Count(p, "*")+strings.Count(p, "{") > 1 && !strings.ContainsAny(p[:1], "*+?{")
}

func textNode(s string) *pgquery.Node { return pgquery.MakeAConstStrNode(s, -1) }

func callNode(name string, args ...*pgquery.Node) *pgquery.Node {
	return pgquery.MakeFuncCallNode([]*pgquery.Node{pgquery.MakeStrNode(name)}, args, -1)
}

func binary(l *pgquery.Node, op string, r *pgquery.Node) *pgquery.Node {
	return pgquery.MakeAExprNode(pgquery.A_Expr_Kind_AEXPR_OP, []*pgquery.Node{pgquery.MakeStrNode(op)}, l, r, -1)
}
