# Row filters, masks and tags as tests: each thing that is hidden stands beside somebody who sees it.
package lib.rules_test

import data.lib.grants
import data.lib.rules

rule := {"expression": "x", "uuid": "u1", "value": false, "except": [], "to": ["public"], "maker": "user:root", "by": "root"}

filter(changes) := object.union(rule, changes)

# ann is an analyst, boss is spared, olga owns the schema, fay made a filter as its owner.
rights := {
	"admin": "role:admin",
	"members": {"user:ann": ["role:analyst"], "user:boss": ["role:boss"], "user:fay": [], "role:analyst": [], "role:boss": [], "role:admin": []},
	"options": {},
	"reach": {"user:olga": {"c": {"s": 1}}, "user:fay": {"c": {"s": 1}}, "user:ann": {"c": {"s": 1}}, "user:boss": {"c": {"s": 1}}},
	"schemas": {"c": {"s": {"allow": {"user:olga": {"OWNERSHIP": {"columns": ["*"]}}, "user:fay": {"OWNERSHIP": {"columns": ["*"]}}, "user:ann": {"SELECT": {"columns": ["*"]}}, "user:boss": {"SELECT": {"columns": ["*"]}}}}}},
	"filters": {"c": {"s": {"t": {
		"all": filter({"except": ["role:boss"], "fields": {"a": 1}}),
		"some": filter({"to": ["role:analyst"]}),
		"fays": filter({"maker": "user:fay", "to": ["user:fay"]}),
	}}}},
	"masks": {"c": {"s": {"t": {"m": filter({"columns": {"#3": "c"}, "priority": 0, "value": true, "except": ["role:boss"]}), "n": filter({"columns": {"D": "d"}, "priority": 1, "uuid": "", "to": ["role:analyst"]}), "o": filter({"columns": {"#9": "z"}, "priority": 0, "to": ["role:analyst"]})}}}},
	"tag_masks": {"pii": {"any": filter({"any": true, "priority": 0, "value": true, "uuid": "", "except": ["role:boss"]})}, "level": {"high": filter({"any": false, "tag": "high", "priority": 0, "uuid": ""})}},
	"tags": {"c": {"s": {"t": {"uuid": "u1", "table": {"level": "high"}, "columns": {"#3": {"level": "low"}, "#4": {"pii": "x"}}, "names": {"#3": "c", "#4": "d"}}}}},
}

being(user, roles) := {
	"identity": {"user": user},
	"gateway": {"principal": concat("", ["user:", user]), "roles": roles, "groups": [], "session": {"properties": {}}},
}

on_table(user, operation, uuid) := {"context": being(user, []), "action": {"operation": operation, "resource": {"table": {
	"catalogName": "c", "schemaName": "s", "tableName": "t", "gateway": {"uuid": uuid},
}}}}

on_column(user, name, id) := {"context": being(user, []), "action": {"operation": "GetColumnMask", "resource": {"column": {
	"catalogName": "c", "schemaName": "s", "tableName": "t", "columnName": name, "gateway": {"field_id": id, "table": {"uuid": "u1"}},
}}}}

filters(user) := ids if {
	ids := {f.id | some f in rules.row_filters} with input as on_table(user, "GetRowFilters", "u1") with data.gateway.grants as rights
}

masks(user, name, id) := ids if {
	ids := {m.id | some m in rules.masks} with input as on_column(user, name, id) with data.gateway.grants as rights
}

test_row_filters if {
	filters("ann") == {"all", "some"}
	filters("boss") == set()
	filters("fay") == {"all", "fays"}
	filters("zoe") == {"all"}
}

test_set_role_does_not_take_a_filter_away if {
	base := on_table("ann", "GetRowFilters", "u1")
	none := json.patch(base, [{"op": "add", "path": "/context/gateway/session/properties/role", "value": "none"}])
	bound := {f.id | some f in rules.row_filters} with input as none with data.gateway.grants as rights
	bound == {"all", "some"}
	boss := json.patch(on_table("boss", "GetRowFilters", "u1"), [{"op": "add", "path": "/context/gateway/session/properties/role", "value": "none"}])
	no_longer_spared := {f.id | some f in rules.row_filters} with input as boss with data.gateway.grants as rights
	no_longer_spared == {"all"}
}

test_expressions_know_the_caller if {
	found := [f | some f in rules.row_filters; f.id == "all"] with input as on_table("ann", "GetRowFilters", "u1") with data.gateway.grants as rights
	found[0].params == {"current_user": "ann", "current_role": "all", "current_roles": ["analyst"]}
	found[0].fields == {"a": 1}
}

test_a_role_that_was_taken_away_is_not_the_current_one if {
	current_role("boss", "role:boss") == "boss"
	current_role("boss", "none") == "none"
	current_role("ann", "role:boss") == "none"
}

current_role(user, chosen) := role if {
	base := on_table(user, "GetRowFilters", "u1")
	acting := json.patch(base, [{"op": "add", "path": "/context/gateway/session/properties/role", "value": chosen}])
	role := rules.current_role with input as acting with data.gateway.grants as rights
}

test_masks if {
	masks("ann", "c", 3) == {"m"}
	masks("boss", "c", 3) == set()
	masks("ann", "c", 5) == {"high"} # the table's tag
	masks("ann", "d", 4) == {"n", "any", "high"}
	masks("zoe", "d", 4) == {"any", "high"}
	masks("boss", "d", 4) == {"high"}
}

test_value_is_the_masked_column if {
	found := {m.id: m | some m in rules.masks} with input as on_column("ann", "d", 4) with data.gateway.grants as rights
	found.any.fields == {"value": 4}
	not found.n.fields
}

test_a_new_table_under_the_name_is_closed if {
	not "*" in grants.denied with input as on_table("ann", "SelectFromColumns", "u1") with data.gateway.grants as rights
	"*" in grants.denied with input as on_table("ann", "SelectFromColumns", "u2") with data.gateway.grants as rights
	# Only for those whom the old rules bound.
	boss := {"masks": rights.masks, "filters": rights.filters}
	few := object.union(object.remove(rights, ["filters", "masks", "tag_masks"]), {"filters": {"c": {"s": {"t": {"all": boss.filters.c.s.t.all}}}}})
	not "*" in grants.denied with input as on_table("boss", "SelectFromColumns", "u2") with data.gateway.grants as few
	"*" in grants.denied with input as on_table("ann", "SelectFromColumns", "u2") with data.gateway.grants as few
	masked := object.union(object.remove(rights, ["filters", "tag_masks"]), {})
	"*" in grants.denied with input as on_table("ann", "SelectFromColumns", "u2") with data.gateway.grants as masked
	tagged := object.remove(rights, ["filters", "masks"])
	"*" in grants.denied with input as on_table("ann", "SelectFromColumns", "u2") with data.gateway.grants as tagged
}

may(user, operation, name) if {
	question := json.patch(on_table(user, operation, "u1"), [{"op": "add", "path": "/action/gateway", "value": {"name": name}}])
	rules.allow with input as question with data.gateway.grants as rights
}

test_owners if {
	may("olga", "CreateRowFilter", "new")
	may("olga", "CreateMask", "new")
	may("olga", "ShowTablePolicy", "")
	not may("ann", "CreateRowFilter", "new")
	not may("ann", "ShowTablePolicy", "")
	may("fay", "DropRowFilter", "fays") # it binds her, but is hers
	may("fay", "AlterRowFilter", "some") # it is not about her
	not may("fay", "DropRowFilter", "all") # it is
	not may("olga", "DropMask", "m")
	may("olga", "DropMask", "o")
	not may("olga", "AlterMask", "n") # it has a priority
	not may("olga", "DropRowFilter", "none_such")
	not may("olga", "SetTag", "")
	not may("olga", "UnsetTag", "")
}

test_priorities_are_for_administrators if {
	question := json.patch(on_table("olga", "CreateMask", "u1"), [{"op": "add", "path": "/action/gateway", "value": {"name": "x", "priority": true}}])
	not rules.allow with input as question with data.gateway.grants as rights
	admin := object.union(question, {"context": being("root", ["admin"])})
	rules.allow with input as admin with data.gateway.grants as rights
	tag := object.union(admin, {"action": {"operation": "SetTag"}})
	rules.allow with input as tag with data.gateway.grants as rights
}

test_who_is_closed_out_owns_nothing if {
	denied := object.union(rights, {"denials": {"user:olga": {"c": {"s": 1}}}, "tables": {"c": {"s": {"t": {"deny": {"user:olga": {"SELECT": {"columns": ["b"]}}}}}}}})
	question := json.patch(on_table("olga", "CreateRowFilter", "u1"), [{"op": "add", "path": "/action/gateway", "value": {"name": "x"}}])
	not rules.allow with input as question with data.gateway.grants as denied
}

takes_out(role) if {
	question := {"context": being("ann", []), "action": {"operation": "RevokeRoles", "gateway": {"role": role}}}
	options := object.union(rights, {"options": {"user:ann": ["role:analyst", "role:boss"]}})
	grants.allow with input as question with data.gateway.grants as options
}

# The filter "some" comes with the role analyst.
test_leaving_a_role_that_hides if {
	not takes_out("analyst")
	takes_out("boss")
	only_masks := object.union(object.remove(rights, ["filters"]), {"options": {"user:ann": ["role:analyst"]}})
	question := {"context": being("ann", []), "action": {"operation": "RevokeRoles", "gateway": {"role": "analyst"}}}
	not grants.allow with input as question with data.gateway.grants as only_masks
	tag := object.union(object.remove(rights, ["filters", "masks", "tag_masks"]), {"options": {"user:ann": ["role:analyst"]}, "tag_masks": {"k": {"m": filter({"to": ["role:analyst"]})}}})
	not grants.allow with input as question with data.gateway.grants as tag
}
