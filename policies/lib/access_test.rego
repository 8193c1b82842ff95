package lib.access_test

import data.lib.access

ann(roles, claims) := {
	"context": {"identity": {"user": "ann", "groups": []}, "gateway": {"roles": roles, "claims": claims}},
	"action": {"resource": {"table": {"catalogName": "c", "schemaName": "s", "tableName": "t"}}},
}

test_matches if {
	one := access.matches("region", "r") with input as ann([], {"r": "EU"})
	one == {"id": "by r", "expression": "\"region\" = :value", "params": {"value": "EU"}}
	many := access.matches("region", "r") with input as ann([], {"r": ["EU", "US"]})
	many == {"id": "by r", "expression": "\"region\" IN (:values)", "params": {"values": ["EU", "US"]}}
}

# What is missing, or is of a kind that says nothing, shows no rows.
test_matches_nothing if {
	every claims in [{}, {"r": null}, {"r": {"a": 1}}, {"other": "EU"}] {
		none := access.matches("region", "r") with input as ann([], claims)
		none.expression == "false"
	}
}

conditions := {"admin": "true", "analyst": "region = 'EU'"}

test_by_role if {
	both := access.by_role(conditions) with input as ann(["admin", "analyst", "x"], {})
	both == {{"id": "admin", "expression": "true", "any_of": "role"}, {"id": "analyst", "expression": "region = 'EU'", "any_of": "role"}}
	none := access.by_role(conditions) with input as ann(["x"], {})
	none == {{"id": "no_role", "expression": "false"}}
	nobody := access.by_role(conditions) with input as {}
	nobody == none
}

open(instant) if access.business_hours("Europe/Berlin", 8, 18) with data.lib.gw.now as time.parse_rfc3339_ns(instant)

test_business_hours if {
	open("2026-03-02T07:00:00Z") # Monday, 8:00 in Berlin
	open("2026-03-06T16:59:59Z")
	not open("2026-03-02T06:59:59Z")
	not open("2026-03-06T17:00:00Z")
	not open("2026-03-07T12:00:00Z") # Saturday
	open("2026-06-01T06:00:00Z") # in summer it is 8:00 an hour earlier
}

right := {"user": "ann", "table": "c.s.t", "until": "2026-03-02T12:00:00Z", "reason": "INC-7"}

broken(rights, instant) if {
	access.break_glass with input as ann([], {}) with data.break_glass.rights as rights
		with data.lib.gw.now as time.parse_rfc3339_ns(instant)
}

test_break_glass if {
	broken([right], "2026-03-02T11:59:59Z")
	not broken([right], "2026-03-02T12:00:00Z")
	not broken([], "2026-03-02T11:00:00Z")
	not broken([object.union(right, {"user": "bob"})], "2026-03-02T11:00:00Z")
	not broken([object.union(right, {"table": "c.s.u"})], "2026-03-02T11:00:00Z")
	not broken([object.union(right, {"reason": ""})], "2026-03-02T11:00:00Z")
	not broken([object.remove(right, ["reason"])], "2026-03-02T11:00:00Z")
	not broken([object.remove(right, ["until"])], "2026-03-02T11:00:00Z")
}

# An emergency right to a table shows the catalog and the schema that it is in, and no other.
test_break_glass_above if {
	every resource in [
		{"catalog": {"name": "c"}}, {"schema": {"catalogName": "c", "schemaName": "s"}},
		{"column": {"catalogName": "c", "schemaName": "s", "tableName": "t", "columnName": "a"}},
	] {
		only(resource)
	}
	every resource in [{"catalog": {"name": "cc"}}, {"schema": {"catalogName": "c", "schemaName": "s2"}}] {
		not only(resource)
	}
	listing := {"filterResources": [{"table": {"catalogName": "c", "schemaName": "s", "tableName": "t"}}]}
	access.break_glass with input as {"context": ann([], {}).context, "action": listing} with data.break_glass.rights as [right] with data.lib.gw.now as 0
}

only(resource) if {
	access.break_glass with input as {"context": ann([], {}).context, "action": {"resource": resource}} with data.break_glass.rights as [right] with data.lib.gw.now as 0
}

test_alarm if {
	loud := access.alarm with input as ann([], {}) with data.break_glass.rights as [right] with data.lib.gw.now as 0
	loud == {"id": "break_glass: INC-7", "expression": "true"}
	not access.alarm with input as ann([], {})
}
