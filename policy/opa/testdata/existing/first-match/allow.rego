package trino

import rego.v1

default allow := false

operation := input.action.operation

table := input.action.resource.table

allow if operation == "ExecuteQuery"

allow if {
	operation in ["AccessCatalog", "FilterCatalogs"]
	catalog_rule(input.action.resource.catalog.name).allow in ["all", "read-only"]
}

allow if {
	operation == "FilterSchemas"
	catalog_rule(input.action.resource.schema.catalogName)
}

allow if {
	operation in ["FilterTables", "SelectFromColumns", "FilterColumns"]
	"SELECT" in first_table_rule(table).privileges
	every column in object.get(table, "columns", []) {
		not column_denied(column)
	}
}

column_denied(name) if {
	some column in first_table_rule(table).columns
	column.name == name
	column.allow == false
}

rowFilters contains {"expression": first_table_rule(table).filter}

columnMask := {"expression": column.mask} if {
	resource := input.action.resource.column
	some column in first_table_rule(resource).columns
	column.name == resource.columnName
}

batch contains index if {
	some index, resource in input.action.filterResources
	not operation == "FilterColumns"
	allow with input.action.resource as resource
}

batch contains index if {
	operation == "FilterColumns"
	resource := input.action.filterResources[0]
	some index, column in resource.table.columns
	allow with input.action.resource as {"table": object.union(resource.table, {"columns": [column]})}
}
