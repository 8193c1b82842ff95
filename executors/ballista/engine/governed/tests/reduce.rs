//! Which rows are left out before a join, and by which keys.

use std::sync::Arc;

use arrow::datatypes::{DataType, Field, Schema};
use arrow::ipc::writer::StreamWriter;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr, JoinType, LogicalPlan};
use datafusion::prelude::{SessionConfig, SessionContext};
use governed::relation::Relation;
use governed::{reduce, rewrite, session, wall, wire};

/// How many bytes of keys may be gathered.
const BYTES: reduce::Bytes = reduce::Bytes { keys: 16 << 20, counted: usize::MAX };

/// A relation with the columns k, s, n and t, of so many rows. Some conditions of the statement may be the scan's.
fn relation(name: &str, rows: i64, conditions: bool) -> Relation {
    let field = |name: &str, t: DataType| Field::new(name, t, true);
    let schema = Schema::new(vec![field("k", DataType::Int64), field("s", DataType::Int64), field("n", DataType::Int32), field("t", DataType::Utf8)]);
    let mut bytes = Vec::new();
    StreamWriter::try_new(&mut bytes, &schema).unwrap().flush().unwrap();
    let expected = if conditions { rows / 27 } else { rows };
    Relation::new(wire::Relation { name: name.to_owned(), schema: bytes, rows, groups: Vec::new(), expected }).unwrap()
}

fn context() -> SessionContext {
    // As in a cluster, all subqueries become joins.
    let config = SessionConfig::new().set_bool("datafusion.optimizer.enable_physical_uncorrelated_scalar_subquery", false);
    let context = SessionContext::new_with_state(session::builder(session::configure(config)).build());
    for (name, rows, conditions) in [
        ("bit", 200, true),
        ("little", 9_000, false),
        ("few", 30_000, false),
        ("small", 100_000, false),
        ("picked", 100_000, true),
        ("other", 200_000, false),
        ("near", 300_000, false),
        ("middle", 600_000, false),
        ("wide", 10_000_000_000, true),
        ("deep", 200_000_000, true),
        ("large", 100_000_000, false),
        ("huge", 1_000_000_000_000, false),
    ] {
        context.register_table(name, Arc::new(relation(name, rows, conditions))).unwrap();
    }
    context
}

/// The optimised plan of a statement before and after.
async fn plans(sql: &str) -> (LogicalPlan, LogicalPlan) {
    let context = context();
    let plan = rewrite::plan(context.state().create_logical_plan(sql).await.unwrap()).unwrap();
    wall::check(&plan).unwrap();
    let plan = context.state().optimize(&plan).unwrap();
    let reduced = reduce::plan(plan.clone(), BYTES).unwrap();
    wall::check_optimised(&reduced).unwrap_or_else(|e| panic!("{sql}: {e}\n{}", plan.display_indent()));
    assert_eq!(plan.schema(), reduced.schema());
    context.state().create_physical_plan(&reduced).await.unwrap();
    (plan, reduced)
}

/// What is left out of which relations: "large.k by small.k", with the conditions on the keys.
fn cuts(plan: &LogicalPlan) -> String {
    let mut out = Vec::new();
    plan.apply(|node| {
        if let LogicalPlan::Join(j) = node
            && let LogicalPlan::SubqueryAlias(a) = j.right.as_ref()
            && a.alias.table() == "__gw_keys"
        {
            assert_eq!((j.join_type, j.on.len(), &j.filter), (JoinType::LeftSemi, 1, &None));
            let LogicalPlan::Projection(p) = a.input.as_ref() else { panic!("{a:?}") };
            let (filter, scan) = match p.input.as_ref() {
                LogicalPlan::Filter(f) => (format!(" where {}", f.predicate), f.input.as_ref()),
                scan => (String::new(), scan),
            };
            let LogicalPlan::TableScan(_) = scan else { panic!("{a:?}") };
            let Expr::Column(key) = &j.on[0].0 else { panic!("{j:?}") };
            out.push(format!("{}.{} by {}{filter}", tables(&j.left), key.name, p.expr[0].schema_name()));
        }
        Ok(TreeNodeRecursion::Continue)
    })
    .unwrap();
    out.sort();
    out.join("; ")
}

fn tables(plan: &LogicalPlan) -> String {
    match plan {
        LogicalPlan::TableScan(t) => t.table_name.to_string(),
        plan => plan.inputs().into_iter().map(tables).collect(),
    }
}

#[tokio::test]
async fn what_is_left_out() {
    const BY_SMALL: &str = "large.k by small.k where small.n = Int32(1)";
    const BY_PICKED: &str = "large.k by picked.k";
    for (sql, want) in [
        // Sides whose rows are shown with a partner only, or not at all.
        ("SELECT s FROM small a WHERE n = 1 AND EXISTS (SELECT 1 FROM large b WHERE b.k = a.k)", BY_SMALL),
        ("SELECT s FROM small a WHERE n = 1 AND NOT EXISTS (SELECT 1 FROM large b WHERE b.k = a.k)", BY_SMALL),
        ("SELECT s FROM small a WHERE n = 1 AND k IN (SELECT k FROM large)", BY_SMALL),
        ("SELECT s FROM small a WHERE n = 1 AND (t = 'x' OR EXISTS (SELECT 1 FROM large b WHERE b.k = a.k))", BY_SMALL),
        ("SELECT a.s, b.s AS r FROM small a LEFT JOIN large b ON b.k = a.k WHERE a.n = 1", BY_SMALL),
        ("SELECT a.s, b.s AS r FROM large b RIGHT JOIN small a ON b.k = a.k WHERE a.n = 1", BY_SMALL),
        ("SELECT a.s, b.s AS r FROM picked a LEFT JOIN large b ON b.k = a.k", BY_PICKED),
        ("SELECT s FROM picked a WHERE EXISTS (SELECT 1 FROM large b WHERE b.k = a.k AND b.s <> a.s)", BY_PICKED),
        ("SELECT s FROM picked a WHERE EXISTS (SELECT 1 FROM (SELECT k + 0 AS k FROM large WHERE t < 'x') b WHERE b.k = a.k)", BY_PICKED),
        // Aggregates, on either side and beneath what is said of them.
        ("SELECT a.s FROM picked a JOIN (SELECT k, sum(s) AS s FROM large GROUP BY k) b ON a.k = b.k AND a.s < b.s", BY_PICKED),
        ("SELECT a.s FROM (SELECT k, sum(s) AS s FROM large GROUP BY k, t HAVING count(*) > 2) b JOIN picked a ON a.k = b.k", BY_PICKED),
        ("SELECT s FROM picked a WHERE s < (SELECT max(s) FROM large b WHERE b.k = a.k)", BY_PICKED),
        ("SELECT a.s, b.n FROM picked a LEFT JOIN (SELECT k, count(*) AS n FROM large GROUP BY k) b ON a.k = b.k", BY_PICKED),
        ("SELECT a.s FROM picked a LEFT JOIN (SELECT DISTINCT k, s FROM large) b ON a.k = b.k", BY_PICKED),
        ("SELECT a.s FROM picked a JOIN (SELECT k, count(DISTINCT s) AS s FROM large GROUP BY k) b ON a.k = b.k", BY_PICKED),
        ("SELECT k FROM (SELECT k, count(*) AS n FROM large GROUP BY k) b WHERE k IN (SELECT k FROM picked)", BY_PICKED),
        // Keys from behind other joins, by equalities on the way.
        ("SELECT a.s FROM middle a, picked p WHERE a.k = p.k AND a.s < (SELECT max(s) FROM large b WHERE b.k = a.k)", BY_PICKED),
        ("SELECT s FROM middle a WHERE k IN (SELECT k FROM picked) AND s < (SELECT max(b.n) FROM large b WHERE b.k = a.k)", BY_PICKED),
        ("SELECT s FROM middle a WHERE k IN (SELECT k FROM picked) AND s < (SELECT max(b.n) FROM large b WHERE b.k = a.k AND b.s = a.s)", BY_PICKED),
        ("SELECT a.s FROM picked a LEFT JOIN few c ON a.s = c.s WHERE EXISTS (SELECT 1 FROM large b WHERE b.k = a.k)", BY_PICKED),
        ("SELECT a.s FROM (SELECT k + 1 AS l, k, s FROM picked) a WHERE l > 3 AND EXISTS (SELECT 1 FROM large b WHERE b.k = a.k)", BY_PICKED),
        // The fewest keys.
        (
            "SELECT a.s FROM other a JOIN small c ON a.k = c.k WHERE a.n = 2 AND c.n = 1 AND NOT EXISTS (SELECT 1 FROM large b WHERE b.k = a.k)",
            BY_SMALL,
        ),
        ("SELECT s FROM (SELECT k, max(s) AS s FROM picked GROUP BY k) a WHERE EXISTS (SELECT 1 FROM large b WHERE b.k = a.k)", BY_PICKED),
        // Beneath joins of which each row goes its own way.
        ("SELECT s FROM picked a WHERE s < (SELECT max(b.s) FROM large b, other o WHERE b.n = o.n AND b.k = a.k)", BY_PICKED),
        ("SELECT s FROM picked a WHERE EXISTS (SELECT 1 FROM other o JOIN large b ON b.s = o.s WHERE b.k = a.k)", BY_PICKED),
        (
            "SELECT a.s, b.x FROM picked a LEFT JOIN (SELECT l.k, max(o.t) AS x FROM large l LEFT JOIN other o ON l.s = o.s GROUP BY l.k) b ON a.k = b.k",
            BY_PICKED,
        ),
        (
            "SELECT a.s FROM picked a LEFT JOIN (SELECT k FROM large l WHERE NOT EXISTS (SELECT 1 FROM other o WHERE o.s = l.s)) b ON a.k = b.k",
            BY_PICKED,
        ),
        // A condition that may fail, or has a subquery, is none of the keys'.
        ("SELECT a.s FROM small a WHERE n = 1 AND 10 / (k + 1) > 2 AND EXISTS (SELECT 1 FROM large b WHERE b.k = a.k)", BY_SMALL),
        ("SELECT a.s FROM small a WHERE n = 1 AND s > (SELECT max(s) FROM small) AND NOT EXISTS (SELECT 1 FROM large b WHERE b.k = a.k)", BY_SMALL),
    ] {
        let (_, reduced) = plans(sql).await;
        assert_eq!(cuts(&reduced), want, "{sql}\n{}", reduced.display_indent());
        // Once is enough.
        assert_eq!(reduce::plan(reduced.clone(), BYTES).unwrap(), reduced, "{sql}");
    }
}

#[tokio::test]
async fn what_is_left_alone() {
    for sql in [
        // All rows are shown.
        "SELECT a.s, b.s AS r FROM picked a RIGHT JOIN large b ON b.k = a.k",
        "SELECT a.s, b.s AS r FROM picked a FULL JOIN large b ON b.k = a.k",
        "SELECT s FROM large b WHERE NOT EXISTS (SELECT 1 FROM picked a WHERE b.k = a.k)",
        "SELECT a.s, b.n FROM picked a RIGHT JOIN (SELECT k, count(*) AS n FROM large GROUP BY k) b ON a.k = b.k",
        // The join itself does it.
        "SELECT a.s, b.s AS r FROM picked a JOIN large b ON b.k = a.k",
        "SELECT s FROM large b WHERE EXISTS (SELECT 1 FROM picked a WHERE b.k = a.k)",
        // NULL equals NULL.
        "SELECT k FROM picked INTERSECT SELECT k FROM large",
        "SELECT k FROM picked EXCEPT SELECT k FROM large",
        // Not all of a group, or a part of a group that no key is.
        "SELECT a.s FROM picked a JOIN (SELECT k, count(*) AS n FROM large GROUP BY ROLLUP (k)) b ON a.k = b.k",
        "SELECT a.s FROM picked a JOIN (SELECT k + 1 AS k, count(*) AS n FROM large GROUP BY k + 1) b ON a.k = b.k",
        "SELECT a.s FROM picked a JOIN (SELECT s, max(k) AS k FROM large GROUP BY s) b ON a.k = b.k",
        "SELECT a.s FROM picked a JOIN (SELECT k, rank() OVER (ORDER BY s) AS r FROM large) b ON a.k = b.k",
        "SELECT a.s FROM picked a LEFT JOIN (SELECT k FROM large ORDER BY s LIMIT 10) b ON a.k = b.k",
        // Keys of another type, or that are computed.
        "SELECT s FROM picked a WHERE EXISTS (SELECT 1 FROM large b WHERE b.n = a.k)",
        "SELECT s FROM picked a WHERE EXISTS (SELECT 1 FROM large b WHERE b.k = a.k + 1)",
        "SELECT s FROM (SELECT s, k + 1 AS k FROM picked) a WHERE EXISTS (SELECT 1 FROM large b WHERE b.k = a.k)",
        // Joins that say of a row what other rows have to do with.
        "SELECT a.s, b.x FROM picked a LEFT JOIN (SELECT l.k, max(o.t) AS x FROM other o LEFT JOIN large l ON l.s = o.s GROUP BY l.k) b ON a.k = b.k",
        "SELECT a.s, b.x FROM picked a LEFT JOIN (SELECT l.k, max(o.t) AS x FROM other o FULL JOIN large l ON l.s = o.s GROUP BY l.k) b ON a.k = b.k",
        // No keys, too many, no fewer than there are, or of more rows than there are to move; and too few of these.
        "SELECT s FROM bit a WHERE EXISTS (SELECT 1 FROM little b WHERE b.k = a.k)",
        "SELECT s FROM picked a WHERE EXISTS (SELECT 1 FROM large b WHERE b.k > a.k)",
        "SELECT s FROM small a WHERE EXISTS (SELECT 1 FROM large b WHERE b.k = a.k)",
        "SELECT s FROM small a WHERE 10 / (k + 1) > 2 AND EXISTS (SELECT 1 FROM large b WHERE b.k = a.k)",
        "SELECT s FROM picked a WHERE EXISTS (SELECT 1 FROM few b WHERE b.k = a.k)",
        "SELECT s FROM other a WHERE n = 1 AND EXISTS (SELECT 1 FROM near b WHERE b.k = a.k)",
        "SELECT s FROM wide a WHERE EXISTS (SELECT 1 FROM huge b WHERE b.k = a.k)",
        "SELECT s FROM deep a WHERE EXISTS (SELECT 1 FROM large b WHERE b.k = a.k)",
        // Keys that are not all of one scan.
        "SELECT s FROM (SELECT k, s FROM picked UNION ALL SELECT k, s FROM picked) a WHERE EXISTS (SELECT 1 FROM large b WHERE b.k = a.k)",
        "SELECT s FROM (SELECT max(k) AS k, s FROM picked GROUP BY s) a WHERE EXISTS (SELECT 1 FROM large b WHERE b.k = a.k)",
        "SELECT s FROM (SELECT k, max(s) AS s FROM picked GROUP BY CUBE (k)) a WHERE EXISTS (SELECT 1 FROM large b WHERE b.k = a.k)",
        "SELECT s FROM (SELECT k, s FROM picked LIMIT 10) a WHERE EXISTS (SELECT 1 FROM large b WHERE b.k = a.k)",
        // By an outer join, the other side's keys are not all.
        "SELECT a.s FROM middle a LEFT JOIN picked p ON a.k = p.k LEFT JOIN large b ON b.k = a.k",
    ] {
        let (plan, reduced) = plans(sql).await;
        assert_eq!(cuts(&reduced), "", "{sql}\n{}", reduced.display_indent());
        assert_eq!(plan, reduced, "{sql}");
    }
}

#[tokio::test]
async fn what_is_counted_instead() {
    // The columns k and s of large are 1.6 GB, k alone is half of it.
    let counted = reduce::Bytes { counted: 1_000_000_000, ..BYTES };
    for (sql, counts) in [
        ("SELECT s FROM picked a WHERE EXISTS (SELECT 1 FROM large b WHERE b.k = a.k AND b.s <> a.s)", true),
        ("SELECT a.s, b.s AS r FROM large b RIGHT JOIN picked a ON b.k = a.k", true),
        ("SELECT s FROM picked a WHERE EXISTS (SELECT 1 FROM large b WHERE b.k = a.k)", false),
        ("SELECT s FROM picked a WHERE s < (SELECT max(b.s) FROM large b WHERE b.k = a.k)", false), // no scan
    ] {
        let (plan, reduced) = plans(sql).await;
        let other = reduce::plan(plan.clone(), counted).unwrap();
        assert_eq!(other, if counts { plan } else { reduced }, "{sql}");
    }
}
