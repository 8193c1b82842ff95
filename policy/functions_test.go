package policy

import (
	"testing"

	pgquery "github.com/pganalyze/pg_query_go/v6"

	"gatehouse/classify"
)

// Every function that a policy may call becomes one that the statements' own allow-list has, too, so that the
// printers know it and the fuzzers have classified it.
func TestFunctionsAreClassified(t *testing.T) {
	for name, arity := range functions {
		for n := arity[0]; n <= min(arity[1], 4); n++ {
			args := make([]*pgquery.Node, n)
			for i := range args {
				args[i] = stringConst("x")
			}
			tree, err := rewriteCall(name, args)
			if err != nil {
				t.Errorf("%s with %d arguments: %v", name, n, err)
				continue
			}
			edit(tree, func(n *pgquery.Node) *pgquery.Node {
				if f := n.GetFuncCall(); f != nil && !isHash(n) {
					called := f.Funcname[0].GetString_().Sval
					if c := classify.ClassOf(called); c != classify.ClassLeakproof && c != classify.ClassRaising {
						t.Errorf("%s becomes %s, which is forbidden or looks into dictionaries of hidden rows", name, called)
					}
				}
				return n
			})
		}
	}
}
