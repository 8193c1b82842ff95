//! What statements mean, and which are refused.

use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::prelude::{SessionConfig, SessionContext};
use governed::{failure, rewrite, session, wall, wire};

async fn run(sql: &str) -> Result<String, String> {
    let context = SessionContext::new_with_state(session::builder(session::configure(SessionConfig::new())).build());
    let plan = context.state().create_logical_plan(sql).await.and_then(rewrite::plan).map_err(|e| e.to_string())?;
    wall::check(&plan).map_err(|e| e.to_string())?;
    let batches = context.execute_logical_plan(plan).await.map_err(|e| e.to_string())?.collect().await.map_err(|e| e.to_string())?;
    let types: Vec<String> = batches[0].schema().fields().iter().map(|f| f.data_type().to_string()).collect();
    let text = pretty_format_batches(&batches).map_err(|e| e.to_string())?.to_string();
    let values: Vec<&str> = text.lines().skip(3).filter(|l| l.starts_with('|')).map(|l| l.trim_matches(['|', ' '])).collect();
    Ok(format!("{} {}", types.join(","), values.join(";")))
}

#[tokio::test]
async fn values() {
    for (sql, want) in [
        ("SELECT CAST(7 AS INT) / CAST(2 AS INT) AS x", "Float64 3.5"),
        ("SELECT CAST(1 AS INT) / CAST(0 AS INT) AS x", "Float64 inf"),
        ("SELECT 1.5 / 2.5 AS x", "Float64 0.6"),
        ("SELECT CAST(2 AS INT) + CAST(3 AS INT) AS x", "Int32 5"),
        ("SELECT 3000000000 * CAST(2 AS INT) AS x", "Int64 6000000000"),
        ("SELECT CAST('-0.0' AS DOUBLE) = CAST('0.0' AS DOUBLE) AS x", "Boolean true"),
        ("SELECT coalesce(NULL, CAST(1 AS INT), CAST(2 AS INT)) AS x", "Int32 1"),
        ("SELECT CAST(0 AS DOUBLE) = -CAST(0 AS DOUBLE) AS x", "Boolean true"),
        ("SELECT CAST(0 AS DOUBLE) / CAST(0 AS DOUBLE) = -(CAST(0 AS DOUBLE) / CAST(0 AS DOUBLE)) AS x", "Boolean true"),
        ("SELECT CAST(1 AS DOUBLE) BETWEEN 0.5 AND 1.5 AS x", "Boolean true"),
        ("SELECT CASE WHEN true THEN CAST(1 AS DOUBLE) ELSE 0.5 END AS x", "Float64 1.0"),
        ("SELECT CAST(2.5 AS INT) AS x", "Int32 3"),
        ("SELECT CAST('12' AS INT) AS x", "Int32 12"),
        ("SELECT CAST('1.5e1' AS DOUBLE) AS x", "Float64 15.0"),
        ("SELECT 1.5 * 2.25 AS x", "Decimal128(5, 3) 3.375"),
        ("SELECT CAST(CAST(2.5 AS DOUBLE) AS INT) AS x", "Int32 2"),
        ("SELECT CAST(CAST('2020-03-31' AS DATE) AS VARCHAR) AS x", "Utf8 2020-03-31"),
        ("SELECT CAST('2020-3-1' AS DATE) < '2020-3-02' AS x", "Boolean true"),
        ("SELECT CAST('2020-03-31' AS DATE) - CAST('2020-02-28' AS DATE) AS x", "Int64 32"),
        ("SELECT -x AS y FROM (SELECT CAST(5 AS INT) AS x) t", "Int32 -5"),
        ("SELECT (SELECT x FROM (SELECT CAST(1 AS INT) AS x UNION ALL SELECT CAST(2 AS INT)) t WHERE x > 1) AS y", "Int32 2"),
        ("SELECT rank() OVER (ORDER BY x) AS r FROM (SELECT CAST(1 AS INT) AS x UNION ALL SELECT CAST(1 AS INT)) t", "Int64 1;1"),
        ("SELECT CAST('NaN' AS DOUBLE) AS x", ""),
        ("SELECT gw_sorted(min(gw_sortable(x))) AS y FROM (SELECT CAST(-7 AS DOUBLE) AS x UNION ALL SELECT CAST(7 AS DOUBLE)) t", "Float64 -7.0"),
        ("SELECT gw_quotient(sum(x), count(x)) AS y FROM (SELECT CAST(1 AS INT) AS x UNION ALL SELECT CAST(2 AS INT)) t", "Float64 1.5"),
        ("SELECT DISTINCT x FROM (SELECT CAST(1 AS DOUBLE) AS x UNION ALL SELECT CAST(1 AS DOUBLE)) t", "Float64 1.0"),
        ("SELECT sum(x) AS s FROM (SELECT CAST(1 AS INT) AS x UNION ALL SELECT CAST(2 AS INT)) t", "Decimal128(38, 0) 3"),
        ("SELECT CAST('2020-03-31' AS DATE) - INTERVAL '1' MONTH AS x", "Timestamp(µs) 2020-02-29T00:00:00"),
        ("SELECT x FROM (SELECT CAST(1 AS INT) AS x UNION ALL SELECT NULL) t ORDER BY x DESC", "Int32 1;"),
        ("SELECT gw_substr_3('abcdef', CAST(2 AS INT), CAST(3 AS INT)) AS x", "Utf8 bcd"),
        ("SELECT 'a_b' LIKE 'a_%' AS x", "Boolean true"),
        ("SELECT gw_part_year(CAST('2020-03-31' AS DATE)) AS x", "Int64 2020"),
    ] {
        let got = run(sql).await;
        if want.is_empty() {
            assert!(got.as_ref().is_err_and(|e| failure::hint(e).is_some()), "{sql}: {got:?}");
        } else {
            assert_eq!(got.as_deref(), Ok(want), "{sql}");
        }
    }
}

#[tokio::test]
async fn integers_do_not_wrap_around() {
    for sql in [
        "SELECT CAST(2147483647 AS INT) + x AS y FROM (SELECT CAST(1 AS INT) AS x) t",
        "SELECT CAST(9223372036854775807 AS BIGINT) + x AS y FROM (SELECT CAST(1 AS INT) AS x) t",
        "SELECT 9223372036854775807 * x AS y FROM (SELECT CAST(2 AS INT) AS x) t",
    ] {
        let e = run(sql).await.unwrap_err();
        assert_eq!(failure::class_of(&e), wire::Class::Range, "{sql}: {e}");
    }
}

#[tokio::test]
async fn errors_have_classes() {
    for (sql, class) in [
        ("SELECT (SELECT x FROM (SELECT 1 AS x UNION ALL SELECT 2) t) AS y", wire::Class::Cardinality),
        ("SELECT CAST(x AS SMALLINT) AS y FROM (SELECT 100000 AS x) t", wire::Class::Conversion),
        ("SELECT CAST(x AS DECIMAL(3, 1)) AS y FROM (SELECT 100.5 AS x) t", wire::Class::Conversion),
        ("SELECT CAST(x AS INT) AS y FROM (SELECT 'x!' AS x) t", wire::Class::Conversion),
        ("SELECT x * x AS y FROM (SELECT CAST(999999999999999 AS DECIMAL(18, 3)) AS x) t", wire::Class::Range),
        ("SELECT gw_abs(x) AS y FROM (SELECT CAST(-2147483648 AS INT) AS x) t", wire::Class::Range),
        ("SELECT x FROM (SELECT -CAST(0 AS DOUBLE) AS x) t GROUP BY x", wire::Class::Unsupported),
    ] {
        let e = run(sql).await.unwrap_err();
        assert_eq!(failure::class_of(&e), class, "{sql}: {e}");
    }
}

#[tokio::test]
async fn refused_by_name() {
    for (sql, word) in [
        ("SELECT upper('a') AS x", "upper"),
        ("SELECT gw_upper(1) AS x", "upper"),
        ("SELECT CAST('12' AS DECIMAL(9, 2)) AS x", "CAST"),
        ("SELECT CAST(1 AS INT) = '1' AS x", "comparing"),
        ("SELECT gw_stddev(CAST(x AS DOUBLE)) OVER () AS y FROM (SELECT 1 AS x) t", "stddev"),
        ("SELECT stddev(CAST(x AS DOUBLE)) AS y FROM (SELECT 1 AS x) t", "stddev"),
        ("SELECT avg(CAST(x AS DOUBLE)) AS y FROM (SELECT 1 AS x) t", "avg"),
        ("SELECT x FROM (SELECT 1 AS x) t GROUP BY GROUPING SETS ((x), (x))", "twice"),
        ("SELECT * FROM (VALUES (1), ('a')) t", "VALUES"),
        ("SELECT x FROM (SELECT CAST(1 AS DOUBLE) AS x) t INTERSECT SELECT CAST(1 AS DOUBLE)", "comparing"),
        ("SELECT 'a' LIKE 'a\\_' AS x", "LIKE"),
        ("SELECT x FROM (SELECT 1 AS x) t EXCEPT ALL SELECT 1", "EXCEPT ALL"),
        ("SELECT CAST(5 AS INT) % CAST(2 AS INT) AS x", "%"),
        ("CREATE TABLE t (x INT)", ""),
        ("COPY (SELECT 1) TO '/tmp/x.csv'", ""),
        ("SET datafusion.execution.batch_size = 1", ""),
    ] {
        let e = run(sql).await.unwrap_err();
        let hint = failure::hint(&e).unwrap_or_else(|| panic!("{sql}: {e}"));
        assert!(hint.contains(word), "{sql}: {hint}");
    }
}
