# Listing thousands of tables: which of them could be visible at all?
#
# The gateway asks this once for a whole listing, and then asks allow for the tables that are left. So nothing becomes
# visible by what stands here; a table that is left out is hidden.
package trino

import data.lib.grants

gatewayCandidates contains i if {
	some i, resource in input.action.filterResources
	data.tables[resource.table.catalogName][resource.table.schemaName][resource.table.tableName].read == true
}

gatewayCandidates contains i if {
	some i, resource in input.action.filterResources
	[resource.table.catalogName, resource.table.schemaName, resource.table.tableName] in grants.somewhere
}

gatewayCandidates contains i if {
	count(grants.everywhere) > 0
	some i, resource in input.action.filterResources
	grants.everywhere[[resource.table.catalogName, resource.table.schemaName]]
}

gatewayCandidates contains i if {
	count(grants.everywhere) > 0
	some i, resource in input.action.filterResources
	grants.everywhere[[resource.table.catalogName, "*"]]
}
