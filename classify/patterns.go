package classify

import (
	"regexp/syntax"
	"strconv"
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"
)

// A regular expression takes at worst time by the length of the text times the number of its instructions, and of those x{1000} has a
// thousand. The engine's matcher is RE2, whose syntax Go's is.
const (
	maxSteps   = 1 << 21 // instructions times bytes of text
	maxProgram = 64      // instructions that may go with any text
	maxMatcher = 512     // bytes of a pattern that is computed
)

// patterns are functions whose second argument is a regular expression.
var patterns = set(
	"regexp_matches", "regexp_full_match", "regexp_replace", "regexp_extract", "regexp_extract_all", "regexp_split_to_array", "string_split_regex",
	"str_split_regex",
)

// pattern refuses a large regular expression on a long text, and one that is computed and may be long.
func (l *lengths) pattern(name string, text, pattern *pgquery.Node, pos int32) error {
	refuse := func(what string) error {
		return &UnsupportedError{Construct: name + ": " + what, Pos: int(pos)}
	}
	c, literal := pattern.GetAConst().GetVal().(*pgquery.A_Const_Sval)
	if !literal {
		if l.of(pattern) > maxMatcher {
			return refuse("a pattern that is not a literal and may be longer than " + strconv.Itoa(maxMatcher) + " bytes")
		}
		return nil
	}
	if n := instructions(c.Sval.Sval); n > maxProgram && product(n, l.of(text)) > maxSteps {
		return refuse("a pattern that large on a text that may be that long")
	}
	return nil
}

// operator looks at the operators that match a text with a pattern.
func (l *lengths) operator(e *pgquery.A_Expr) error {
	if e.Kind == pgquery.A_Expr_Kind_AEXPR_SIMILAR {
		if f := e.Rexpr.GetFuncCall(); f != nil && len(f.Args) > 0 {
			return l.pattern("SIMILAR TO", e.Lexpr, f.Args[0], e.Location)
		}
	}
	if op := e.Name[0].GetString_().GetSval(); e.Kind == pgquery.A_Expr_Kind_AEXPR_OP && e.Lexpr != nil && (op == "~" || op == "!~") {
		return l.pattern("operator "+op, e.Lexpr, e.Rexpr, e.Location)
	}
	p := patternOf(e)
	if i := strings.IndexByte(p.text, '%'); isLike(e) && p.literal && len(p.text) > maxNeedle && i >= 0 && i < len(p.text)-1 {
		return &UnsupportedError{Construct: "a pattern of LIKE with % that is longer than " + strconv.Itoa(maxNeedle) + " bytes", Pos: int(e.Location)}
	}
	return nil
}

// instructions returns the size of a pattern; one that does not compile has none.
func instructions(pattern string) int64 {
	r, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0
	}
	p, err := syntax.Compile(r.Simplify())
	if err != nil {
		return anyLength
	}
	return int64(len(p.Inst))
}
