//! How large the sides of a join are at most, as long as nobody has counted them.
//!
//! Ballista copies a small side to each task of the other one, has a side counted that may be small, or moves the rows of both by their keys. It goes by
//! what DataFusion guesses: that one of five rows meets a condition, and that a join has as many rows as its smaller side. By that it copies what is large,
//! and moves a large table for few rows. Here a side has no fewer rows than can be expected at most: all that a table has, and as many as the larger side
//! of a join. What is small then is copied. Of what is not, a side of which conditions, joins or groups may have left little is counted before one of
//! which all rows are there.

use std::fmt;
use std::sync::Arc;

use datafusion::common::internal_err;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{JoinType, Statistics};
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::aggregates::AggregateExec;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{CrossJoinExec, HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs, StatisticsContext};
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, replace_children_if_necessary};
use governed::exec::{GovernedExec, width};
use governed::planned::SharedExec;

use crate::replan::{Exchange, undecided};

/// How large a side may be at most that is copied without being counted; half of one that is counted, if that is more.
const UNCOUNTED: usize = 16 << 20;

/// Puts the sides of joins that are to be decided under sizes of ours, and takes these away from what is decided. A side that is counted, or will be,
/// has none.
pub fn place(plan: Arc<dyn ExecutionPlan>, copied: usize) -> Result<Arc<dyn ExecutionPlan>> {
    let plan = plan.transform_up(|node| {
        // An anti join for NOT IN, which looks as any other does here, is refused where the side that it gathers is said to be large.
        let decides = undecided(&node).is_some_and(|kind| kind != "LeftAnti");
        let (mut inputs, mut changed) = (Vec::new(), false);
        for input in node.children() {
            let side: Option<Arc<dyn ExecutionPlan>> = match input.downcast_ref::<SizedExec>() {
                Some(sized) if !decides || Exchange::is(&sized.input) => Some(Arc::clone(&sized.input)),
                None if decides && !Exchange::is(input) && !input.is::<EmptyExec>() => Some(Arc::new(SizedExec { input: Arc::clone(input), copied })),
                _ => None,
            };
            changed |= side.is_some();
            inputs.push(side.unwrap_or_else(|| Arc::clone(input)));
        }
        Ok(if changed { Transformed::yes(replace_children_if_necessary(node, inputs)?) } else { Transformed::no(node) })
    })?;
    Ok(plan.data)
}

/// One side of a join. It is no part of a plan that runs.
#[derive(Debug)]
struct SizedExec {
    input: Arc<dyn ExecutionPlan>,
    copied: usize,
}

impl SizedExec {
    /// What Ballista is told: of sides that are not copied as they are, those come first that have to be counted.
    fn bytes(&self, most: Most) -> usize {
        if self.input.is::<SharedExec>() {
            return self.copied; // whatever it has, it is read twice from its stage
        }
        let bytes = most.bytes(&self.input);
        let uncounted = self.copied.min(UNCOUNTED.max(self.copied / 2));
        match most.fewer {
            _ if bytes < uncounted => bytes.max(1),
            true => self.copied.saturating_add(bytes >> 20),
            false => bytes.saturating_mul(64).max(self.copied.saturating_mul(64)),
        }
    }
}

impl DisplayAs for SizedExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SizedExec")
    }
}

impl ExecutionPlan for SizedExec {
    fn name(&self) -> &str {
        "SizedExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn apply_expressions(&self, _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.is_empty()) {
            (Some(input), true) if input.is::<EmptyExec>() => Ok(input), // for who looks for joins with nothing
            (Some(input), true) => Ok(Arc::new(Self { input, copied: self.copied })),
            _ => internal_err!("SizedExec has one input"),
        }
    }

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        internal_err!("SizedExec in a task")
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(&self, _: &[Arc<Statistics>], _: &StatisticsArgs) -> Result<Arc<Statistics>> {
        // Stages beneath may have ended since this was made.
        let most = most(&self.input);
        let mut s = Statistics::new_unknown(&self.input.schema());
        s.num_rows = most.rows.map_or(Precision::Absent, Precision::Inexact);
        s.total_byte_size = Precision::Inexact(self.bytes(most));
        Ok(Arc::new(s))
    }
}

/// How many rows a plan has at most, as far as that is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Most {
    rows: Option<usize>,
    /// Whether there may be far fewer.
    pub fewer: bool,
}

impl Most {
    /// About how many bytes they take.
    pub fn bytes(self, plan: &Arc<dyn ExecutionPlan>) -> usize {
        self.rows.map_or(usize::MAX, |rows| rows.saturating_mul(width(&plan.schema())))
    }
}

/// How many rows a plan has at most. Of joins it is that of keys which do not repeat on both sides.
pub fn most(plan: &Arc<dyn ExecutionPlan>) -> Most {
    if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        return joined(*join.join_type(), most(join.left()), most(join.right()));
    }
    if let Some(join) = plan.downcast_ref::<SortMergeJoinExec>() {
        return joined(join.join_type(), most(join.left()), most(join.right()));
    }
    let leaf = plan.is::<GovernedExec>() || Exchange::is(plan);
    let inputs: Vec<Most> = if leaf { Vec::new() } else { plan.children().into_iter().map(most).collect() };
    let both = |f: fn(usize, usize) -> usize| inputs.iter().map(|m| m.rows).reduce(|a, b| Some(f(a?, b?))).flatten();
    if plan.is::<CrossJoinExec>() || plan.is::<NestedLoopJoinExec>() {
        return Most { rows: both(usize::saturating_mul), fewer: true };
    }
    if plan.is::<UnionExec>() {
        return Most { rows: both(usize::saturating_add), fewer: inputs.iter().any(|m| m.fewer) };
    }
    match inputs[..] {
        [_] if plan.downcast_ref::<AggregateExec>().is_some_and(|a| a.group_expr().is_empty()) => {
            Most { rows: Some(plan.properties().partitioning.partition_count()), fewer: false }
        }
        [input] => {
            let fewer = input.fewer || plan.is::<FilterExec>() || plan.is::<AggregateExec>();
            let rows = match plan.fetch() {
                Some(n) => Some(input.rows.map_or(n, |rows| rows.min(n))),
                None => input.rows,
            };
            Most { rows, fewer }
        }
        _ => {
            let known = StatisticsContext::new().compute(plan.as_ref(), &StatisticsArgs::new());
            Most { rows: known.ok().and_then(|s| s.num_rows.get_value().copied()), fewer: false }
        }
    }
}

/// That of a join of two sides.
fn joined(t: JoinType, left: Most, right: Most) -> Most {
    let larger = left.rows.zip(right.rows).map(|(l, r)| l.max(r));
    match t {
        JoinType::LeftSemi | JoinType::LeftAnti => Most { rows: left.rows, fewer: true },
        JoinType::RightSemi | JoinType::RightAnti => Most { rows: right.rows, fewer: true },
        JoinType::LeftMark => left,
        JoinType::RightMark => right,
        JoinType::Left => Most { rows: larger, fewer: left.fewer },
        JoinType::Right => Most { rows: larger, fewer: right.fewer },
        JoinType::Inner => Most { rows: larger, fewer: left.fewer || right.fewer },
        JoinType::Full => Most { rows: larger, fewer: left.fewer && right.fewer },
    }
}

#[cfg(test)]
mod tests {
    use datafusion::common::NullEquality;
    use datafusion::physical_plan::displayable;
    use datafusion::physical_plan::limit::LocalLimitExec;

    use super::*;
    use crate::fakes::{scan, schema, some, stage, undecided};

    const COPIED: usize = 1 << 20;

    fn join(left: Arc<dyn ExecutionPlan>, right: Arc<dyn ExecutionPlan>, kind: JoinType) -> Arc<dyn ExecutionPlan> {
        crate::fakes::join(left, right, kind, NullEquality::NullEqualsNothing)
    }

    #[test]
    fn most_rows() {
        for (plan, rows, fewer) in [
            (scan(100), 100, false),
            (some(scan(100)), 100, true),
            (stage(scan(100), "plan_id=1"), 100, false),
            (Arc::new(LocalLimitExec::new(some(scan(100)), 7)) as Arc<dyn ExecutionPlan>, 7, true),
            (UnionExec::try_new(vec![scan(100), some(scan(7))]).expect("a union"), 107, true),
            (Arc::new(CrossJoinExec::new(scan(100), scan(7))), 700, true),
            (join(scan(100), scan(7), JoinType::Inner), 100, false),
            (join(some(scan(7)), scan(100), JoinType::Inner), 100, true),
            (join(scan(7), scan(100), JoinType::LeftSemi), 7, true),
            (join(scan(7), scan(100), JoinType::RightAnti), 100, true),
            (join(scan(7), some(scan(100)), JoinType::Left), 100, false),
            (join(some(scan(100)), scan(7), JoinType::Right), 100, false),
            (join(scan(7), some(scan(100)), JoinType::Full), 100, false),
            (join(some(scan(7)), scan(100), JoinType::LeftMark), 7, true),
        ] {
            assert_eq!(most(&plan), Most { rows: Some(rows), fewer }, "{}", displayable(plan.as_ref()).indent(false));
        }
    }

    /// What Ballista is told of the sides of a join, of which some are copied.
    fn told_of(copied: usize, left: Arc<dyn ExecutionPlan>, right: Arc<dyn ExecutionPlan>, kind: &str) -> Vec<Precision<usize>> {
        let plan = place(undecided(left, right, kind), copied).expect("a plan");
        let stats = |side: &Arc<dyn ExecutionPlan>| StatisticsContext::new().compute(side.as_ref(), &StatisticsArgs::new()).expect("statistics");
        plan.children().into_iter().map(|side| stats(side).total_byte_size).collect()
    }

    fn told(left: Arc<dyn ExecutionPlan>, right: Arc<dyn ExecutionPlan>, kind: &str) -> Vec<Precision<usize>> {
        told_of(COPIED, left, right, kind)
    }

    #[test]
    fn sides_in_their_order() {
        let large = 1 << 30;
        let [few, all] = told(some(scan(large)), scan(large / 2), "Inner")[..] else { panic!("two sides") };
        assert!(few.get_value() >= Some(&COPIED) && few.get_value() < all.get_value(), "conditions may leave little: {few:?}, {all:?}");
        let [smaller, larger] = told(some(scan(large / 2)), some(scan(large)), "Inner")[..] else { panic!("two sides") };
        assert!(smaller.get_value() < larger.get_value(), "{smaller:?}, {larger:?}");
        let shared = Arc::new(SharedExec::new(some(scan(large)), 0));
        let [cut, by] = told(some(scan(large)), shared, "LeftSemi")[..] else { panic!("two sides") };
        assert!(by == Precision::Inexact(COPIED) && by.get_value() < cut.get_value(), "{by:?}, {cut:?}");
        assert_eq!(told(scan(100), some(scan(50)), "Inner"), [Precision::Inexact(800), Precision::Inexact(400)], "small as they are");
        let half = (2 * UNCOUNTED / 8) as u64; // of what is copied
        let [all, few] = told_of(4 * UNCOUNTED, scan(half), some(scan(half)), "Inner")[..] else { panic!("two sides") };
        assert!(
            few.get_value() >= Some(&(4 * UNCOUNTED)) && few.get_value() < all.get_value(),
            "not copied before they are counted: {few:?}, {all:?}"
        );
        let sizes = told_of(4 * UNCOUNTED, scan(half - 1), some(scan(half - 1)), "Inner");
        assert!(sizes.iter().all(|s| s.get_value() < Some(&(4 * UNCOUNTED))), "{sizes:?}");
        assert_eq!(told(scan(0), scan(1), "Inner"), [Precision::Inexact(1), Precision::Inexact(8)], "Ballista takes 0 for unknown");
    }

    #[test]
    fn sizes_are_where_a_join_is_to_be_decided() {
        let sized = |plan: &Arc<dyn ExecutionPlan>| plan.children().into_iter().map(|side| side.is::<SizedExec>()).collect::<Vec<_>>();
        let counted = stage(scan(1), "plan_id=3, stage_id=1, stage_resolved=true");
        let plan = place(undecided(scan(1), Arc::clone(&counted), "Inner"), COPIED).expect("a plan");
        assert_eq!(sized(&plan), [true, false]);
        assert_eq!(sized(&place(undecided(scan(1), counted, "LeftAnti"), COPIED).expect("a plan")), [false, false], "NOT IN would be refused");
        let side = Arc::clone(plan.children()[0]);
        let decided = place(join(Arc::clone(&side), stage(side, "plan_id=3"), JoinType::Inner), COPIED).expect("a plan");
        assert_eq!(sized(&decided), [false, false]);
        assert!(!decided.children()[1].children()[0].is::<SizedExec>(), "nor beneath a stage");
        let nothing: Arc<dyn ExecutionPlan> = Arc::new(EmptyExec::new(schema()));
        let emptied = replace_children_if_necessary(Arc::clone(plan.children()[0]), vec![Arc::clone(&nothing)]).expect("a plan");
        assert!(emptied.is::<EmptyExec>(), "nothing is seen to be nothing");
        assert_eq!(sized(&place(undecided(nothing, scan(1), "Full"), COPIED).expect("a plan")), [false, true]);
    }
}
