//! Rows that a join cannot use are left out before they are moved.
//!
//! Where no task has all of a relation, a join moves rows to where their keys are, and so does an aggregate. Of a large relation that is joined with few
//! rows of a small one, most are moved for nothing: `B` joined with `A` on a key becomes `(B LEFT SEMI K)` joined with `A`, where `K` are the keys of a
//! small relation that `A` takes its keys from. `K` is read once more for that, and goes whole to each task that reads `B`.
//!
//! This changes no result. `K` has each key of `A` that is not NULL: `A` has its keys from the rows of one scan, and what is between the scan and `A` only
//! drops rows, repeats them, or leaves NULL in their place; of the conditions on the way, `K` has some or none. So a row of `B` whose key is not in `K`, or
//! NULL, equals none of `A`. Then, if the join is
//! - LEFT with `B` on its right, LEFT SEMI, LEFT ANTI or LEFT MARK: the row is no partner of any row of `A`, and nothing else is asked of rows of `B`.
//!   Further conditions of the join are on pairs of equal keys. An anti join for NOT IN asks for NULL in `B`, and is left alone. So are joins for which NULL
//!   equals NULL, and FULL joins, which show rows of `B` that have no partner;
//! - INNER, or LEFT SEMI with `B` on its left: the row has no partner and is not shown. Here this is done beneath an aggregate in `B` alone: for rows as
//!   they are, the join itself does it.
//!
//! Beneath an aggregate of which the key is a group's key, a group loses all of its rows or none, as they all have its key. Beneath a join in `B` that makes
//! rows with the key of each row of one of its sides, and nothing else of that row, what is made of the row is lost with it.
//!
//! What may be evaluated on a row of `B` is evaluated before: the rows are cut above conditions and columns that the statement computes of them, and beneath
//! aggregates and joins. `K` has no condition that may fail. So nothing fails that did not, but what aggregates and joins beneath them compute of rows that
//! nobody needs may fail no more.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, JoinType, NullEquality};
use datafusion::datasource::source_as_provider;
use datafusion::error::Result;
use datafusion::logical_expr::utils::{conjunction, split_conjunction};
use datafusion::logical_expr::{Aggregate, Expr, Join, JoinConstraint, LogicalPlan, LogicalPlanBuilder, TableScan};

use crate::exec::{width, width_of};
use crate::lazy::{has_subquery, raises};
use crate::relation::Relation;

/// How many times more rows there have to be than keys, as far as both are guessed. There have to be more than are read once more for the keys, too.
const TIMES: u64 = 10;

/// How many rows there have to be at least. Fewer are moved sooner than a further stage is run.
const LEAST: u64 = 10_000;

/// What the keys are called in a plan.
const NAME: &str = "__gw_keys";

/// One of how many rows meets conditions above a scan of which nothing is known, as DataFusion guesses.
const MET: u64 = 5;

/// How many bytes matter.
#[derive(Clone, Copy)]
pub struct Bytes {
    /// Keys of so many are worth it.
    pub keys: usize,
    /// A scan of so many on the side of a join that shows no rows is cut by all rows of the other side, once these are counted, and left alone here.
    pub counted: usize,
}

/// Reduces the sides of a plan's joins, as the optimiser left it.
pub fn plan(p: LogicalPlan, bytes: Bytes) -> Result<LogicalPlan> {
    let out = p.transform_up(|node| match node {
        LogicalPlan::Join(mut j) => {
            let changed = join(&mut j, bytes)?;
            Ok(Transformed::new_transformed(LogicalPlan::Join(j), changed))
        }
        node => Ok(Transformed::no(node)),
    })?;
    Ok(out.data)
}

/// How the rows of one side of a join may be cut.
#[derive(Clone, Copy, PartialEq)]
enum Cut {
    /// Not at all: those without a partner matter.
    Never,
    /// Beneath an aggregate.
    Grouped,
    /// As they are.
    Any,
}

/// How the rows of a join's left and right side may be cut.
fn cuts(t: JoinType) -> (Cut, Cut) {
    match t {
        JoinType::Inner => (Cut::Grouped, Cut::Grouped),
        JoinType::Left | JoinType::LeftAnti | JoinType::LeftMark => (Cut::Never, Cut::Any),
        JoinType::LeftSemi => (Cut::Grouped, Cut::Any),
        JoinType::Right | JoinType::RightAnti | JoinType::RightMark => (Cut::Any, Cut::Never),
        JoinType::RightSemi => (Cut::Any, Cut::Grouped),
        JoinType::Full => (Cut::Never, Cut::Never),
    }
}

fn join(j: &mut Join, bytes: Bytes) -> Result<bool> {
    if j.null_aware || j.null_equality != NullEquality::NullEqualsNothing {
        return Ok(false);
    }
    let (left, right) = cuts(j.join_type);
    let flipped: Vec<(Expr, Expr)> = j.on.iter().map(|(l, r)| (r.clone(), l.clone())).collect();
    Ok(side(&mut j.left, left, &j.right, &j.on, bytes)? || side(&mut j.right, right, &j.left, &flipped, bytes)?)
}

/// Cuts the rows of a side by the fewest keys that the other side has. The keys of the join are pairs of both sides, in this order.
fn side(b: &mut Arc<LogicalPlan>, cut: Cut, a: &LogicalPlan, on: &[(Expr, Expr)], bytes: Bytes) -> Result<bool> {
    if cut == Cut::Never || cut == Cut::Any && size(b) >= Some(bytes.counted) {
        return Ok(false);
    }
    let mut found = Vec::new();
    for (here, there) in on {
        if let (Some(here), Some(there)) = (place(here, b.schema()), place(there, a.schema())) {
            let mut keys = Vec::new();
            sources(a, there, Vec::new(), &mut keys);
            found.extend(keys.into_iter().map(|k| (here, k)));
        }
    }
    found.retain(|(here, k)| k.guess.fewer && k.guess.rows > 0 && k.kind == *b.schema().field(*here).data_type() && k.bytes() <= bytes.keys as u64);
    found.sort_by_key(|(_, k)| k.guess.rows);
    for (here, keys) in found {
        if reduce(Arc::make_mut(b), here, cut == Cut::Any, &keys)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The place of a column in a schema, if an expression is one.
fn place(e: &Expr, schema: &DFSchema) -> Option<usize> {
    match e {
        Expr::Column(c) => schema.maybe_index_of_column(c),
        Expr::Alias(a) => place(&a.expr, schema),
        _ => None,
    }
}

/// Leaves out rows whose value at a place is not among keys, beneath the last aggregate and the last join, or above all else if no aggregate is needed.
fn reduce(plan: &mut LogicalPlan, at: usize, grouped: bool, keys: &Keys) -> Result<bool> {
    if let Some(Guess { rows, .. }) = chain(plan, false) {
        if !grouped || rows < LEAST || keys.guess.rows.saturating_mul(TIMES) > rows || keys.guess.read > rows {
            return Ok(false);
        }
        *plan = keys.semijoin(plan.clone(), at)?;
        return Ok(true);
    }
    match plan {
        LogicalPlan::Projection(p) => match place(&p.expr[at], p.input.schema()) {
            Some(at) => reduce(Arc::make_mut(&mut p.input), at, grouped, keys),
            None => Ok(false),
        },
        LogicalPlan::Filter(f) => reduce(Arc::make_mut(&mut f.input), at, grouped, keys),
        LogicalPlan::SubqueryAlias(a) => reduce(Arc::make_mut(&mut a.input), at, grouped, keys),
        LogicalPlan::Aggregate(a) => match group(a, at) {
            Some(at) => reduce(Arc::make_mut(&mut a.input), at, true, keys),
            None => Ok(false),
        },
        LogicalPlan::Join(j) if is_cut(j) => Ok(false),
        LogicalPlan::Join(j) => match origin(j, at) {
            Some((Side::Left, at)) if keeps(j.join_type, Side::Left) => reduce(Arc::make_mut(&mut j.left), at, grouped, keys),
            Some((Side::Right, at)) if keeps(j.join_type, Side::Right) => reduce(Arc::make_mut(&mut j.right), at, grouped, keys),
            _ => Ok(false),
        },
        _ => Ok(false),
    }
}

/// Whether a join is one of those that leave rows out.
fn is_cut(j: &Join) -> bool {
    matches!(j.right.as_ref(), LogicalPlan::SubqueryAlias(a) if a.alias.table() == NAME)
}

/// A side of a join.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Left,
    Right,
}

/// The side that a column of a join comes from, and its place there; none is the mark's.
fn origin(j: &Join, at: usize) -> Option<(Side, usize)> {
    let (lefts, rights) = (j.left.schema().fields().len(), j.right.schema().fields().len());
    match j.join_type {
        JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => (at < lefts).then_some((Side::Left, at)),
        JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => (at < rights).then_some((Side::Right, at)),
        JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full if at < lefts => Some((Side::Left, at)),
        JoinType::Inner | JoinType::Left | JoinType::Right | JoinType::Full => Some((Side::Right, at - lefts)),
    }
}

/// Whether what a join makes of a row of a side has that row's columns, and nothing else that it makes depends on the row.
fn keeps(t: JoinType, side: Side) -> bool {
    match t {
        JoinType::Inner => true,
        JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => side == Side::Left,
        JoinType::Right | JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => side == Side::Right,
        JoinType::Full => false,
    }
}

/// The place of a group's key among the columns that are grouped.
fn group(a: &Aggregate, at: usize) -> Option<usize> {
    if a.group_expr.iter().any(|g| matches!(g, Expr::GroupingSet(_))) {
        return None;
    }
    place(a.group_expr.get(at)?, a.input.schema())
}

/// How many rows a plan has, as a guess, if it is one scan with conditions and computed columns.
fn chain(plan: &LogicalPlan, conditions: bool) -> Option<Guess> {
    match plan {
        LogicalPlan::Projection(p) => chain(&p.input, conditions),
        LogicalPlan::SubqueryAlias(a) => chain(&a.input, conditions),
        LogicalPlan::Filter(f) => chain(&f.input, true),
        LogicalPlan::TableScan(t) => guess(t, conditions),
        _ => None,
    }
}

/// How many bytes such a plan has, if all rows meet its conditions.
fn size(plan: &LogicalPlan) -> Option<usize> {
    Some((chain(plan, false)?.read as usize).saturating_mul(width(plan.schema().inner())))
}

/// What is known of a scan.
struct Guess {
    /// How many rows its relation has.
    read: u64,
    /// How many of them meet the statement's conditions.
    rows: u64,
    /// Whether there are any conditions. Those of the scan are there once more above it.
    fewer: bool,
}

fn guess(t: &TableScan, conditions: bool) -> Option<Guess> {
    if t.fetch.is_some() || !t.filters.is_empty() {
        return None;
    }
    let provider = source_as_provider(&t.source).ok()?;
    let any: &dyn std::any::Any = provider.as_ref();
    let r = any.downcast_ref::<Relation>()?;
    let (read, expected) = (r.rows(), r.expected());
    if expected < read || !conditions {
        return Some(Guess { read, rows: expected, fewer: expected < read });
    }
    Some(Guess { read, rows: read.div_ceil(MET), fewer: true })
}

/// The scans that a column of a plan has its values from: each value that is not NULL is there in a row that meets the conditions. These are over the
/// plan's columns at first.
fn sources(plan: &LogicalPlan, at: usize, mut conditions: Vec<Expr>, out: &mut Vec<Keys>) {
    match plan {
        LogicalPlan::Filter(f) => {
            conditions.extend(split_conjunction(&f.predicate).into_iter().cloned());
            sources(&f.input, at, conditions, out);
        }
        LogicalPlan::SubqueryAlias(a) => {
            let columns: Vec<Expr> = a.input.schema().columns().into_iter().map(Expr::Column).collect();
            sources(&a.input, at, beneath(conditions, &a.schema, &columns), out);
        }
        LogicalPlan::Projection(p) => {
            if let Some(at) = place(&p.expr[at], p.input.schema()) {
                sources(&p.input, at, beneath(conditions, &p.schema, &p.expr), out);
            }
        }
        LogicalPlan::Aggregate(a) => {
            if let Some(at) = group(a, at) {
                sources(&a.input, at, Vec::new(), out);
            }
        }
        LogicalPlan::Join(j) => joined(j, at, out),
        LogicalPlan::TableScan(t) => out.extend(Keys::new(t, at, conditions)),
        _ => {}
    }
}

/// Those of a join's column: of the side that it is from, and, where rows of both sides have equal keys, of the other side.
fn joined(j: &Join, at: usize, out: &mut Vec<Keys>) {
    let Some((side, at)) = origin(j, at) else { return };
    let (from, other) = if side == Side::Left { (&j.left, &j.right) } else { (&j.right, &j.left) };
    sources(from, at, Vec::new(), out);
    if !matches!(j.join_type, JoinType::Inner | JoinType::LeftSemi | JoinType::RightSemi) || j.null_equality != NullEquality::NullEqualsNothing {
        return;
    }
    for (l, r) in &j.on {
        let (here, there) = if side == Side::Left { (l, r) } else { (r, l) };
        if place(here, from.schema()) == Some(at)
            && let Some(there) = place(there, other.schema())
        {
            sources(other, there, Vec::new(), out);
        }
    }
}

/// Conditions over a node's columns as conditions over its input, of which it makes the columns.
fn beneath(conditions: Vec<Expr>, schema: &DFSchema, columns: &[Expr]) -> Vec<Expr> {
    let column = |e: Expr| match place(&e, schema) {
        Some(at) if matches!(e, Expr::Column(_)) => Ok(Transformed::yes(columns[at].clone().unalias())),
        _ => Ok(Transformed::no(e)),
    };
    let one = |c: Expr| c.transform_up(column).ok().map(|t| t.data);
    conditions.into_iter().filter_map(one).collect()
}

/// Keys that are in a relation.
struct Keys {
    scan: TableScan,
    key: Column,
    kind: DataType,
    conditions: Vec<Expr>,
    guess: Guess,
}

impl Keys {
    /// Returns the keys at a place of a scan, of rows that meet those of the conditions which cannot fail.
    fn new(t: &TableScan, at: usize, mut conditions: Vec<Expr>) -> Option<Self> {
        let known = |c: &Expr| c.column_refs().into_iter().all(|c| t.projected_schema.has_column(c));
        conditions.retain(|c| known(c) && !raises(c) && !has_subquery(c) && !c.is_volatile());
        let guess = guess(t, !conditions.is_empty())?;
        let (key, kind) = (t.projected_schema.columns().swap_remove(at), t.projected_schema.field(at).data_type().clone());
        Some(Self { scan: t.clone(), key, kind, conditions, guess })
    }

    fn bytes(&self) -> u64 {
        self.guess.rows.saturating_mul(width_of(&self.kind) as u64)
    }

    /// The rows of a plan whose value at a place is one of the keys.
    fn semijoin(&self, rows: LogicalPlan, at: usize) -> Result<LogicalPlan> {
        let t = &self.scan;
        let table = t.source.schema();
        let mut columns = vec![table.index_of(&self.key.name)?];
        for c in self.conditions.iter().flat_map(Expr::column_refs) {
            columns.push(table.index_of(&c.name)?);
        }
        columns.sort_unstable();
        columns.dedup();
        let mut keys = LogicalPlanBuilder::scan(t.table_name.clone(), Arc::clone(&t.source), Some(columns))?;
        if let Some(c) = conjunction(self.conditions.clone()) {
            keys = keys.filter(c)?;
        }
        let keys = keys.project(vec![Expr::Column(self.key.clone())])?.alias(NAME)?.build()?;
        let on = (Expr::Column(rows.schema().columns().swap_remove(at)), Expr::Column(keys.schema().columns().swap_remove(0)));
        let (constraint, nulls) = (JoinConstraint::On, NullEquality::NullEqualsNothing);
        Ok(LogicalPlan::Join(Join::try_new(rows.into(), keys.into(), vec![on], None, JoinType::LeftSemi, constraint, nulls, false)?))
    }
}
