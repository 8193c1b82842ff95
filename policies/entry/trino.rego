# The router: it answers the gateway's questions from one small package per table.
#
# You rarely need to change this file. To open a table, write tables/CATALOG/SCHEMA/TABLE.rego:
#
#	package tables.CATALOG.SCHEMA.TABLE
#
#	read if ...                     who may read the table at all
#	hidden contains "column" if ... columns that do not exist for this caller
#	row_filters contains {...}      which rows exist for this caller
#	masks.column := {...}           what the caller sees instead of a value
#
# Names of columns match whatever their case; names of tables are those that the catalog has.
#
# What no rule says is denied: a table without a package does not exist for anybody.
#
# The rules have the names and the input of Trino's OPA plugin, so a policy that was written for Trino can stand here
# in place of this file.
package trino

import data.lib.grants
import data.lib.gw
import data.lib.rules

default allow := false

# What GRANT gives, a table's package need not say: see lib/grants.rego. Hidden columns, filters and masks of the package
# apply to whoever reads the table, and DENY closes what a package opens.
allow if {
	input.action.gateway # only questions about rights have it
	grants.allow
}

# Who lets row filters, masks and tags be made has to apply them: see rowFilters and candidates below.
allow if {
	input.action.gateway
	rules.allow
}

# Everybody who is known may try to run a statement; what it may read is asked for table by table.
allow if {
	input.action.operation == "ExecuteQuery"
	gw.user != ""
}

# The gateway itself lists the few settings that a session may change; none of them widens what is visible.
allow if {
	input.action.operation == "SetSystemSessionProperty"
	gw.user != ""
}

# A catalog or a schema exists for a caller who may read something in it.
allow if {
	input.action.operation in {"AccessCatalog", "FilterCatalogs"}
	data.tables[input.action.resource.catalog.name][_][_].read == true
	not "*" in grants.denied
}

allow if {
	input.action.operation in {"AccessCatalog", "FilterCatalogs"}
	grants.sees_catalog
	not "*" in grants.denied
}

allow if {
	input.action.operation == "FilterSchemas"
	grants.sees_schema
	not "*" in grants.denied
}

allow if {
	input.action.operation == "FilterSchemas"
	not "*" in grants.denied
	schema := input.action.resource.schema
	data.tables[schema.catalogName][schema.schemaName][_].read == true
}

allow if {
	input.action.operation == "FilterTables"
	readable
}

# FilterColumns asks whether a column exists for the caller, SelectFromColumns whether the columns may be used.
allow if {
	input.action.operation in {"FilterColumns", "SelectFromColumns"}
	readable
	not uses_hidden_column
}

# Full references, no helper that takes the package as an argument: an argument that is undefined would make the
# whole call undefined, and what is undefined must never be what opens a table. And no rule for input.action.resource.table
# as a whole: what no rule looks at (how a statement uses the columns, say) does not keep the gateway from remembering answers.
readable if {
	opened
	not "*" in grants.denied
}

readable if grants.reads

# Does the table's own package open it?
opened if data.tables[grants.cat][grants.sch][grants.tab].read == true

uses_hidden_column if {
	some column in input.action.resource.table.columns
	some name in data.tables[grants.cat][grants.sch][grants.tab].hidden
	lower(name) == lower(column)
}

uses_hidden_column if {
	some column in input.action.resource.table.columns
	grants.closed(column)
}

# Who has only grants has the columns that these name.
uses_hidden_column if {
	not opened
	some column in input.action.resource.table.columns
	not grants.opens(column)
}

# Row filters: all of them apply. Those of the table, and those that hold for every table.
rowFilters contains filter if {
	some filter in data.tables[grants.cat][grants.sch][grants.tab].row_filters
}

rowFilters contains filter if some filter in data.global.row_filters

# Those that were made with CREATE ROW FILTER.
rowFilters contains filter if some filter in rules.row_filters

# Should anybody ever ask for the filters of a table that is not readable, there are no rows.
rowFilters contains {"id": "not_readable", "expression": "false"} if not readable

# Masks: one per column. If both the table and a global rule have one, both are handed over and the gateway takes
# the one of higher priority; without a difference in priority it refuses the statement.
columnMask := mask if {
	count(candidates) == 1
	some mask in candidates
}

columnMask := candidates if count(candidates) > 1

candidates contains mask if {
	some name, mask in data.tables[grants.cat][grants.sch][grants.tab].masks
	lower(name) == lower(input.action.resource.column.columnName)
}

candidates contains data.global.mask

# Those that were made with CREATE MASK, on the column or on a tag that it bears.
candidates contains mask if some mask in rules.masks

# The values of a table that is not readable, or of a hidden column, are nobody's business.
candidates contains nothing if not column_readable

candidates contains nothing if {
	some name in data.tables[grants.cat][grants.sch][grants.tab].hidden
	lower(name) == lower(input.action.resource.column.columnName)
}

nothing := {"id": "not_readable", "expression": "NULL", "priority": 1000000}

column_readable if {
	data.tables[grants.cat][grants.sch][grants.tab].read == true
	not grants.closed(input.action.resource.column.columnName)
}

column_readable if grants.opens(input.action.resource.column.columnName)
