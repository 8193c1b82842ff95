package lib.gw_test

import data.lib.gw

caller := {"context": {
	"identity": {"user": "ann", "groups": ["g", "r"]},
	"gateway": {"roles": ["r"], "claims": {"tenant": "t1"}},
}}

test_caller if {
	gw.user == "ann" with input as caller
	gw.roles == ["r"] with input as caller
	gw.groups == ["g", "r"] with input as caller
	gw.claims.tenant == "t1" with input as caller
}

# An input without our part (Trino's own) leaves nothing undefined.
test_caller_of_trino if {
	trino := {"context": {"identity": {"user": "ann", "groups": ["g"]}}}
	gw.user == "ann" with input as trino
	gw.roles == [] with input as trino
	gw.claims == {} with input as trino
	gw.groups == ["g"] with input as trino
}

test_nobody if {
	gw.user == "" with input as {}
	gw.groups == [] with input as {}
}

test_has_role if {
	gw.has_role({"x", "r"}) with input as caller
	not gw.has_role({"x"}) with input as caller
	not gw.has_role({"g"}) with input as caller # a group is not a role
	not gw.has_role({"r"}) with input as {}
}

test_quoting if {
	gw.str("o'neil") == "'o''neil'"
	gw.eq("tenant", "x' OR '1'='1") == "tenant = 'x'' OR ''1''=''1'"
	not gw.str(1)
	not gw.str("a\u0000b")
}

test_now if gw.now > 0
