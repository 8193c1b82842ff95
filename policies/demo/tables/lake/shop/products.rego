# Products hold nothing to protect.
package tables.lake.shop.products

import data.lib.gw

read if gw.has_role({"admin", "support", "analyst_eu"})
