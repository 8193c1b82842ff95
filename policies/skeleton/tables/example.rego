# Your policy starts here. As it stands nobody sees anything: no table has a package yet, and what no rule says
# is denied.
#
# To open a table, copy this file to tables/CATALOG/SCHEMA/TABLE.rego, put the table's name into the package line,
# and say who may read it. The gateway notices the change by itself and logs the new revision, or why it keeps the
# old one.
#
#	gatehouse policy check DIR    does it compile, are all names known?
#	gatehouse policy test DIR     run the tests, and see which lines none of them reaches
#
# A complete table package:
#
#	package tables.lake.sales.orders
#
#	import data.lib.gw
#
#	read if gw.has_role({"analyst", "admin"})
#
#	hidden contains "margin" if not gw.has_role({"admin"})
#
#	row_filters contains {
#		"id": "tenant",
#		"expression": "tenant_id = :tenant",
#		"params": {"tenant": gw.claims.tenant_id},
#	} if {
#		not gw.has_role({"admin"})
#	}
#
#	masks.card_number := {"id": "card", "expression": "'****' || right(card_number, 4)"} if not gw.has_role({"admin"})
#
# Take care with a filter that needs a claim: if the claim is missing, the rule above is undefined, and so is the
# filter. Ask for the claim in read as well:
#
#	read if {
#		gw.has_role({"analyst"})
#		gw.claims.tenant_id
#	}
package tables.example
