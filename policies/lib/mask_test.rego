package lib.mask_test

import data.lib.mask

test_hash if mask.hash("e\"mail") == {"id": "hash", "expression": `gw_hash("e""mail")`}

test_keep_last if {
	mask.keep_last("card", 4).expression == `CASE WHEN length("card") > 4 THEN '****' || right("card", 4) ELSE '****' END`
}

test_constants if {
	mask.redact("a").expression == "'***'"
	mask.as_null("a").expression == "NULL"
}

test_year if mask.year("born").expression == `date_trunc('year', "born")`

test_bucket if {
	mask.bucket("salary", 1000).expression == `floor("salary" / 1000) * 1000`
	not mask.bucket("salary", 0)
	not mask.bucket("salary", -5)
}

about(column) := {"action": {"resource": {"column": {"catalogName": "c", "schemaName": "s", "tableName": "t", "columnName": column}}}}

site := {"c": {"s": {"t": {"email": ["pii", "contact"]}}}}

test_tagged if {
	mask.tagged("pii") with input as about("Email") with data.tags as site
	not mask.tagged("secret") with input as about("email") with data.tags as site
	not mask.tagged("pii") with input as about("name") with data.tags as site
	not mask.tagged("pii") with input as about("email")
	mask.column == "email" with input as about("email")
}

# A tag that somebody has set by a statement.
test_tagged_by_statement if {
	mask.tagged("pii") with input as about("email") with data.lib.rules.borne as {["pii", "yes"]}
	not mask.tagged("pii") with input as about("email") with data.lib.rules.borne as {["cost", "pii"]}
}
