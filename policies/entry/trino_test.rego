# The router's own tests, with tables that exist only here. The most important ones are about what is not there.
package trino_test

import data.trino

ann := {"identity": {"user": "ann", "groups": []}, "gateway": {"roles": [], "claims": {}}}

tables := {"c": {"s": {
	"open": {"read": true},
	"closed": {"read": false, "row_filters": set(), "masks": {}},
	"unsaid": {"masks": {"a": {"expression": "NULL"}}},
	"partly": {
		"read": true,
		"hidden": {"secret"},
		"row_filters": {{"id": "eu", "expression": "region = 'EU'"}},
		"masks": {"a": {"id": "m", "expression": "NULL"}},
	},
}}}

ask(operation, resource) := {"context": ann, "action": {"operation": operation, "resource": resource}}

about(name, columns) := {"table": {"catalogName": "c", "schemaName": "s", "tableName": name, "columns": columns}}

cell(name, col) := {"column": {"catalogName": "c", "schemaName": "s", "tableName": name, "columnName": col, "columnType": "varchar"}}

test_statement if {
	trino.allow with input as {"context": ann, "action": {"operation": "ExecuteQuery"}}
	trino.allow with input as ask("SetSystemSessionProperty", {"systemSessionProperty": {"name": "timezone"}})
}

test_nobody_runs_nothing if {
	not trino.allow with input as {"context": {}, "action": {"operation": "ExecuteQuery"}}
	not trino.allow with input as {"context": {}, "action": {"operation": "SetSystemSessionProperty"}}
}

test_unknown_operation_is_denied if {
	not trino.allow with input as ask("DropTable", about("open", [])) with data.tables as tables
	not trino.allow with input as {} with data.tables as tables
}

test_readable_table if {
	every operation in {"FilterTables", "SelectFromColumns", "FilterColumns"} {
		trino.allow with input as ask(operation, about("open", ["a"])) with data.tables as tables
	}
}

# Fail-open traps: a table without a package, a package without read, read that is false, no tables at all.
test_unreadable_tables_are_denied if {
	every name in {"no_package", "unsaid", "closed"} {
		every operation in {"FilterTables", "SelectFromColumns", "FilterColumns"} {
			not trino.allow with input as ask(operation, about(name, ["a"])) with data.tables as tables
			not trino.allow with input as ask(operation, about(name, ["a"])) with data.tables as {}
		}
	}
}

# ... and should their filters be asked for all the same, there are no rows and no values.
test_unreadable_tables_have_no_rows if {
	every name in {"no_package", "unsaid", "closed"} {
		filters := trino.rowFilters with input as ask("GetRowFilters", about(name, [])) with data.tables as tables
		{"id": "not_readable", "expression": "false"} in filters
		masks := trino.candidates with input as ask("GetColumnMask", cell(name, "a")) with data.tables as tables
		trino.nothing in masks
	}
}

test_no_columns_as_in_count if {
	trino.allow with input as ask("SelectFromColumns", about("partly", [])) with data.tables as tables
}

test_hidden_column if {
	trino.allow with input as ask("SelectFromColumns", about("partly", ["a", "b"])) with data.tables as tables
	not trino.allow with input as ask("SelectFromColumns", about("partly", ["a", "secret"])) with data.tables as tables
	not trino.allow with input as ask("FilterColumns", about("partly", ["secret"])) with data.tables as tables
	masks := trino.columnMask with input as ask("GetColumnMask", cell("partly", "secret")) with data.tables as tables
	masks == trino.nothing
}

test_catalogs_and_schemas if {
	every operation in {"AccessCatalog", "FilterCatalogs"} {
		trino.allow with input as ask(operation, {"catalog": {"name": "c"}}) with data.tables as tables
		not trino.allow with input as ask(operation, {"catalog": {"name": "d"}}) with data.tables as tables
		not trino.allow with input as ask(operation, {"catalog": {"name": "c"}}) with data.tables as {"c": {"s": {"t": {"read": false}}}}
	}
	trino.allow with input as ask("FilterSchemas", {"schema": {"catalogName": "c", "schemaName": "s"}}) with data.tables as tables
	not trino.allow with input as ask("FilterSchemas", {"schema": {"catalogName": "c", "schemaName": "x"}}) with data.tables as tables
}

test_row_filters if {
	filters := trino.rowFilters with input as ask("GetRowFilters", about("partly", [])) with data.tables as tables
	filters == {{"id": "eu", "expression": "region = 'EU'"}}
	none := trino.rowFilters with input as ask("GetRowFilters", about("open", [])) with data.tables as tables
	none == set()
}

# A global filter also holds for tables whose package has no filters.
test_global_row_filters if {
	every name in {"open", "partly"} {
		filters := trino.rowFilters with input as ask("GetRowFilters", about(name, [])) with data.tables as tables
			with data.global.row_filters as {{"id": "global", "expression": "NOT deleted"}}
		{"id": "global", "expression": "NOT deleted"} in filters
	}
}

test_masks if {
	mask := trino.columnMask with input as ask("GetColumnMask", cell("partly", "a")) with data.tables as tables
	mask == {"id": "m", "expression": "NULL"}
	not trino.columnMask with input as ask("GetColumnMask", cell("partly", "b")) with data.tables as tables
	not trino.columnMask with input as ask("GetColumnMask", cell("open", "a")) with data.tables as tables
}

# A global mask also holds for tables whose package has no masks, and does not replace the table's own.
test_global_masks if {
	global := {"id": "global", "expression": "'***'", "priority": 1}
	open := trino.columnMask with input as ask("GetColumnMask", cell("open", "a")) with data.tables as tables with data.global.mask as global
	open == global
	both := trino.columnMask with input as ask("GetColumnMask", cell("partly", "a")) with data.tables as tables with data.global.mask as global
	both == {global, {"id": "m", "expression": "NULL"}}
}

# A column's case does not matter to masks and to what is hidden: a table that spells Secret is meant as well.
test_case_of_columns if {
	not trino.allow with input as ask("SelectFromColumns", about("partly", ["Secret"])) with data.tables as tables
	not trino.allow with input as ask("FilterColumns", about("partly", ["SECRET"])) with data.tables as tables
	trino.allow with input as ask("FilterColumns", about("partly", ["B"])) with data.tables as tables
	mask := trino.columnMask with input as ask("GetColumnMask", cell("partly", "A")) with data.tables as tables
	mask.id == "m"
}
