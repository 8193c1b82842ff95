//! Rows that a join cannot use are left out before they are moved, by the rows of its other side once these are counted.
//!
//! `A LEFT SEMI B` moves the rows of both to where their keys are, of a large `B` most of them for nothing. It becomes `A LEFT SEMI (B LEFT SEMI A)`, and
//! other joins that show rows of `A` alone do so, too: the stage that shares out the rows of `A` by their keys is run first. If they are few, they go whole
//! to each task that reads `B` as well, and what of `B` has no equal key is not moved. If they are not, `B` is moved whole. A row of `B` without an equal
//! key in `A` is no partner of any row of `A`, and nothing else is asked of rows of `B`: see `governed::reduce`, which does the same by keys of a table that
//! are surely few.
//!
//! That stage is in the plan twice, as one: Ballista looks for the stages of a plan by their numbers.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{JoinType, NullEquality, internal_err};
use datafusion::config::ConfigOptions;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{HashJoinExec, HashJoinExecBuilder, JoinOnRef, PartitionMode, SortMergeJoinExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, replace_children_if_necessary};
use governed::exec::GovernedExec;
use governed::planned::SharedExec;

use crate::replan::{Exchange, undecided};
use crate::sizes::most;

/// How many times larger the side that is cut has to be than what goes to each of its tasks.
const TIMES: usize = 4;

/// Cuts sides of a plan's joins.
#[derive(Debug)]
pub struct Cut {
    /// How many bytes a side may have that is left as it is.
    pub copied: usize,
}

impl PhysicalOptimizerRule for Cut {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let mut id = 0;
        let plan = plan.transform_up(|node| {
            let Some(changed) = Sides::of(&node).map(|s| s.cut(id, self.copied)).transpose()?.flatten() else {
                return Ok(Transformed::no(node));
            };
            id += 1;
            Ok(Transformed::yes(replace_children_if_necessary(node, changed)?))
        })?;
        Ok(plan.data)
    }

    fn name(&self) -> &str {
        "Cut"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// The sides of a join of which one shows no rows: `a` is kept, and `b` may be cut.
struct Sides<'a> {
    a: &'a Arc<dyn ExecutionPlan>,
    b: &'a Arc<dyn ExecutionPlan>,
    a_is_left: bool,
    on: JoinOnRef<'a>,
}

impl<'a> Sides<'a> {
    fn of(node: &'a Arc<dyn ExecutionPlan>) -> Option<Self> {
        let (kind, on, nulls) = if let Some(j) = node.downcast_ref::<HashJoinExec>() {
            (*j.join_type(), j.on(), if j.null_aware { NullEquality::NullEqualsNull } else { j.null_equality() })
        } else {
            let j = node.downcast_ref::<SortMergeJoinExec>()?;
            (j.join_type(), j.on(), j.null_equality())
        };
        let a_is_left = match kind {
            JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => true,
            JoinType::Right | JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => false,
            JoinType::Inner | JoinType::Full => return None,
        };
        let [left, right] = node.children()[..] else { return None };
        let (a, b) = if a_is_left { (left, right) } else { (right, left) };
        let columns = on.iter().all(|(l, r)| l.is::<Column>() && r.is::<Column>());
        (columns && nulls == NullEquality::NullEqualsNothing).then_some(Self { a, b, a_is_left, on })
    }

    /// The sides with one of them cut by the other, if it is worth it to count that.
    fn cut(&self, id: usize, copied: usize) -> Result<Option<Vec<Arc<dyn ExecutionPlan>>>> {
        if !most(self.a).fewer || !scan(self.b) || most(self.b).bytes(self.b) < copied {
            return Ok(None);
        }
        let on = self.on.iter().map(|(l, r)| if self.a_is_left { (Arc::clone(r), Arc::clone(l)) } else { (Arc::clone(l), Arc::clone(r)) });
        let shared = Arc::new(SharedExec::new(Arc::clone(self.a), id));
        let cut = HashJoinExecBuilder::new(Arc::clone(self.b), shared, on.collect(), JoinType::LeftSemi);
        let cut: Arc<dyn ExecutionPlan> = Arc::new(cut.with_partition_mode(PartitionMode::Partitioned).build()?);
        let place: Arc<dyn ExecutionPlan> = Arc::new(PlaceExec { id, properties: Arc::clone(self.a.properties()) });
        Ok(Some(if self.a_is_left { vec![place, cut] } else { vec![cut, place] }))
    }
}

/// Whether a plan is one scan with conditions and computed columns.
fn scan(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.is::<GovernedExec>() || (plan.is::<FilterExec>() || plan.is::<ProjectionExec>()) && plan.children().into_iter().all(scan)
}

/// Has a stage read in both places once it is in a plan, and gives up cuts by stages that have turned out not to be small.
pub fn settle(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let mut stages = HashMap::new();
    plan.apply(|node| {
        if let Some(id) = by_keys(node) {
            stages.entry(id).or_insert_with(|| Arc::clone(node));
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    let plan = plan.transform_up(|node| {
        // Who changes a plan changes both of them, each in its own way: a stage beneath one would be another stage beneath the other.
        let id = node.downcast_ref::<PlaceExec>().map(|p| p.id).or_else(|| by_keys(&node));
        if let Some(stage) = id.and_then(|id| stages.get(&id)) {
            return Ok(Transformed::new(Arc::clone(stage), !Arc::ptr_eq(stage, &node), TreeNodeRecursion::Continue));
        }
        Ok(match too_large(&node)? {
            Some(whole) if whole.schema() == node.schema() => Transformed::yes(whole),
            _ => Transformed::no(node),
        })
    })?;
    Ok(plan.data)
}

/// The number of what is read twice, if a node is the end of its stage as the join by keys reads it.
fn by_keys(node: &Arc<dyn ExecutionPlan>) -> Option<usize> {
    shared(node).filter(|_| Exchange::of(node).is_some_and(|e| !e.broadcast))
}

/// The number of what a stage has, if that is read twice.
fn shared(node: &Arc<dyn ExecutionPlan>) -> Option<usize> {
    let inputs = if Exchange::is(node) { node.children() } else { Vec::new() };
    inputs.first().and_then(|input| input.downcast_ref::<SharedExec>()).map(SharedExec::id)
}

/// What a cut is of, if it is by more rows than are worth it: Ballista has one side go whole to each task of the other, or moves both by their keys, which
/// the join that is cut for does without, as it has the same keys.
fn too_large(node: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(join) = node.downcast_ref::<HashJoinExec>() {
        let gathers = *join.partition_mode() == PartitionMode::CollectLeft && *join.join_type() == JoinType::RightSemi;
        if !gathers || shared(join.left()).is_none() {
            return Ok(None);
        }
        let counted = StatisticsContext::new().compute(join.left().as_ref(), &StatisticsArgs::new())?;
        let bytes = counted.total_byte_size.get_value().copied().unwrap_or_default();
        let worth = bytes.saturating_mul(TIMES) <= most(join.right()).bytes(join.right());
        return Ok((!worth).then(|| Arc::clone(join.right())));
    }
    let inputs = node.children();
    let [b, a] = inputs[..] else { return Ok(None) };
    if undecided(node).as_deref() != Some("LeftSemi") || !Exchange::is(b) || shared(a).is_none() {
        return Ok(None);
    }
    Ok(Some(Arc::clone(b)))
}

/// Where a stage is read once more, as long as it is not in the plan.
#[derive(Debug)]
struct PlaceExec {
    id: usize,
    properties: Arc<PlanProperties>,
}

impl DisplayAs for PlaceExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PlaceExec")
    }
}

impl ExecutionPlan for PlaceExec {
    fn name(&self) -> &str {
        "PlaceExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(&self, _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        if children.is_empty() { Ok(self) } else { internal_err!("PlaceExec has no input") }
    }

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        internal_err!("PlaceExec in a task")
    }
}

#[cfg(test)]
mod tests {
    use datafusion::physical_plan::displayable;

    use super::*;
    use crate::fakes::{join, on, scan, stage, undecided};

    const COPIED: usize = 1 << 20;
    const RAN: &str = "plan_id=3, stage_id=1, stage_resolved=true";

    fn some(rows: u64) -> Arc<dyn ExecutionPlan> {
        crate::fakes::some(scan(rows))
    }

    fn words(plan: &Arc<dyn ExecutionPlan>) -> String {
        let nodes = displayable(plan.as_ref()).indent(false).to_string();
        nodes.lines().map(|l| l.trim().split([':', ',']).next().unwrap_or_default().trim_end_matches("Exec").to_owned()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_is_cut() {
        let rule = Cut { copied: COPIED };
        let cut = |plan| words(&rule.optimize(plan, &ConfigOptions::new()).expect("a plan"));
        let nothing = NullEquality::NullEqualsNothing;
        let right = "HashJoin Place HashJoin Governed PlaceholderRow Shared Filter Governed PlaceholderRow";
        for kind in [JoinType::Left, JoinType::LeftSemi, JoinType::LeftAnti, JoinType::LeftMark] {
            assert_eq!(cut(join(some(100), scan(1 << 20), kind, nothing)), right, "{kind}");
        }
        let left = "HashJoin HashJoin Governed PlaceholderRow Shared Filter Governed PlaceholderRow Place";
        for kind in [JoinType::Right, JoinType::RightSemi, JoinType::RightAnti, JoinType::RightMark] {
            assert_eq!(cut(join(scan(1 << 20), some(100), kind, nothing)), left, "{kind}");
        }
        let sorted = SortMergeJoinExec::try_new(some(100), scan(1 << 20), on(), None, JoinType::LeftSemi, vec![Default::default()], nothing);
        assert_eq!(cut(Arc::new(sorted.expect("a join"))), right.replacen("HashJoin", "SortMergeJoin", 1));
        for (why, plan) in [
            ("rows of both are shown", join(some(100), scan(1 << 20), JoinType::Inner, nothing)),
            ("rows without a partner are shown", join(some(100), scan(1 << 20), JoinType::Full, nothing)),
            ("those on the other side are shown", join(scan(1 << 20), some(100), JoinType::Left, nothing)),
            ("NULL equals NULL", join(some(100), scan(1 << 20), JoinType::LeftSemi, NullEquality::NullEqualsNull)),
            ("no condition", join(scan(100), scan(1 << 20), JoinType::LeftSemi, nothing)),
            ("a side that may be copied", join(some(100), scan(100), JoinType::LeftSemi, nothing)),
            ("no scan", join(some(100), stage(scan(1 << 20), RAN), JoinType::LeftSemi, nothing)),
        ] {
            let was = words(&plan);
            assert_eq!(cut(plan), was, "{why}");
        }
        let not_in = HashJoinExecBuilder::new(some(100), scan(1 << 20), on(), JoinType::LeftAnti).with_partition_mode(PartitionMode::CollectLeft);
        let not_in: Arc<dyn ExecutionPlan> = Arc::new(not_in.with_null_aware(true).build().expect("a join"));
        let was = words(&not_in);
        assert_eq!(cut(not_in), was);
    }

    /// The stage of the rows that are counted, with so many.
    fn counted(rows: u64, state: &str) -> Arc<dyn ExecutionPlan> {
        stage(Arc::new(SharedExec::new(scan(rows), 7)), state)
    }

    fn place(id: usize) -> Arc<dyn ExecutionPlan> {
        Arc::new(PlaceExec { id, properties: Arc::clone(scan(1).properties()) })
    }

    #[test]
    fn one_stage_in_two_places() {
        let waits = "plan_id=3, stage_id=pending, stage_resolved=false";
        let plan = |id| undecided(place(id), undecided(scan(1 << 20), counted(100, waits), "LeftSemi"), "LeftAnti");
        let settled = settle(plan(7)).expect("a plan");
        let inner = Arc::clone(settled.children()[1]);
        assert!(Arc::ptr_eq(settled.children()[0], inner.children()[1]));
        assert!(settle(plan(8)).expect("a plan").children()[0].is::<PlaceExec>(), "another's");
        let changed = undecided(counted(100, waits), undecided(scan(1 << 20), counted(100, waits), "LeftSemi"), "LeftAnti");
        let settled = settle(changed).expect("a plan");
        assert!(Arc::ptr_eq(settled.children()[0], settled.children()[1].children()[1]), "made anew in each place");
        let whole = undecided(counted(100, RAN), undecided(scan(1 << 20), counted(100, &format!("{RAN}, broadcast=true")), "LeftSemi"), "LeftAnti");
        let settled = settle(whole).expect("a plan");
        assert!(!Arc::ptr_eq(settled.children()[0], settled.children()[1].children()[1]), "one goes whole to each task");
    }

    #[test]
    fn cuts_that_are_given_up() {
        let gathered = |a, b, kind| -> Arc<dyn ExecutionPlan> {
            let join = HashJoinExecBuilder::new(a, b, on(), kind).with_partition_mode(PartitionMode::CollectLeft);
            Arc::new(join.build().expect("a join"))
        };
        let scanned = "Governed PlaceholderRow";
        let stays = |plan: Arc<dyn ExecutionPlan>, why: &str| {
            let was = words(&plan);
            assert_eq!(words(&settle(plan).expect("a plan")), was, "{why}");
        };
        stays(gathered(counted(1000, RAN), scan(4000), JoinType::RightSemi), "few rows");
        assert_eq!(words(&settle(gathered(counted(1001, RAN), scan(4000), JoinType::RightSemi)).expect("a plan")), scanned, "not few");
        let moved = undecided(stage(scan(4000), "plan_id=4"), counted(9, RAN), "LeftSemi");
        assert_eq!(words(&settle(moved).expect("a plan")), format!("Exchange {scanned}"), "too many to be copied");
        // Joins of the statement.
        stays(gathered(stage(scan(1001), RAN), scan(4000), JoinType::RightSemi), "of other rows");
        stays(gathered(counted(1001, RAN), scan(4000), JoinType::Right), "one that shows rows");
        stays(join(counted(1001, RAN), scan(4000), JoinType::RightSemi, NullEquality::NullEqualsNothing), "one by keys");
        stays(undecided(counted(9, RAN), stage(scan(4000), "plan_id=4"), "LeftSemi"), "the join that is cut for");
        stays(undecided(stage(scan(4000), "plan_id=4"), counted(9, RAN), "RightSemi"), "the same from the other side");
        stays(undecided(scan(4000), counted(9, RAN), "LeftSemi"), "one that is not decided");
    }
}
