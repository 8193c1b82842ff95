# Grants as tests: each denial stands beside the same question with the answer yes.
package lib.grants_test

import data.lib.grants

# ann is in analyst, which is in reader; senior and junior are in each other.
rights := {
	"admin": "role:admin",
	"members": {
		"user:ann": ["role:analyst"], "user:cy": ["role:senior"], "user:dan": ["role:barred"],
		"role:analyst": ["role:reader"], "role:reader": [], "role:admin": [], "role:barred": ["role:reader"],
		"role:senior": ["role:junior"], "role:junior": ["role:senior"],
	},
	"options": {"user:ann": ["role:analyst"], "user:dan": ["role:analyst", "role:barred"]},
	"reach": {"role:reader": {"c": {"s": 1}}, "user:bob": {"c": {"s": 1}}, "user:eve": {"c": {"s": 1}}, "user:fay": {"c": {"s": 1}}, "user:gil": {"c": {"s": 1}}, "role:junior": {"c": {"*": 1}}},
	"denials": {"role:barred": {"c": {"s": 1}}, "user:eve": {"c": {"*": 1}}},
	"catalogs": {"c": {"allow": {"role:junior": {"INSERT": {"columns": ["*"], "option": ["*"]}}}, "deny": {"user:eve": {"SELECT": {"columns": ["*"]}}}}},
	"schemas": {"c": {"s": {"allow": {"user:fay": {"OWNERSHIP": {"columns": ["*"]}}}}}},
	"futures": {"c": {"s": {"allow": {"user:gil": {"SELECT": {"columns": ["*"], "option": ["*"], "except": ["t"], "option_except": ["t"]}}}}}},
	"tables": {"c": {"s": {"t": {
		"allow": {
			"role:reader": {"SELECT": {"columns": ["*"], "option": ["*"]}},
			"user:bob": {"SELECT": {"columns": ["a", "b"], "option": ["a"]}},
			"user:eve": {"SELECT": {"columns": ["*"]}},
		},
		"deny": {"role:barred": {"SELECT": {"columns": ["b"]}}},
	}}}},
}

ask(user, operation, resource) := {"context": {"identity": {"user": user}, "gateway": {"principal": concat("", ["user:", user]), "roles": [], "groups": []}}, "action": {"operation": operation, "resource": resource}}

on(name, columns) := {"table": {"catalogName": "c", "schemaName": "s", "tableName": name, "columns": columns}}

for(user, privilege, operation, resource) := object.union(ask(user, operation, resource), {"action": {"gateway": {"privilege": privilege}}})

reads(user, name) if grants.reads with input as ask(user, "SelectFromColumns", on(name, [])) with data.gateway.grants as rights

opens(user, column) if grants.opens(column) with input as ask(user, "SelectFromColumns", on("t", [column])) with data.gateway.grants as rights

grants_on(user, privilege, columns) if {
	grants.allow with input as for(user, privilege, "GrantTablePrivilege", on("t", columns)) with data.gateway.grants as rights
}

test_reading if {
	reads("ann", "t") # through a role of a role
	reads("bob", "t")
	reads("fay", "t") # owns the schema
	not reads("zoe", "t")
	not reads("ann", "other")
	not reads("eve", "t") # DENY on the catalog wins over the grant on the table
	reads("dan", "t") # a denied column is not a denied table
}

test_nothing_without_a_store if {
	not grants.reads with input as ask("ann", "SelectFromColumns", on("t", []))
	not grants.administrator with input as ask("ann", "AdministerGrants", {})
}

test_columns if {
	opens("bob", "a")
	opens("bob", "b")
	not opens("bob", "c")
	opens("ann", "b")
	opens("dan", "a")
	not opens("dan", "b")
}

test_futures if {
	reads("gil", "new")
	not reads("gil", "t")
	# The schema is seen, but no table of it is meant.
	not grants.reads with input as ask("gil", "FilterSchemas", {"schema": {"catalogName": "c", "schemaName": "s"}}) with data.gateway.grants as rights
}

test_visibility if {
	schema := {"schema": {"catalogName": "c", "schemaName": "s"}}
	grants.sees_schema with input as ask("ann", "FilterSchemas", schema) with data.gateway.grants as rights
	grants.sees_schema with input as ask("cy", "FilterSchemas", schema) with data.gateway.grants as rights
	grants.sees_catalog with input as ask("cy", "AccessCatalog", {"catalog": {"name": "c"}}) with data.gateway.grants as rights
	not grants.sees_schema with input as ask("zoe", "FilterSchemas", schema) with data.gateway.grants as rights
	not grants.sees_catalog with input as ask("zoe", "AccessCatalog", {"catalog": {"name": "c"}}) with data.gateway.grants as rights
}

test_signed_in_roles if {
	question := {"context": {"identity": {"user": "new"}, "gateway": {"principal": "user:new", "roles": ["reader", "unknown"], "groups": []}}, "action": {"operation": "SelectFromColumns", "resource": on("t", [])}}
	grants.holds == {"public", "user:new", "role:reader"} with input as question with data.gateway.grants as rights
	grants.reads with input as question with data.gateway.grants as rights
}

session(user, role) := object.union(ask(user, "SelectFromColumns", on("t", [])), {"context": {"gateway": {"session": {"properties": {"role": role}}}}})

test_set_role if {
	grants.reads with input as session("ann", "role:reader") with data.gateway.grants as rights
	not grants.reads with input as session("ann", "none") with data.gateway.grants as rights
	not grants.reads with input as session("ann", "role:senior") with data.gateway.grants as rights
	"b" in grants.denied with input as session("dan", "role:reader") with data.gateway.grants as rights
}

test_passing_on if {
	grants_on("ann", "SELECT", [])
	not grants_on("ann", "INSERT", [])
	grants_on("bob", "SELECT", ["a"])
	not grants_on("bob", "SELECT", ["a", "b"])
	not grants_on("bob", "SELECT", [])
	grants_on("fay", "SELECT", [])
	grants_on("fay", "OWNERSHIP", [])
	not grants_on("ann", "OWNERSHIP", [])
	grants_on("cy", "INSERT", [])
	not grants_on("zoe", "SELECT", [])
}

test_nobody_passes_on_what_is_denied_to_him if {
	grants_on("dan", "SELECT", ["a"])
	not grants_on("dan", "SELECT", ["b"])
	not grants_on("dan", "SELECT", [])
	not grants_on("eve", "SELECT", [])
}

above(user, privilege, operation, resource) if {
	grants.allow with input as for(user, privilege, operation, resource) with data.gateway.grants as rights
}

test_above_tables if {
	schema := {"schema": {"catalogName": "c", "schemaName": "s"}}
	above("fay", "SELECT", "GrantSchemaPrivilege", schema)
	above("cy", "INSERT", "GrantCatalogPrivilege", {"catalog": {"name": "c"}})
	not above("cy", "SELECT", "GrantCatalogPrivilege", {"catalog": {"name": "c"}})
	not above("fay", "SELECT", "GrantCatalogPrivilege", {"catalog": {"name": "c"}})
	not above("eve", "SELECT", "GrantSchemaPrivilege", schema)
	not above("ann", "SELECT", "GrantSchemaPrivilege", schema)
	not above("fay", "SELECT", "DenyPrivilege", schema)
	above("fay", "SELECT", "RevokePrivilege", schema)
	not above("zoe", "SELECT", "RevokePrivilege", schema)
	not above("eve", "INSERT", "GrantCatalogPrivilege", {"catalog": {"name": "c"}})
	not above("dan", "INSERT", "GrantCatalogPrivilege", {"catalog": {"name": "c"}})
}

future(user, except) if {
	question := object.union(
		ask(user, "GrantFutureTablePrivilege", {"schema": {"catalogName": "c", "schemaName": "s"}}),
		{"action": {"gateway": {"privilege": "SELECT", "except": except}}},
	)
	grants.allow with input as question with data.gateway.grants as rights
}

test_passing_on_futures if {
	future("fay", [])
	future("gil", ["t", "u"])
	not future("gil", ["u"])
	not future("ann", ["t"])
	not future("dan", ["t"])
	grants.allow with input as for("gil", "SELECT", "GrantTablePrivilege", on("new", [])) with data.gateway.grants as rights
	not grants.allow with input as for("gil", "SELECT", "GrantTablePrivilege", on("t", [])) with data.gateway.grants as rights
}

gives_role(user, operation, role) if {
	question := {"context": {"identity": {"user": user}, "gateway": {"principal": concat("", ["user:", user]), "roles": [], "groups": []}}, "action": {"operation": operation, "gateway": {"role": role}}}
	grants.allow with input as question with data.gateway.grants as rights
}

test_roles if {
	gives_role("ann", "GrantRoles", "analyst")
	gives_role("ann", "RevokeRoles", "analyst")
	not gives_role("ann", "GrantRoles", "reader")
	not gives_role("zoe", "GrantRoles", "analyst")
	gives_role("dan", "GrantRoles", "barred")
	not gives_role("dan", "GrantRoles", "analyst") # would shed what is denied to dan
	not gives_role("dan", "RevokeRoles", "barred") # would lift the denial
	not gives_role("ann", "CreateRole", "new")
	not gives_role("ann", "GrantRoles", "admin")
}

test_administrators if {
	question := {"context": {"identity": {"user": "root"}, "gateway": {"principal": "user:root", "roles": ["admin"], "groups": []}}, "action": {"operation": "CreateRole", "gateway": {"role": "new"}}}
	grants.allow with input as question with data.gateway.grants as rights
	not grants.reads with input as object.union(question, {"action": {"operation": "SelectFromColumns", "resource": on("t", [])}}) with data.gateway.grants as rights
}

test_check_access if {
	grants.allow with input as for("cy", "INSERT", "CheckAccess", on("t", [])) with data.gateway.grants as rights
	grants.allow with input as for("bob", "SELECT", "CheckAccess", on("t", ["a"])) with data.gateway.grants as rights
	not grants.allow with input as for("bob", "SELECT", "CheckAccess", on("t", ["c"])) with data.gateway.grants as rights
	not grants.allow with input as for("ann", "INSERT", "CheckAccess", on("t", [])) with data.gateway.grants as rights
}

# --- Tables that were replaced, columns that were renamed ---

bound := {
	"members": {},
	"reach": {"user:ann": {"c": {"s": 1}}, "user:bob": {"c": {"s": 1}}, "user:own": {"c": {"s": 1}}, "user:eve": {"c": {"s": 1}}},
	"denials": {"user:eve": {"c": {"s": 1}}},
	"schemas": {"c": {"s": {"allow": {"user:eve": {"SELECT": {"columns": ["*"]}}}}}},
	"tables": {"c": {"s": {"t": {
		"allow": {
			"user:ann": {"SELECT": {"columns": ["*"], "option": ["*"], "uuid": "u1"}},
			"user:bob": {"SELECT": {"columns": ["#1"], "option": ["#1"], "names": {"#1": "a"}, "uuid": "u1"}},
			"user:own": {"OWNERSHIP": {"columns": ["*"], "uuid": "u1"}},
		},
		"deny": {"user:eve": {"SELECT": {"columns": ["#1"], "uuid": "u1"}}},
	}}}},
}

loaded(uuid, columns, asked) := {"table": {
	"catalogName": "c", "schemaName": "s", "tableName": "t", "columns": asked, "gateway": {"uuid": uuid, "columns": {name: {"field_id": id} | some name, id in columns}},
}}

sees(user, uuid, columns) if {
	grants.reads with input as ask(user, "SelectFromColumns", loaded(uuid, columns, [])) with data.gateway.grants as bound
}

uses(user, columns, column) if {
	grants.opens(column) with input as ask(user, "SelectFromColumns", loaded("u1", columns, [column])) with data.gateway.grants as bound
}

passes_on(user, uuid, columns, asked) if {
	grants.allow with input as for(user, "SELECT", "GrantTablePrivilege", loaded(uuid, columns, asked)) with data.gateway.grants as bound
}

test_a_table_of_the_same_name_is_another if {
	sees("ann", "u1", {"a": 1})
	not sees("ann", "u2", {"a": 1})
	sees("bob", "u1", {"a": 1})
	not sees("bob", "u2", {"a": 1})
	passes_on("ann", "u1", {"a": 1}, [])
	not passes_on("ann", "u2", {"a": 1}, [])
	passes_on("own", "u1", {"a": 1}, [])
	not passes_on("own", "u2", {"a": 1}, [])
	# What is denied stays denied.
	sees("eve", "u1", {"a": 1, "b": 2})
	not sees("eve", "u2", {"a": 7, "b": 8})
}

test_a_column_is_its_field_id if {
	uses("bob", {"renamed": 1, "b": 2}, "renamed")
	not uses("bob", {"a": 3, "b": 2}, "a") # dropped and added again
	not sees("bob", "u1", {"a": 3, "b": 2})
	not uses("bob", {"#1": 5, "a": 1}, "#1")
	passes_on("bob", "u1", {"renamed": 1}, ["renamed"])
	not passes_on("bob", "u1", {"a": 3}, ["a"])
	uses("eve", {"a": 3}, "a")
	not uses("eve", {"renamed": 1}, "renamed")
}

test_owners_of_a_replaced_table if {
	grants.owner with input as ask("own", "CreateRowFilter", loaded("u1", {"a": 1}, [])) with data.gateway.grants as bound
	not grants.owner with input as ask("own", "CreateRowFilter", loaded("u2", {"a": 1}, [])) with data.gateway.grants as bound
}
