# Row filters, masks and tags that administrators and owners make with statements, as rules.
#
# Like grants they are data that only the gateway writes, below data.gateway.grants:
#
#	filters[C][S][T][NAME]                row filters of a table
#	masks[C][S][T][NAME]                  masks of the columns that columns lists
#	tag_masks[KEY][NAME]                  masks of whatever bears the tag KEY with the value tag, or with any value
#	tags[C][S][T]                         table[KEY] and columns[COLUMN][KEY] are the values of tags
#
# A rule has expression, fields (what its names mean, by field id), to and except (whom it binds and spares), uuid (the table
# that it was made for), maker, by and at. COLUMN is "#" and the field id, or a name where nobody said the id.
#
# What cannot be decided binds: a rule is left out only for those who are surely spared.
package lib.rules

import data.lib.grants
import data.lib.gw

# --- Whom does a rule bind? ---

spared(rule) if {
	some principal in rule.except
	principal in grants.active
}

# Nothing of what the caller is, with any of his roles, is meant.
spared(rule) if {
	meant := {principal | some principal in rule.to}
	count(meant) > 0
	count(meant - grants.holds) == count(meant)
}

# The constants that an expression may ask for: current_user, current_role, is_role_in_session('…').
params := {"current_user": gw.user, "current_role": current_role, "current_roles": [role | some role in current_roles]}

default current_role := "all"

current_role := trim_prefix(grants.chosen, "role:") if grants.chosen in grants.holds

# Also for a role that was chosen and has been taken from the caller since.
current_role := "none" if {
	grants.chosen != ""
	not grants.chosen in grants.holds
}

current_roles contains trim_prefix(principal, "role:") if {
	some principal in grants.active
	startswith(principal, "role:")
}

current_roles contains role if {
	grants.chosen == ""
	some role in input.context.gateway.roles
}

# --- Row filters ---

row_filters contains filter if {
	some name, rule in data.gateway.grants.filters[grants.cat][grants.sch][grants.tab]
	not spared(rule)
	filter := object.union(
		{
			"id": name, "origin": sprintf("row filter %q on %s.%s.%s", [name, grants.cat, grants.sch, grants.tab]),
			"expression": rule.expression, "params": params,
		},
		meaning(rule, {}),
	)
}

# What names in an expression mean. One that was made without field ids means columns by their names.
meaning(rule, _) := {} if by_name(rule)

meaning(rule, value) := {"fields": object.union(object.get(rule, "fields", {}), value)} if not by_name(rule)

by_name(rule) if {
	not rule.fields
	rule.uuid == ""
	not rule.value == true
}

# --- Masks ---

# What a column is called in the data. No rule mentions input.action.resource.column as a whole: see entry/trino.rego.
names contains grants.key(input.action.resource.column.gateway.field_id)

names contains lower(name) if {
	name := input.action.resource.column.columnName
	not startswith(name, "#")
}

masks contains mask if {
	some name, rule in data.gateway.grants.masks[grants.cat][grants.sch][grants.tab]
	some on, _ in rule.columns
	lower(on) in names
	not spared(rule)
	mask := made(name, rule, sprintf("mask %q on %s.%s.%s", [name, grants.cat, grants.sch, grants.tab]))
}

masks contains mask if {
	some [tag, value] in borne
	some name, rule in data.gateway.grants.tag_masks[tag]
	matches(rule, value)
	not spared(rule)
	mask := made(name, rule, sprintf("mask %q on tag %s", [name, tag]))
}

made(name, rule, origin) := object.union(
	{"id": name, "origin": origin, "expression": rule.expression, "params": params, "priority": rule.priority},
	meaning(rule, value_of(rule)),
)

value_of(rule) := {"value": input.action.resource.column.gateway.field_id} if rule.value == true

value_of(rule) := {} if not rule.value == true

matches(rule, _) if rule.any == true

matches(rule, value) if rule.tag == value

# --- Tags ---

tags := data.gateway.grants.tags[grants.cat][grants.sch][grants.tab]

# The tags that the column bears: its own, and those of its table that it does not override.
borne contains [tag, value] if {
	not grants.outlived(tags.uuid)
	some on, own in tags.columns
	lower(on) in names
	some tag, value in own
}

borne contains [tag, value] if {
	not grants.outlived(tags.uuid)
	some tag, value in tags.table
	not tag in overridden
}

overridden contains tag if {
	some on, own in tags.columns
	lower(on) in names
	some tag, _ in own
}

# --- What was made for a table that has been replaced ---

# A new table under an old name has other columns: the rules of the old one cannot be applied, and what they hid may be there
# again. So the table is closed to those whom they bind, until somebody drops or replaces them.
orphaned if {
	some rule in data.gateway.grants.filters[grants.cat][grants.sch][grants.tab]
	grants.outlived(rule.uuid)
	not spared(rule)
}

orphaned if {
	some rule in data.gateway.grants.masks[grants.cat][grants.sch][grants.tab]
	grants.outlived(rule.uuid)
	not spared(rule)
}

orphaned if {
	grants.outlived(tags.uuid)
	some tag in set_tags
	some rule in data.gateway.grants.tag_masks[tag]
	not spared(rule)
}

set_tags contains tag if some tag, _ in tags.table

set_tags contains tag if {
	some _, own in tags.columns
	some tag, _ in own
}

# --- Who may make and change them? ---

operations := {"CreateRowFilter", "AlterRowFilter", "DropRowFilter", "CreateMask", "AlterMask", "DropMask", "SetTag", "UnsetTag", "ShowTablePolicy"}

allow if {
	input.action.operation in operations
	grants.administrator
}

# An owner may hide what is his, and see what is hidden there. Tags and priorities decide about what others have made, so they
# are for administrators.
allow if {
	input.action.operation in {"CreateRowFilter", "CreateMask", "ShowTablePolicy"}
	grants.owner
	not input.action.gateway.priority
}

# He may change and drop what he made himself, or what does not bind him: else he could show himself what is hidden from him.
allow if {
	input.action.operation in {"AlterRowFilter", "DropRowFilter"}
	grants.owner
	his(data.gateway.grants.filters[grants.cat][grants.sch][grants.tab][input.action.gateway.name])
}

allow if {
	input.action.operation in {"AlterMask", "DropMask"}
	grants.owner
	not input.action.gateway.priority
	mask := data.gateway.grants.masks[grants.cat][grants.sch][grants.tab][input.action.gateway.name]
	mask.priority == 0
	his(mask)
}

# Does a filter or mask bind the members of the role that is asked about?
role_hides if {
	some principal in data.gateway.grants.filters[_][_][_][_].to
	principal in grants.role_holds
}

role_hides if {
	some principal in data.gateway.grants.masks[_][_][_][_].to
	principal in grants.role_holds
}

role_hides if {
	some principal in data.gateway.grants.tag_masks[_][_].to
	principal in grants.role_holds
}

his(rule) if rule.maker == input.context.gateway.principal

his(rule) if spared(rule)
