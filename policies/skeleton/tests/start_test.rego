# Tests of your policy: everything whose name starts with test_. Their package is not below tables, because the router
# asks everything there, and a test that asks the router back would be a circle. These two say that what nobody opened is
# closed; they are about a catalog that you do not have, so they stay true as you open tables.
package tests.start

import data.trino

ann := {"identity": {"user": "ann", "groups": ["admin"]}, "gateway": {"roles": ["admin"], "claims": {}}}

about := {"table": {"catalogName": "nowhere", "schemaName": "sales", "tableName": "orders", "columns": ["id"]}}

test_nobody_reads_what_no_package_opens if {
	every operation in {"SelectFromColumns", "FilterTables", "FilterColumns"} {
		not trino.allow with input as {"context": ann, "action": {"operation": operation, "resource": about}}
	}
	not trino.allow with input as {"context": ann, "action": {"operation": "FilterCatalogs", "resource": {"catalog": {"name": "nowhere"}}}}
}

# The control: the same question is answered with yes once a package says so.
test_a_package_opens_its_table if {
	trino.allow with input as {"context": ann, "action": {"operation": "SelectFromColumns", "resource": about}}
		with data.tables.nowhere.sales.orders as {"read": true}
}
