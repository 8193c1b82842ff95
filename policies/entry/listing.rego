# Listing thousands of tables: where could the caller see anything at all?
#
# The gateway asks this once for a whole listing, and then asks allow for the tables that lie there. So nothing becomes
# visible by what stands here; a table that lies elsewhere is hidden. The question names no table.
package trino

import data.lib.grants

gatewayListing contains [c, s, t] if {
	some c, s, t
	data.tables[c][s][t].read == true
}

gatewayListing contains path if some path in grants.somewhere

gatewayListing contains [c, s] if some [c, s] in grants.everywhere

gatewayListing contains [c] if some [c, "*"] in grants.everywhere
