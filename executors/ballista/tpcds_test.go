package ballista

import (
	"os"
	"testing"

	"gatehouse/executors/duckdb/tpc"
	"gatehouse/executors/executortest"
	"gatehouse/policy"
)

// refusedDS are the queries of TPC-DS that the cluster does not run.
var refusedDS = map[string]string{
	"q23": "the planner gives it up in the middle, as nothing is left to join",
}

// refusedHidingDS are those that it does not run under hidingDS, which leaves no rows to some of their joins.
var refusedHidingDS = map[string]string{
	"q10": "the planner goes round", "q20": "the planner goes round", "q35": "the planner goes round",
	"q64": "the planner goes round", "q97": "the planner goes round",
}

// hidingDS hides rows and values in tables that most queries of TPC-DS use.
var hidingDS = executortest.Policy{
	"tpcds.store_sales":   {ID: "s", Filters: []policy.Expression{{ID: "f", SQL: "ss_quantity <> 7"}}},
	"tpcds.catalog_sales": {ID: "c", Filters: []policy.Expression{{ID: "f", SQL: "cs_warehouse_sk <> 1"}}},
	"tpcds.web_sales":     {ID: "w", Masks: map[string]policy.Expression{"ws_quantity": {ID: "m", SQL: "1"}}},
	"tpcds.customer":      {ID: "u", Masks: map[string]policy.Expression{"c_last_name": {ID: "m", SQL: "upper(left(c_last_name, 1)) || '***'"}}},
	"tpcds.item":          {ID: "i", Filters: []policy.Expression{{ID: "f", SQL: "i_category <> 'Music'"}}},
}

// TestTPCDS compares the executors with and without a policy. Without GATEHOUSE_PROBES=all, it runs every ninth query, and one under the policy.
func TestTPCDS(t *testing.T) {
	every, hidden := 9, 99
	if os.Getenv("GATEHOUSE_PROBES") == "all" {
		every, hidden = 1, 1
	}
	benchmark(t, tpc.TPCDS, 99, refusedDS, []demands{{"everything", nil, every, nil}, {"hiding", hidingDS, hidden, refusedHidingDS}})
}
