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
	maxCells  = 1 << 18 // bytes of one text times those of one that it is compared with in quadratic time
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
	sizes           []int                                  // of parameters
	series          map[*pgquery.FuncCall]bool             // range in FROM, which returns numbers
	weight          map[*pgquery.FuncCall]int64            // lambdas: the lists that they go through, one within the other
	params          map[*pgquery.ColumnRef][]*pgquery.Node // lambda parameters: the lists whose elements they are
}

// lengths refuses what would search for a long text, and what makes a very long one.
func (b *binder) lengths(tree *pgquery.SelectStmt, sizes []int) error {
	l := &lengths{b: b, sizes: sizes, known: map[*pgquery.Node]int64{}, elements: map[*pgquery.Node]int64{}, series: map[*pgquery.FuncCall]bool{}, params: map[*pgquery.ColumnRef][]*pgquery.Node{}, weight: map[*pgquery.FuncCall]int64{}}
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
		l.weigh(f)
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

// weigh notes how long the lists are that f's lambdas go through. It is called for outer ones first.
func (l *lengths) weigh(f *pgquery.FuncCall) {
	for _, arg := range f.Args {
		m := arg.GetFuncCall()
		if nameOf(m) != MarkerLambda || len(m.Args) < 2 {
			continue
		}
		lists := slices.DeleteFunc(slices.Clone(f.Args), func(n *pgquery.Node) bool { return n == arg })
		l.weight[m] = product(max(1, l.weight[m]), l.sum(lists...))
		for _, inner := range all[*pgquery.FuncCall](m.Args[len(m.Args)-1]) {
			if nameOf(inner) == MarkerLambda {
				l.weight[inner] = l.weight[m]
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
	if quadratic[name] && len(f.Args) > 1 && product(l.of(f.Args[0]), l.of(f.Args[1])) > maxCells {
		return &UnsupportedError{Construct: name + " of texts that may be that long", Pos: int(f.Location)}
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

// lambda refuses what takes long in the body of a lambda, which runs for each element of a list within one step.
func (l *lengths) lambda(m *pgquery.FuncCall) error {
	body, inside := m.Args[len(m.Args)-1], lambdaParams(m)
	most, long := int64(maxSize), l.weight[m] > maxSize
	if long {
		most = maxNeedle
	}
	for _, f := range all[*pgquery.FuncCall](body) {
		name := nameOf(f)
		if name == MarkerLambda && len(f.Args) > 0 {
			inside = append(inside, lambdaParams(f)...)
			continue
		}
		if what := l.heavy(f, long, most); what != "" {
			return &UnsupportedError{Construct: what + " inside of a lambda on a list that may be long", Pos: int(f.Location)}
		}
	}
	for _, c := range all[*pgquery.ColumnRef](body) {
		first, _ := parts(c)
		r := l.b.refs[c]
		if r == nil || len(r.cols) == 0 && r.row == nil && len(first) > 0 && slices.Contains(inside, fold(first[0])) {
			continue
		}
		if l.column(c, l.of) > most {
			return &UnsupportedError{Construct: "inside of a lambda, a value from outside that may be longer than " + strconv.Itoa(int(most)) + " bytes", Pos: int(c.Location)}
		}
	}
	return nil
}

// heavy says what takes long in a call in the body of a lambda, "" if nothing does.
func (l *lengths) heavy(f *pgquery.FuncCall, long bool, most int64) string {
	name := nameOf(f)
	switch {
	case long && quadratic[name]:
		return name
	case long && patterns[name] && len(f.Args) > 1:
		c := f.Args[1].GetAConst()
		if c == nil {
			return name + " with a pattern that is not a literal"
		}
		if product(instructions(c.GetSval().GetSval()), l.of(f.Args[0])) > maxSteps>>6 {
			return name + " with a large pattern"
		}
	case growing[name] && l.made(f) > most:
		return name + " of a long text"
	case strings.HasPrefix(name, MarkerPrefix), walksList(name) && name != "contains":
		return ""
	}
	for _, arg := range f.Args {
		if k := l.of(arg); k > most && k < anyLength {
			return name + " of a long text"
		}
	}
	return ""
}
