//! Aggregates over floating point say the same however rows come: in batches and partitions of any size, in any order, in memory or not.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, Float64Array, Int64Array, RecordBatch};
use arrow::compute::concat_batches;
use arrow::datatypes::{Decimal128Type, Float64Type, Int64Type};
use datafusion::datasource::MemTable;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};
use governed::dispersion::Dispersion;
use governed::exact::Tally;
use governed::failure::class_of;
use governed::measures::Total;
use governed::session;
use governed::wire::Class;

/// A row: its number, its group, its value.
type Row = (i64, i64, Option<f64>);

fn rows(n: i64, groups: i64) -> Vec<Row> {
    let mut seed = 42u64;
    let mut next = || {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        seed >> 33
    };
    let nasty = [1e16, 1.0, -1e16, 0.1, 1e-300, -1e300, 1e300, 0.0, -0.0, 5e-324];
    (0..n)
        .map(|id| {
            let x = match next() % 8 {
                0 => None,
                1 => Some(nasty[next() as usize % nasty.len()]),
                _ => Some(next() as f64 / 1000.0 - 1e6),
            };
            (id, next() as i64 % groups, x)
        })
        .collect()
}

/// A session over the rows: in so many partitions, each row in another one than its neighbours, and batches of so many rows.
fn context(rows: &[Row], partitions: usize, batch: usize, memory: Option<usize>) -> SessionContext {
    let mut config = session::configure(SessionConfig::new()).with_batch_size(batch).with_target_partitions(partitions);
    config.options_mut().execution.skip_partial_aggregation_probe_rows_threshold = 100;
    let mut runtime = RuntimeEnvBuilder::new();
    if let Some(bytes) = memory {
        runtime = runtime.with_memory_pool(Arc::new(FairSpillPool::new(bytes)));
    }
    let state = session::builder(config).with_runtime_env(Arc::new(runtime.build().unwrap())).build();
    let parts = (0..partitions).map(|p| {
        let mine: Vec<&Row> = rows.iter().skip(p).step_by(partitions).collect();
        mine.chunks(batch).map(table).collect()
    });
    let parts: Vec<Vec<RecordBatch>> = parts.collect();
    let context = SessionContext::new_with_state(state);
    context.register_table("t", Arc::new(MemTable::try_new(table(&[]).schema(), parts).unwrap())).unwrap();
    context
}

fn table(rows: &[&Row]) -> RecordBatch {
    let (id, g): (ArrayRef, ArrayRef) =
        (Arc::new(rows.iter().map(|r| Some(r.0)).collect::<Int64Array>()), Arc::new(rows.iter().map(|r| Some(r.1)).collect::<Int64Array>()));
    let x: ArrayRef = Arc::new(rows.iter().map(|r| r.2).collect::<Float64Array>());
    RecordBatch::try_from_iter_with_nullable([("id", id, true), ("g", g, true), ("x", x, true)]).unwrap()
}

async fn run(context: &SessionContext, sql: &str) -> RecordBatch {
    let batches = context.sql(sql).await.unwrap().collect().await.unwrap();
    concat_batches(&batches[0].schema(), &batches).unwrap()
}

fn bits(batch: &RecordBatch, column: usize) -> Vec<Option<u64>> {
    batch.column(column).as_primitive::<Float64Type>().iter().map(|x| x.map(f64::to_bits)).collect()
}

fn sum(values: impl IntoIterator<Item = f64>) -> Option<u64> {
    let mut out = Total::default();
    values.into_iter().for_each(|x| _ = out.add(x, false));
    out.nearest().map(f64::to_bits)
}

fn deviation(values: impl IntoIterator<Item = f64>, sample: bool) -> Option<u64> {
    let mut out = Dispersion::default();
    values.into_iter().for_each(|x| _ = out.add(x, false));
    out.variance(sample).map(|v| v.sqrt().to_bits())
}

#[tokio::test]
async fn groups() {
    const SQL: &str = "SELECT g, sum(x), sum(x) FILTER (WHERE x > 0), gw_stddev(x), gw_stddev_pop(x) FROM t GROUP BY g ORDER BY g";
    for (n, groups) in [(3000, 7), (6000, 4000)] {
        let rows = rows(n, groups);
        let mut all: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
        rows.iter().for_each(|(_, g, x)| all.entry(*g).or_default().extend(x));
        for (partitions, batch) in [(1, 8192), (3, 100), (2, 7)] {
            let got = run(&context(&rows, partitions, batch, None), SQL).await;
            assert_eq!(got.column(0).as_primitive::<Int64Type>().values(), &all.keys().copied().collect::<Vec<_>>()[..]);
            let want = |f: &dyn Fn(&[f64]) -> Option<u64>| all.values().map(|x| f(x)).collect::<Vec<_>>();
            assert_eq!(bits(&got, 1), want(&|x| sum(x.iter().copied())));
            assert_eq!(bits(&got, 2), want(&|x| sum(x.iter().copied().filter(|x| *x > 0.0))));
            assert_eq!(bits(&got, 3), want(&|x| deviation(x.iter().copied(), true)));
            assert_eq!(bits(&got, 4), want(&|x| deviation(x.iter().copied(), false)));
        }
    }
}

#[tokio::test]
async fn without_groups() {
    let rows = rows(5000, 1);
    let values = || rows.iter().filter_map(|r| r.2);
    for (partitions, batch) in [(1, 8192), (3, 100), (4, 3)] {
        let got = run(&context(&rows, partitions, batch, None), "SELECT sum(x), gw_stddev(x), sum(x) FILTER (WHERE id < 0) FROM t").await;
        assert_eq!((bits(&got, 0), bits(&got, 1), bits(&got, 2)), (vec![sum(values())], vec![deviation(values(), true)], vec![None]));
    }
}

#[tokio::test]
async fn windows() {
    let rows = rows(700, 1);
    for (frame, back) in [("ROWS BETWEEN 3 PRECEDING AND CURRENT ROW", 3), ("ROWS UNBOUNDED PRECEDING", 700)] {
        let got = run(&context(&rows, 2, 50, None), &format!("SELECT id, sum(x) OVER (ORDER BY id {frame}) FROM t ORDER BY id")).await;
        let want: Vec<Option<u64>> = (0..rows.len()).map(|i| sum(rows[i.saturating_sub(back)..=i].iter().filter_map(|r| r.2))).collect();
        assert_eq!(bits(&got, 1), want, "{frame}");
    }
}

/// Groups that do not fit are written to disk and merged again.
#[tokio::test]
async fn groups_on_disk() {
    let rows = rows(60_000, 40_000);
    let sql = "SELECT g, sum(x), gw_var(x) FROM t GROUP BY g";
    let plan = context(&rows, 2, 500, Some(6 << 20)).sql(sql).await.unwrap().create_physical_plan().await.unwrap();
    let small = context(&rows, 2, 500, Some(6 << 20));
    let batches = datafusion::physical_plan::collect(Arc::clone(&plan), small.task_ctx()).await.unwrap();
    let spilled = |plan: &Arc<dyn datafusion::physical_plan::ExecutionPlan>| plan.metrics().and_then(|m| m.spilled_rows()).unwrap_or(0);
    assert!(spilled(&plan) > 0, "nothing was spilled");
    let got = concat_batches(&batches[0].schema(), &batches).unwrap();
    let mut all: BTreeMap<i64, Vec<f64>> = BTreeMap::new();
    rows.iter().for_each(|(_, g, x)| all.entry(*g).or_default().extend(x));
    let keys = got.column(0).as_primitive::<Int64Type>();
    assert_eq!(keys.len(), all.len());
    for ((g, x), at) in keys.values().iter().zip(bits(&got, 1)).zip(0..) {
        assert_eq!(x, sum(all[g].iter().copied()), "row {at}");
    }
}

/// Sums of decimals pass 38 digits, and 128 bits, on the way, and not at the end.
#[tokio::test]
async fn wide() {
    const NINES: &str = "CAST('99999999999999999999999999999999999999' AS DECIMAL(38,0))";
    let rows: Vec<Row> = (0..3000).map(|id| (id, id % 7, Some(0.0))).collect();
    for (partitions, batch) in [(1, 8192), (3, 100), (2, 7)] {
        let context = context(&rows, partitions, batch, None);
        let x = format!("CASE WHEN id < 1000 THEN {NINES} WHEN id < 2000 THEN -{NINES} ELSE id - 2000 END");
        for (sql, want) in [
            (format!("SELECT sum({x}) AS s FROM t"), 499_500),
            (format!("SELECT sum(s) AS s FROM (SELECT sum({x}) AS s FROM t GROUP BY id % 1000) u"), 499_500),
            (
                format!("SELECT sum(s) AS s FROM (SELECT sum({x}) FILTER (WHERE id >= 1999) AS s FROM t GROUP BY id % 1999) u"),
                499_500 - (10i128.pow(38) - 1),
            ),
            (format!("SELECT sum(DISTINCT {x}) AS s FROM t"), 499_500),
        ] {
            let got = run(&context, &sql).await;
            assert_eq!(got.column(0).as_primitive::<Decimal128Type>().value(0), want, "{sql}");
        }
        for sql in [
            format!("SELECT sum({NINES}) AS s FROM t"),
            format!("SELECT g, sum({NINES}) AS s FROM t GROUP BY g"),
            format!("SELECT sum(DISTINCT {NINES} - id) AS s FROM t"),
            format!("SELECT id, sum({NINES}) OVER (ORDER BY id ROWS 1 PRECEDING) AS s FROM t"),
        ] {
            let e = context.sql(&sql).await.unwrap().collect().await.unwrap_err();
            assert_eq!(class_of(&e.to_string()), Class::Range, "{sql}: {e}");
        }
    }
}
