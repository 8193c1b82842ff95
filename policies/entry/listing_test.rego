# The listing leaves out only what nobody could open.
package listing_test

import data.trino

listing(user) := {
	"context": {"identity": {"user": user, "groups": []}, "gateway": {"principal": concat("", ["user:", user]), "roles": [], "groups": [], "claims": {}}},
	"action": {"operation": "FilterTables"},
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

places(user) := found if {
	found := trino.gatewayListing with input as listing(user) with data.gateway.grants as rights with data.tables as packages
}

test_places if {
	places("zoe") == {["c", "s", "open"]}
	places("ann") == {["c", "s", "open"], ["c", "s", "granted"]}
	places("whole") == {["c", "s", "open"], ["c", "s"]}
	places("later") == {["c", "s", "open"], ["c", "s"]}
	places("most") == {["c", "s", "open"], ["c", "*"], ["c"]}
}

test_without_grants if {
	found := trino.gatewayListing with input as listing("ann") with data.tables as packages
	found == {["c", "s", "open"]}
}
