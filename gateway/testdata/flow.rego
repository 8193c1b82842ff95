# admin sees all. dora sees all of the catalog zoo but the view v_orders, by rules that say what is closed. alice sees region "eu" of v1_plain with the amount masked and without names; evo_partition in full.
package trino

default allow := false

table := input.action.resource.table

allow if "admin" in input.context.identity.groups

allow if {
	input.context.identity.user == "alice"
	input.action.operation in {"ExecuteQuery", "AccessCatalog", "FilterCatalogs", "FilterSchemas", "FilterTables", "SetSystemSessionProperty"}
}

allow if {
	input.context.identity.user == "alice"
	input.action.operation in {"FilterColumns", "SelectFromColumns"}
	table.tableName in {"v1_plain", "branches_tags", "v3_dv"}
	not "name" in object.get(table, "columns", [])
}

allow if {
	input.context.identity.user == "dora"
	input.action.operation in {"ExecuteQuery", "FilterColumns", "SelectFromColumns"}
	object.get(input.action, ["resource", "table", "tableName"], "") != "v_orders"
}

allow if {
	input.context.identity.user == "dora"
	input.action.operation == "AccessCatalog"
	input.action.resource.catalog.name == "zoo"
}

# lou sees everything that is not called name.
allow if {
	input.context.identity.user == "lou"
	input.action.operation in {"ExecuteQuery", "AccessCatalog", "FilterColumns", "SelectFromColumns"}
	not "name" in object.get(input.action, ["resource", "table", "columns"], [])
}

# pat sees every column of v1_plain, but not the name and the amount together.
allow if {
	input.context.identity.user == "pat"
	input.action.operation in {"ExecuteQuery", "AccessCatalog", "FilterColumns"}
}

allow if {
	input.context.identity.user == "pat"
	input.action.operation == "SelectFromColumns"
	not together
}

together if {
	"name" in table.columns
	"amount" in table.columns
}

rowFilters contains {"id": "eu", "expression": "region = 'eu'"} if {
	input.context.identity.user == "alice"
	table.tableName == "v1_plain"
}

rowFilters contains {"id": "few", "expression": "id <= 3"} if {
	input.context.identity.user == "alice"
	table.tableName == "v3_dv"
}

columnMask := {"id": "round", "expression": "round(amount, -1)"} if {
	input.context.identity.user == "alice"
	input.action.resource.column.columnName == "amount"
}

# erin sees all, but one table has two masks without a priority for her: a fault of the policy.
allow if input.context.identity.user == "erin"

columnMask := [{"id": "one", "expression": "NULL"}, {"id": "two", "expression": "0"}] if {
	input.context.identity.user == "erin"
	input.action.resource.column.tableName == "temporal"
}
