//! What statements mean, and which are refused.

use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::prelude::{SessionConfig, SessionContext};
use governed::{failure, session, wall, wire};

async fn run(sql: &str) -> Result<String, String> {
    let context = SessionContext::new_with_state(session::builder(session::configure(SessionConfig::new())).build());
    let plan = context.state().create_logical_plan(sql).await.map_err(|e| e.to_string())?;
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
        ("SELECT CAST('-0.0' AS DOUBLE) = CAST('0.0' AS DOUBLE) AS x", ""),
        ("SELECT CAST(0 AS DOUBLE) = -CAST(0 AS DOUBLE) AS x", "Boolean true"),
        ("SELECT sum(x) AS s FROM (SELECT CAST(1 AS INT) AS x UNION ALL SELECT CAST(2 AS INT)) t", "Decimal128(38, 0) 3"),
        ("SELECT CAST('2020-03-31' AS DATE) - INTERVAL '1' MONTH AS x", "Timestamp(µs) 2020-02-29T00:00:00"),
        ("SELECT x FROM (SELECT CAST(1 AS INT) AS x UNION ALL SELECT NULL) t ORDER BY x DESC", "Int32 1;"),
        ("SELECT substr('abcdef', CAST(2 AS INT), CAST(3 AS INT)) AS x", "Utf8 bcd"),
        ("SELECT 'a_b' LIKE 'a_%' AS x", "Boolean true"),
        ("SELECT date_part('year', CAST('2020-03-31' AS DATE)) AS x", "Int32 2020"),
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
async fn refused_by_name() {
    for (sql, word) in [
        ("SELECT upper('a') AS x", "upper"),
        ("SELECT CAST('12' AS INT) AS x", "CAST"),
        ("SELECT CAST(1 AS INT) = '1' AS x", "comparing"),
        ("SELECT row_number() OVER () AS x", "window"),
        ("SELECT * FROM (VALUES (1)) t", "VALUES"),
        ("SELECT DISTINCT CAST(1 AS DOUBLE) AS x", "floating point"),
        ("SELECT 'a' LIKE 'a\\_' AS x", "LIKE"),
        ("SELECT (SELECT x FROM (SELECT 1 AS x UNION ALL SELECT 2) t) AS y", "several rows"),
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
