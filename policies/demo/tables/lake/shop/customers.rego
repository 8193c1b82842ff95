# Customers: the table with the most to protect, and so the best one to start reading.
#
# Three kinds of people read it: administrators see everything, support sees how to reach a customer but nothing
# about money or taxes, and analysts for the EU see EU customers, without what identifies a person.
package tables.lake.shop.customers

import data.lib.gw

read if gw.has_role({"admin", "support", "analyst_eu"})

# Which rows exist. Somebody who is an analyst and nothing more sees customers of region EU only.
row_filters contains {"id": "eu_only", "expression": "region = :region", "params": {"region": "EU"}} if analyst

# What stands in place of a value. An expression may read every column of the row, also those that the caller
# cannot see. The result always has the column's own type.
masks.tax_id := {"id": "last_four", "expression": "'***-**-' || right(tax_id, 4)"} if analyst

# gw_hash is a hash with a key that only the gateway has. Equal addresses give equal hashes, so that e-mail still
# joins and counts, and nobody can find an address by trying.
masks.email := {"id": "keyed_hash", "expression": "gw_hash(email)"} if analyst

masks.phone := {"id": "no_phone", "expression": "NULL"} if analyst

# The year of birth is enough for an analysis by age.
masks.birth_date := {"id": "birth_year", "expression": "date_trunc('year', birth_date)"} if analyst

masks.tax_id := {"id": "no_tax_id", "expression": "NULL"} if support

masks.credit_limit := {"id": "no_credit_limit", "expression": "NULL"} if support

support if {
	gw.has_role({"support"})
	not gw.has_role({"admin"})
}

# "not admin and not support" rather than "is an analyst": whoever is let in by a rule that somebody adds to read
# later sees the least until he is given more.
analyst if not gw.has_role({"admin", "support"})
