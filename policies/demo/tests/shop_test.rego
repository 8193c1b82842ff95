# What each of the three example users sees, asked as the gateway asks it. Run with: gatehouse policy test
#
# The package of tests is not below tables: the router asks everything there, and a test that asks the router back
# would be a circle.
package tests.shop

import data.settings
import data.trino

roles := {"alice": ["analyst_eu"], "bob": ["support"], "admin": ["admin"], "eve": []}

who(user) := {
	"identity": {"user": user, "groups": roles[user]},
	"gateway": {"roles": roles[user], "claims": {}},
}

about(name, columns) := {"table": {"catalogName": "lake", "schemaName": "shop", "tableName": name, "columns": columns}}

reads(user, name, columns) if {
	trino.allow with input as {"context": who(user), "action": {"operation": "SelectFromColumns", "resource": about(name, columns)}}
}

filters(user, name) := {f.id | some f in found} if {
	found := trino.rowFilters with input as {"context": who(user), "action": {"operation": "GetRowFilters", "resource": about(name, [])}}
}

mask(user, name, col) := found if {
	found := trino.columnMask with input as {"context": who(user), "action": {"operation": "GetColumnMask", "resource": {"column": {
		"catalogName": "lake", "schemaName": "shop", "tableName": name, "columnName": col, "columnType": "varchar",
	}}}}
}

every_table := {"customers", "orders", "order_items", "products", "employees", "payroll"}

test_which_tables_exist if {
	{t | some t in every_table; reads("alice", t, [])} == every_table - {"payroll"}
	{t | some t in every_table; reads("bob", t, [])} == {"customers", "orders", "products"}
	{t | some t in every_table; reads("admin", t, [])} == every_table
	{t | some t in every_table; reads("eve", t, [])} == set()
}

test_a_table_without_package_does_not_exist if {
	not reads("admin", "never_written", [])
	reads("admin", "customers", [])
}

test_salary_is_hidden_from_alice if {
	not reads("alice", "employees", ["name", "salary"])
	reads("alice", "employees", ["name"])
	reads("admin", "employees", ["name", "salary"])
}

test_rows if {
	filters("alice", "customers") == {"eu_only"}
	filters("alice", "orders") == {"eu_only"}
	filters("alice", "order_items") == {"eu_only"}
	filters("alice", "products") == set()
	filters("bob", "customers") == set()
	filters("bob", "orders") == {"recent"}
	every t in every_table {
		filters("admin", t) == set()
	}
}

test_90_days_before_the_newest_order if {
	some f in trino.rowFilters with input as {"context": who("bob"), "action": {"operation": "GetRowFilters", "resource": about("orders", [])}}
	f.params.since == "2025-04-01"
}

test_without_the_newest_order_there_are_no_rows if {
	found := filters("bob", "orders") with data.settings as {}
	found == {"recent_unknown"}
}

test_masks_of_alice if {
	mask("alice", "customers", "tax_id").id == "last_four"
	mask("alice", "customers", "email").id == "keyed_hash"
	mask("alice", "customers", "phone").expression == "NULL"
	mask("alice", "customers", "birth_date").id == "birth_year"
	not mask("alice", "customers", "name")
	not mask("alice", "customers", "credit_limit")
}

test_masks_of_bob if {
	mask("bob", "customers", "tax_id").expression == "NULL"
	mask("bob", "customers", "credit_limit").expression == "NULL"
	not mask("bob", "customers", "email")
	not mask("bob", "customers", "phone")
}

test_admin_sees_all_in_clear if {
	every c in {"tax_id", "email", "phone", "birth_date", "credit_limit", "name"} {
		not mask("admin", "customers", c)
	}
}

# More roles never show less than the strongest of them, and one who is both is masked as support.
test_two_roles if {
	both := {
		"identity": {"user": "pat", "groups": ["analyst_eu", "support"]},
		"gateway": {"roles": ["analyst_eu", "support"], "claims": {}},
	}
	found := trino.rowFilters with input as {"context": both, "action": {"operation": "GetRowFilters", "resource": about("customers", [])}}
	found == set()
	only := trino.columnMask with input as {"context": both, "action": {"operation": "GetColumnMask", "resource": {"column": {
		"catalogName": "lake", "schemaName": "shop", "tableName": "customers", "columnName": "tax_id", "columnType": "varchar",
	}}}}
	only.id == "no_tax_id"
}

test_newest_order_is_a_date if time.parse_ns("2006-01-02", settings.newest_order)
