# Orders: analysts see their region, support sees what is recent enough to be asked about.
package tables.lake.shop.orders

import data.lib.gw
import data.settings

read if gw.has_role({"admin", "support", "analyst_eu"})

row_filters contains {"id": "eu_only", "expression": "region = 'EU'"} if not gw.has_role({"admin", "support"})

# The last 90 days before the newest order. The date is data (settings/data.json), not a rule: whoever loads orders
# can keep it current. Should it be missing, the filter below lets nothing through.
row_filters contains {
	"id": "recent",
	"expression": "order_date >= CAST(:since AS DATE)",
	"params": {"since": oldest_for_support},
} if {
	support
}

row_filters contains {"id": "recent_unknown", "expression": "false"} if {
	support
	not oldest_for_support
}

oldest_for_support := day if {
	newest := time.parse_ns("2006-01-02", settings.newest_order)
	day := time.format([time.add_date(newest, 0, 0, -90), "UTC", "2006-01-02"])
}

support if {
	gw.has_role({"support"})
	not gw.has_role({"admin"})
}
