package tpc

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// view is what eve sees of one table, in plain SQL over the table's own columns. cmd/gatehouse/bench/site/policy says the same to
// the gateway, in Rego; the two are written apart, so that each checks the other.
type view struct {
	rows  string            // condition; "": all
	masks map[string]string // column → what stands in its place
}

// copies are the tables of which eve does not see everything.
var copies = map[Set]map[string]view{
	TPCH: {
		"customer": {"c_mktsegment <> 'MACHINERY'", map[string]string{
			"c_phone": "left(c_phone, 2) || '-***'", "c_acctbal": "round(c_acctbal, 0)", "c_address": "NULL",
		}},
		"orders": {"o_orderpriority <> '5-LOW' AND o_orderdate >= DATE '1992-03-01'", map[string]string{
			"o_clerk": "NULL", "o_comment": "left(o_comment, 30)",
		}},
		"lineitem": {"l_shipmode <> 'REG AIR'", map[string]string{"l_comment": "'***'"}},
		"supplier": {"", map[string]string{"s_name": "'Supplier ' || right(s_name, 4)", "s_acctbal": "round(s_acctbal, 0)", "s_phone": "NULL"}},
		"part":     {"p_size > 1", nil},
	},
	TPCDS: {
		"store_sales":      {"ss_quantity > 5", map[string]string{"ss_net_profit": "round(ss_net_profit, 0)"}},
		"catalog_sales":    {"cs_quantity > 5", nil},
		"web_sales":        {"ws_quantity > 5", map[string]string{"ws_net_profit": "round(ws_net_profit, 0)"}},
		"store_returns":    {"sr_return_quantity >= 2", nil},
		"customer":         {"c_birth_country <> 'IRELAND' OR c_birth_country IS NULL", map[string]string{"c_last_name": "left(c_last_name, 3)", "c_email_address": "NULL", "c_birth_day": "1"}},
		"customer_address": {"", map[string]string{"ca_street_name": "'***'", "ca_zip": "left(ca_zip, 3) || '00'"}},
		"item":             {"i_category <> 'Children' OR i_category IS NULL", map[string]string{"i_wholesale_cost": "NULL"}},
		"inventory":        {"inv_quantity_on_hand > 10", nil},
	},
}

// evesCopies are the relations of all as eve sees them. types gives the columns of a query with their types.
func evesCopies(s Set, all []relation, types func(query string) (map[string]string, error)) ([]relation, error) {
	out := slices.Clone(all)
	for i, r := range out {
		v, ok := copies[s][r.name]
		if !ok {
			continue
		}
		of, err := types(r.query)
		if err != nil {
			return nil, err
		}
		out[i].query = v.over("("+r.query+")", of)
	}
	return out, nil
}

// over is the view's text over a relation. Masks keep the column's type, as they do in the gateway.
func (v view) over(relation string, types map[string]string) string {
	var replaced []string
	for _, column := range slices.Sorted(maps.Keys(v.masks)) {
		replaced = append(replaced, fmt.Sprintf("CAST(%s AS %s) AS %s", v.masks[column], types[column], column))
	}
	star := "*"
	if len(replaced) > 0 {
		star = "* REPLACE (" + strings.Join(replaced, ", ") + ")"
	}
	where := ""
	if v.rows != "" {
		where = " WHERE " + v.rows
	}
	return "SELECT " + star + " FROM " + relation + where
}
