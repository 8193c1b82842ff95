package classify

import (
	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// FillParams returns a copy of tree in which what value returns stands in place of parameter number n, from 1. Where that is nil the
// parameter stays.
func FillParams(tree *pgquery.SelectStmt, value func(n int) *pgquery.Node) *pgquery.SelectStmt {
	tree = proto.CloneOf(tree)
	eachNode(tree, func(n *pgquery.Node) {
		if p := n.GetParamRef(); p != nil {
			if v := value(int(p.Number)); v != nil {
				n.Node = proto.CloneOf(v).Node
			}
		}
	})
	return tree
}
