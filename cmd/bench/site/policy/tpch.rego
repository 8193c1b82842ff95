# Who sees what of TPC-H: administrators all of it; eve some rows, and some values masked; nell all rows, through filters
# like eve's that happen to hide none.
package tables.tpch.tpch

import data.lib.gw

admin if gw.has_role({"admin"})

eve if gw.has_role({"eve"})

nell if gw.has_role({"nell"})

customer := {"read": true} if admin

customer := {
	"read": true,
	"row_filters": [{"id": "no_machinery", "expression": "c_mktsegment <> 'MACHINERY'"}],
	"masks": {
		"c_phone": {"id": "country_code", "expression": "left(c_phone, 2) || '-***'"},
		"c_acctbal": {"id": "whole", "expression": "round(c_acctbal, 0)"},
		"c_address": {"id": "none", "expression": "NULL"},
	},
} if eve

orders := {"read": true} if admin

orders := {
	"read": true,
	"row_filters": [
		{"id": "no_low", "expression": "o_orderpriority <> '5-LOW'"},
		{"id": "recent", "expression": "o_orderdate >= :from", "params": {"from": "1992-03-01"}},
	],
	"masks": {
		"o_clerk": {"id": "none", "expression": "NULL"},
		"o_comment": {"id": "start", "expression": "left(o_comment, 30)"},
	},
} if eve

lineitem := {"read": true} if admin

lineitem := {
	"read": true,
	"row_filters": [{"id": "no_reg_air", "expression": "l_shipmode <> 'REG AIR'"}],
	"masks": {"l_comment": {"id": "stars", "expression": "'***'"}},
} if eve

customer := {"read": true, "row_filters": [{"id": "all", "expression": "c_mktsegment <> 'NONE'"}]} if nell

orders := {
	"read": true,
	"row_filters": [
		{"id": "all", "expression": "o_orderpriority <> '9-NONE'"},
		{"id": "recent", "expression": "o_orderdate >= :from", "params": {"from": "1991-03-01"}},
	],
} if nell

lineitem := {"read": true, "row_filters": [{"id": "all", "expression": "l_shipmode <> 'NONE'"}]} if nell

part := {"read": true, "row_filters": [{"id": "all", "expression": "p_size > 0"}]} if nell

supplier := {"read": true} if nell

supplier := {"read": true} if admin

supplier := {
	"read": true,
	"masks": {
		"s_name": {"id": "number", "expression": "'Supplier ' || right(s_name, 4)"},
		"s_acctbal": {"id": "whole", "expression": "round(s_acctbal, 0)"},
		"s_phone": {"id": "none", "expression": "NULL"},
	},
} if eve

part := {"read": true} if admin

part := {"read": true, "row_filters": [{"id": "no_smallest", "expression": "p_size > 1"}]} if eve

partsupp := {"read": true}

nation := {"read": true}

region := {"read": true}
