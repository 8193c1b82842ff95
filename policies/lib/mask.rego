# Masks that a policy needs most often, one line each:
#
#	masks.card := mask.keep_last("card", 4) if not gw.has_role({"admin"})
#
# Each takes the column's name. What a mask gives is cast to the column's own type, so texts are for text columns.
package lib.mask

import data.lib.grants
import data.lib.rules

# hash: a keyed hash in hex. Equal values stay equal in every table; nobody without the gateway's key can try values out.
hash(column) := made("hash", concat("", ["gw_hash(", name(column), ")"]))

# keep_last: the last n characters after ****. A value of n characters or less shows nothing of itself.
keep_last(column, n) := made("keep_last", sprintf("CASE WHEN length(%s) > %d THEN '****' || right(%s, %d) ELSE '****' END", [name(column), n, name(column), n]))

# redact: *** in place of every text, also of NULL, so that not even its absence shows.
redact(_) := made("redact", "'***'")

# as_null: NULL, for a column of any type.
as_null(_) := made("as_null", "NULL")

# year: the first day of the year of a date or timestamp.
year(column) := made("year", concat("", ["date_trunc('year', ", name(column), ")"]))

# bucket: numbers rounded down to a multiple of size. There is no noise, so that the same value always gives the same bucket, and
# asking again tells nothing more.
bucket(column, size) := made("bucket", sprintf("floor(%s / %v) * %v", [name(column), size, size])) if size > 0

# The column that is asked about, for masks of many columns: global.mask := mask.hash(mask.column) if mask.tagged("pii").
column := input.action.resource.column.columnName

# tagged: does the column bear the tag, by ALTER TABLE … SET TAG, or by the policy's own data in
# tags.CATALOG.SCHEMA.TABLE.COLUMN, a list?
tagged(tag) if {
	some [key, _] in rules.borne
	key == tag
}

tagged(tag) if {
	some listed, own in data.tags[grants.cat][grants.sch][grants.tab]
	lower(listed) == lower(column)
	tag in own
}

made(kind, expression) := {"id": kind, "expression": expression}

name(column) := concat("", ["\"", replace(column, "\"", "\"\""), "\""])
