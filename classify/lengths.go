package classify

import (
	"slices"
	"strconv"
	"strings"

	pgquery "github.com/pganalyze/pg_query_go/v6"
)

// Searching one text for another takes time by the product of their lengths, in a step of 2,048 rows that nothing interrupts: with
// two texts that a statement makes from a few letters it would not end within days. So this looks how long a text can become, and what is
// searched for must be short. A column of a table counts as a word, whatever it holds: what lies in tables is not made by who asks.
const (
	maxNeedle = 1_000   // bytes of what is searched for
	maxMade   = 1 << 24 // bytes that a call may make out of shorter texts
	naturally = 64      // bytes that a column counts for
	anyLength = 1 << 40 // what is not known
)

// needles are functions that look for one text in another, and which argument that is.
var needles = map[string]int{
	"contains": 1, "instr": 1, "strpos": 1, "position": 1, "replace": 1, "split": 1, "split_part": 1, "string_split": 1, "str_split": 1,
	"string_to_array": 1, "trim": 1, "ltrim": 1, "rtrim": 1,
}

// lengths knows how long the values of a statement can become, in bytes.
type lengths struct {
	b               *binder
	known, elements map[*pgquery.Node]int64
	series          map[*pgquery.FuncCall]bool             // range in FROM, which returns numbers
	sizes           []int                                  // of parameters
	params          map[*pgquery.ColumnRef][]*pgquery.Node // lambda parameters: the lists whose elements they are
}

// lengths refuses what would search for a long text, and what makes a very long one.
func (b *binder) lengths(tree *pgquery.SelectStmt, sizes []int) error {
	l := &lengths{b: b, sizes: sizes, known: map[*pgquery.Node]int64{}, elements: map[*pgquery.Node]int64{}, series: map[*pgquery.FuncCall]bool{}, params: map[*pgquery.ColumnRef][]*pgquery.Node{}}
	for _, f := range all[*pgquery.RangeFunction](tree) {
		if items := f.Functions[0].GetList().GetItems(); len(items) > 0 && nameOf(items[0].GetFuncCall()) != "unnest" {
			l.series[items[0].GetFuncCall()] = true
		}
	}
	calls := all[*pgquery.FuncCall](tree)
	for _, f := range calls {
		l.lambdas(f)
	}
	for _, f := range calls {
		if err := l.call(f); err != nil {
			return err
		}
	}
	for _, e := range all[*pgquery.A_Expr](tree) {
		if err := l.operator(e); err != nil {
			return err
		}
	}
	return nil
}

// lambdas notes what the parameters of f's lambdas are, those of inner ones last.
func (l *lengths) lambdas(f *pgquery.FuncCall) {
	for _, arg := range f.Args {
		m := arg.GetFuncCall()
		if nameOf(m) != MarkerLambda || len(m.Args) < 2 {
			continue
		}
		lists := slices.DeleteFunc(slices.Clone(f.Args), func(n *pgquery.Node) bool { return n == arg })
		if strings.HasSuffix(nameOf(f), "reduce") {
			lists = nil // what it has so far can be anything
		}
		names := lambdaParams(m)
		for _, c := range all[*pgquery.ColumnRef](m.Args[len(m.Args)-1]) {
			first, _ := parts(c)
			if r := l.b.refs[c]; r != nil && len(r.cols) == 0 && r.row == nil && len(first) > 0 && slices.Contains(names, fold(first[0])) {
				l.params[c] = lists
			}
		}
	}
}

func lambdaParams(m *pgquery.FuncCall) (names []string) {
	for _, p := range m.Args[:len(m.Args)-1] {
		if n, _ := parts(p.GetColumnRef()); len(n) == 1 {
			names = append(names, fold(n[0]))
		}
	}
	return names
}

// call looks at one call.
func (l *lengths) call(f *pgquery.FuncCall) error {
	name := nameOf(f)
	refuse := func(what string, bytes int) error {
		return &UnsupportedError{Construct: what + " may be longer than " + strconv.Itoa(bytes) + " bytes", Pos: int(f.Location)}
	}
	if i, ok := needles[name]; ok && len(f.Args) > i && l.of(f.Args[i]) > maxNeedle {
		return refuse(name+": what is searched for", maxNeedle)
	}
	if patterns[name] && len(f.Args) > 1 {
		if err := l.pattern(name, f.Args[0], f.Args[1], f.Location); err != nil {
			return err
		}
	}
	if quadratic[name] && slices.ContainsFunc(f.Args, func(n *pgquery.Node) bool { return l.of(n) > maxSize }) {
		return refuse(name+": a text", maxSize)
	}
	if growing[name] || escaping[name] {
		made, longest := l.made(f), l.max(f.Args)
		if made > maxMade && (longest <= maxMade || name == "repeat") {
			return refuse("what "+name+" makes", maxMade)
		}
	}
	if name == MarkerLambda && len(f.Args) > 0 {
		return l.lambda(f)
	}
	return nil
}

// lambda refuses long texts in the body of a lambda, which runs for each element of a list within one step.
func (l *lengths) lambda(m *pgquery.FuncCall) error {
	body, inside := m.Args[len(m.Args)-1], lambdaParams(m)
	for _, f := range all[*pgquery.FuncCall](body) {
		if nameOf(f) == MarkerLambda && len(f.Args) > 0 {
			inside = append(inside, lambdaParams(f)...)
		}
	}
	for _, c := range all[*pgquery.ColumnRef](body) {
		first, _ := parts(c)
		r := l.b.refs[c]
		if r == nil || len(r.cols) == 0 && r.row == nil && len(first) > 0 && slices.Contains(inside, fold(first[0])) {
			continue
		}
		if l.column(c, l.of) > maxSize {
			return &UnsupportedError{Construct: "inside of a lambda, a value from outside that may be longer than " + strconv.Itoa(maxSize) + " bytes", Pos: int(c.Location)}
		}
	}
	return nil
}
