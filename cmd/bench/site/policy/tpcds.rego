# Who sees what of TPC-DS: administrators all of it; eve some rows, and some values masked.
package tables.tpcds.tpcds

import data.lib.gw

admin if gw.has_role({"admin"})

eve if gw.has_role({"eve"})

call_center := {"read": true}

catalog_page := {"read": true}

catalog_returns := {"read": true}

catalog_sales := {"read": true} if admin

catalog_sales := {
	"read": true,
	"row_filters": [{"id": "some_rows", "expression": "cs_quantity > 5"}],
} if eve

customer := {"read": true} if admin

customer := {
	"read": true,
	"row_filters": [{"id": "some_rows", "expression": "c_birth_country <> 'IRELAND' OR c_birth_country IS NULL"}],
	"masks": {
		"c_last_name": {"id": "c_last_name", "expression": "left(c_last_name, 3)"},
		"c_email_address": {"id": "c_email_address", "expression": "NULL"},
		"c_birth_day": {"id": "c_birth_day", "expression": "1"},
	},
} if eve

customer_address := {"read": true} if admin

customer_address := {
	"read": true,
	"masks": {
		"ca_street_name": {"id": "ca_street_name", "expression": "'***'"},
		"ca_zip": {"id": "ca_zip", "expression": "left(ca_zip, 3) || '00'"},
	},
} if eve

customer_demographics := {"read": true}

date_dim := {"read": true}

household_demographics := {"read": true}

income_band := {"read": true}

inventory := {"read": true} if admin

inventory := {
	"read": true,
	"row_filters": [{"id": "some_rows", "expression": "inv_quantity_on_hand > 10"}],
} if eve

item := {"read": true} if admin

item := {
	"read": true,
	"row_filters": [{"id": "some_rows", "expression": "i_category <> 'Children' OR i_category IS NULL"}],
	"masks": {
		"i_wholesale_cost": {"id": "i_wholesale_cost", "expression": "NULL"},
	},
} if eve

promotion := {"read": true}

reason := {"read": true}

ship_mode := {"read": true}

store := {"read": true}

store_returns := {"read": true} if admin

store_returns := {
	"read": true,
	"row_filters": [{"id": "some_rows", "expression": "sr_return_quantity >= 2"}],
} if eve

store_sales := {"read": true} if admin

store_sales := {
	"read": true,
	"row_filters": [{"id": "some_rows", "expression": "ss_quantity > 5"}],
	"masks": {
		"ss_net_profit": {"id": "ss_net_profit", "expression": "round(ss_net_profit, 0)"},
	},
} if eve

time_dim := {"read": true}

warehouse := {"read": true}

web_page := {"read": true}

web_returns := {"read": true}

web_sales := {"read": true} if admin

web_sales := {
	"read": true,
	"row_filters": [{"id": "some_rows", "expression": "ws_quantity > 5"}],
	"masks": {
		"ws_net_profit": {"id": "ws_net_profit", "expression": "round(ws_net_profit, 0)"},
	},
} if eve

web_site := {"read": true}
