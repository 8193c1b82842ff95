# The listing leaves out only what nobody could open.
package listing_test

import data.trino

table(name) := {"table": {"catalogName": "c", "schemaName": "s", "tableName": name}}

listing(user) := {
	"context": {"identity": {"user": user, "groups": []}, "gateway": {"principal": concat("", ["user:", user]), "roles": [], "groups": [], "claims": {}}},
	"action": {"operation": "FilterTables", "filterResources": [table("open"), table("granted"), table("closed")]},
}

held := {"SELECT": {"columns": ["*"], "except": []}}

rights := {
	"members": {"user:ann": ["role:r"], "role:r": []},
	"reach": {
		"role:r": {"c": {"s": 1}}, "user:whole": {"c": {"s": 1}},
		"user:later": {"c": {"s": 1}}, "user:most": {"c": {"*": 1}},
	},
	"tables": {"c": {"s": {"granted": {"allow": {"role:r": held}}}}},
	"schemas": {"c": {"s": {"allow": {"user:whole": held}}}},
	"futures": {"c": {"s": {"allow": {"user:later": held}}}},
	"catalogs": {"c": {"allow": {"user:most": held}}},
}

packages := {"c": {"s": {"open": {"read": true}, "closed": {"read": false}}}}

candidates(user) := found if {
	found := trino.gatewayCandidates with input as listing(user) with data.gateway.grants as rights with data.tables as packages
}

test_candidates if {
	candidates("zoe") == {0}
	candidates("ann") == {0, 1}
	candidates("whole") == {0, 1, 2}
	candidates("later") == {0, 1, 2}
	candidates("most") == {0, 1, 2}
}

test_without_grants if {
	found := trino.gatewayCandidates with input as listing("ann") with data.tables as packages
	found == {0}
}
