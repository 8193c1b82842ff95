package tpc

// wideRows is the number of rows of each table of Wide.
const wideRows = "10000000"

// wideTables are the tables of Wide: results of 10 million rows whose cost is in moving them. Values do not repeat much, so that no
// encoding makes one of them free.
var wideTables = []relation{
	{"mixed", `SELECT i AS id, CAST(hash(i) % 100000 AS INTEGER) AS product, 'customer-' || CAST(hash(i) % 1000000 AS VARCHAR) AS customer,
		CAST((hash(i) % 10000000) / 100 AS DECIMAL(12,2)) AS amount, DATE '2020-01-01' + CAST(hash(i) % 2000 AS INTEGER) AS day,
		TIMESTAMP '2020-01-01' + to_microseconds(CAST(hash(i) % 100000000000000 AS BIGINT)) AS moment, (hash(i) % 1000000) / 997.0::DOUBLE AS ratio,
		CASE hash(i) % 3 WHEN 0 THEN 'EU' WHEN 1 THEN 'US' ELSE 'APAC' END AS region FROM range(` + wideRows + `) t(i)`},
	{"strings", `SELECT 'c' || CAST(hash(i) % 1000000 AS VARCHAR) AS code, md5(CAST(i AS VARCHAR)) AS digest,
		'the quick brown fox ' || CAST(hash(i) % 10000 AS VARCHAR) || ' jumps' AS phrase FROM range(` + wideRows + `) t(i)`},
	{"numbers", `SELECT i AS a, CAST(hash(i) >> 1 AS BIGINT) AS b, CAST(hash(i) % 1000000000 AS INTEGER) AS c, CAST(hash(i) % 1000000007 AS DOUBLE) / 7 AS d,
		CAST(hash(i + 1) AS DOUBLE) AS e FROM range(` + wideRows + `) t(i)`},
}
