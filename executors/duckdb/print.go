package duckdb

import (
	pgquery "github.com/pganalyze/pg_query_go/v6"

	"gatehouse/classify"
	"gatehouse/classify/printer"
)

func printSelect(s *pgquery.SelectStmt) (string, error) {
	return printer.PrintSelect(classify.WithoutBacktracking(s), printer.DuckDB())
}

func printExpr(n *pgquery.Node) (string, error) {
	return printer.PrintExpr(classify.WithoutBacktracking(n), printer.DuckDB())
}
