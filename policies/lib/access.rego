# Who may see which rows, and when. Each takes one line of a policy, and each shows nothing if what it needs is missing.
package lib.access

import data.lib.grants
import data.lib.gw

# matches: rows whose column equals a claim of the caller, or is one of its values if the claim is a list. Without the
# claim there are no rows: row_filters contains access.matches("region", "region").
matches(column, claim) := {"id": label(claim), "expression": concat("", [name(column), " IN (:values)"]), "params": {"values": gw.claims[claim]}} if {
	is_array(gw.claims[claim])
} else := {"id": label(claim), "expression": concat("", [name(column), " = :value"]), "params": {"value": gw.claims[claim]}} if {
	type_name(gw.claims[claim]) in {"string", "number", "boolean"}
} else := {"id": label(claim), "expression": "false"}

# by_role: rows by role, where somebody with several roles sees the rows of each, and somebody with none of them sees
# none: row_filters := access.by_role({"admin": "true", "analyst": "region = 'EU'"}).
by_role(conditions) := {{"id": role, "expression": condition, "any_of": "role"} |
	some role, condition in conditions
	role in gw.roles
} if {
	some role, _ in conditions
	role in gw.roles
} else := {{"id": "no_role", "expression": "false"}}

# business_hours: is it Monday to Friday, from the hour of from up to the hour of until, in this time zone?
# read if access.business_hours("Europe/Berlin", 8, 18).
business_hours(zone, from, until) if {
	time.weekday([gw.now, zone]) in {"Monday", "Tuesday", "Wednesday", "Thursday", "Friday"}
	[hour, _, _] := time.clock([gw.now, zone])
	hour >= from
	hour < until
}

# break_glass: has the caller an emergency right to the table that has not expired? The rights are data, in
# break_glass/data.yaml: rights, a list of user, table, until (RFC 3339) and reason.
#
#	read if access.break_glass
#	row_filters contains access.alarm
#	masks.card := mask.as_null("card") if not access.break_glass
break_glass if count(emergencies) > 0

emergencies contains right if {
	some right in data.break_glass.rights
	right.user == gw.user
	concerns(right.table)
	right.reason != ""
	gw.now < time.parse_rfc3339_ns(right.until)
}

# alarm: a filter that lets every row through, whose id makes the gateway log the statement as a warning, count it, and
# write the reason into the audit log.
alarm := {"id": concat("", ["break_glass: ", min({right.reason | some right in emergencies})]), "expression": "true"} if break_glass

# Is the question about this table, or about something that the table is in?
concerns(table) if table == concat(".", [grants.cat, grants.sch, grants.tab])

concerns(table) if {
	some resource in input.action.filterResources
	table == concat(".", [resource.table.catalogName, resource.table.schemaName, resource.table.tableName])
}

concerns(table) if startswith(table, concat("", [input.action.resource.catalog.name, "."]))

concerns(table) if {
	schema := input.action.resource.schema
	startswith(table, concat("", [schema.catalogName, ".", schema.schemaName, "."]))
}

label(claim) := concat(" ", ["by", claim])

name(column) := concat("", ["\"", replace(column, "\"", "\"\""), "\""])
