# Rules as a list in a data document; the first one that matches the caller and the object decides. Many sites keep
# their Trino permissions like this, because they were moved over from a rules file.
package trino

import rego.v1

user := input.context.identity.user

groups := input.context.identity.groups

matches(pattern, value) if regex.match(sprintf("^(?:%s)$", [pattern]), value)

applies_to_caller(rule) if {
	matches(object.get(rule, "user", ".*"), user)
	group_matches(rule)
}

group_matches(rule) if not rule.group

group_matches(rule) if {
	some group in groups
	matches(rule.group, group)
}

first_table_rule(resource) := [rule |
	some rule in data.site.tables
	applies_to_caller(rule)
	matches(object.get(rule, "schema", ".*"), resource.schemaName)
	matches(object.get(rule, "table", ".*"), resource.tableName)
][0]

catalog_rule(name) := [rule |
	some rule in data.site.catalogs
	applies_to_caller(rule)
	matches(object.get(rule, "catalog", ".*"), name)
][0]
