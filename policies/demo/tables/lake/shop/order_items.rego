# Items of orders: for analysts of their region. Support does not need them.
package tables.lake.shop.order_items

import data.lib.gw

read if gw.has_role({"admin", "analyst_eu"})

row_filters contains {"id": "eu_only", "expression": "region = 'EU'"} if not gw.has_role({"admin"})
