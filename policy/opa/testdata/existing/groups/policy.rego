# Rights by group in Rego of before version 1, with masks for a whole batch of columns: the other common way.
package trino

import future.keywords.in

default allow = false

is_admin { "admins" in input.context.identity.groups }

allow { is_admin }

allow { input.action.operation == "ExecuteQuery" }

allow {
	input.action.operation in ["AccessCatalog", "FilterCatalogs"]
	input.action.resource.catalog.name == "lake"
}

allow {
	input.action.operation == "FilterSchemas"
	input.action.resource.schema.schemaName == "hr"
}

allow {
	input.action.operation in ["SelectFromColumns", "FilterTables", "FilterColumns"]
	input.action.resource.table.schemaName == "hr"
	input.action.resource.table.tableName == "people"
	"staff" in input.context.identity.groups
	not wants_salary
}

wants_salary { "salary" in input.action.resource.table.columns }

batch[i] {
	some i
	resource := input.action.filterResources[i]
	input.action.operation != "FilterColumns"
	allow with input.action.resource as resource
}

batch[i] {
	some i
	input.action.operation == "FilterColumns"
	table := input.action.filterResources[0].table
	one := {"table": object.union(table, {"columns": [table.columns[i]]})}
	allow with input.action.resource as one
}

rowFilters[{"expression": "country = 'DE'"}] {
	not is_admin
	input.action.resource.table.tableName == "people"
}

batchColumnMasks[{"index": i, "viewExpression": {"expression": "'***'"}}] {
	not is_admin
	some i
	input.action.filterResources[i].column.columnName == "phone"
}
