package classify

import (
	pgquery "github.com/pganalyze/pg_query_go/v6"
	"google.golang.org/protobuf/proto"
)

// serverVersion is what version() returns: clients parse a number out of it, and the engine's own is nobody's business.
const serverVersion = "PostgreSQL 17.0 (Gatehouse)"

// In returns s with current_schema, current_catalog and current_database replaced by the names in ns, current_user, session_user
// and user by the user, current_role by the role that the session has chosen, and version() by our own, since an engine would answer for itself. A statement that calls one does not
// print before.
func (s *Statement) In(ns Namespace, user, role string) *Statement {
	if s == nil {
		return nil
	}
	if s.inner != nil {
		c := *s
		c.inner = s.inner.In(ns, user, role)
		return &c
	}
	if s.tree == nil || !hasShim(s.tree) {
		return s
	}
	tree := proto.CloneOf(s.tree)
	eachNode(tree, func(n *pgquery.Node) {
		if t := n.GetResTarget(); t != nil && t.Name == "" {
			t.Name = shim(t.Val)
		}
		switch shim(n) {
		case "version":
			n.Node = pgquery.MakeAConstStrNode(serverVersion, -1).Node
		case "current_schema":
			n.Node = pgquery.MakeAConstStrNode(ns.Schema, -1).Node
		case "current_catalog", "current_database":
			n.Node = pgquery.MakeAConstStrNode(ns.Catalog, -1).Node
		case "current_user", "session_user", "user":
			n.Node = pgquery.MakeAConstStrNode(user, -1).Node
		case "current_role":
			n.Node = pgquery.MakeAConstStrNode(role, -1).Node
		}
	})
	c, err := s.withTree(tree)
	if err != nil {
		return s // it still holds its shims, and so does not print
	}
	return c
}

// shim returns the name of the function that n calls if it is one that In replaces, else "".
func shim(n *pgquery.Node) string {
	switch t := n.GetNode().(type) {
	case *pgquery.Node_FuncCall:
		if name := nameOf(t.FuncCall); isShim(name) && len(t.FuncCall.Args) == 0 {
			return name
		}
	case *pgquery.Node_SqlvalueFunction:
		switch t.SqlvalueFunction.Op {
		case pgquery.SQLValueFunctionOp_SVFOP_CURRENT_CATALOG:
			return "current_catalog"
		case pgquery.SQLValueFunctionOp_SVFOP_CURRENT_SCHEMA:
			return "current_schema"
		case pgquery.SQLValueFunctionOp_SVFOP_CURRENT_USER:
			return "current_user"
		case pgquery.SQLValueFunctionOp_SVFOP_CURRENT_ROLE:
			return "current_role"
		case pgquery.SQLValueFunctionOp_SVFOP_SESSION_USER:
			return "session_user"
		case pgquery.SQLValueFunctionOp_SVFOP_USER:
			return "user"
		}
	}
	return ""
}

func isShim(name string) bool {
	return name == "version" || name == "current_schema" || name == "current_catalog" || name == "current_database"
}

func hasShim(sel *pgquery.SelectStmt) bool {
	found := false
	eachNode(sel, func(n *pgquery.Node) { found = found || shim(n) != "" })
	return found
}

// eachNode calls f for every Node below m, parents first.
func eachNode(m proto.Message, f func(*pgquery.Node)) {
	descend(m, func(m proto.Message) bool {
		if n, ok := m.(*pgquery.Node); ok {
			f(n)
		}
		return true
	})
}
