//! Plans that Ballista 55 can make tasks of.
//!
//! Each task of a stage has some partitions of its plan, and all of what is gathered. Two kinds of plans do not go with that. Of a UNION, a part
//! that is gathered would come once for each task. And a join without equality gathers its left side in each task: where it says of a row there
//! that it has no partner, or one, each task would say it for itself.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use async_trait::async_trait;
use ballista_core::extension::SessionConfigExt;
use datafusion::catalog::Session;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{JoinType, internal_err};
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::context::QueryPlanner;
use datafusion::execution::{SessionState, SessionStateBuilder};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_expr::Distribution;
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::joins::{CrossJoinExec, NestedLoopJoinExec};
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion::physical_plan::sorts::sort_preserving_merge::SortPreservingMergeExec;
use datafusion::physical_plan::statistics::{StatisticsArgs, StatisticsContext};
use datafusion::physical_plan::union::UnionExec;
use datafusion::physical_plan::{ExecutionPlan, replace_children_if_necessary};
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner};
use futures::FutureExt;
use governed::exec::GovernedExec;
use governed::failure::{class_of, unsupported};
use governed::planned::RootExec;
use governed::reduce::{self, Bytes};
use governed::whole::WholeExec;
use governed::wire::Class;

use crate::replan::{Replan, ordered};
use crate::{shared, sizes};

/// How many bytes of keys, as far as they are guessed, are worth it to leave rows out by them: each task makes its own table of them.
const KEYS: usize = 8 << 20;

/// DataFusion's planner between two steps of ours: what a join cannot use is left out, and what Ballista cannot make tasks of is made otherwise.
#[derive(Debug)]
pub struct Planner;

#[async_trait]
impl QueryPlanner for Planner {
    async fn create_physical_plan(&self, plan: &LogicalPlan, session: &dyn Session) -> Result<Arc<dyn ExecutionPlan>> {
        let copied = session.config().ballista_broadcast_join_threshold_bytes();
        let plan = reduce::plan(plan.clone(), Bytes { keys: KEYS, counted: copied })?;
        let state = cutting(session, copied)?;
        // A statement whose planning panics would wait for its deadline.
        let planned = AssertUnwindSafe(DefaultPhysicalPlanner::default().create_physical_plan(&plan, &state)).catch_unwind().await;
        let plan = planned.unwrap_or_else(|_| internal_err!("the planner panicked")).map_err(refused)?;
        let plan = plan.transform_up(|node| {
            if node.is::<UnionExec>() {
                return union(node);
            }
            if let Some(join) = node.downcast_ref::<NestedLoopJoinExec>() {
                return Ok(Transformed::yes(pairs(join, &node)?));
            }
            match node.downcast_ref::<CrossJoinExec>() {
                Some(join) if larger(join.left(), join.right())? => Ok(Transformed::yes(join.swap_inputs()?)),
                _ => ordered(node),
            }
        })?;
        let again = Arc::new(Replan { partitions: session.config().target_partitions(), copied });
        Ok(Arc::new(RootExec::new(sizes::place(plan.data, copied)?, again)))
    }
}

/// A session with a rule of ours before all others: after them, joins are of kinds that are Ballista's own.
fn cutting(session: &dyn Session, copied: usize) -> Result<SessionState> {
    let Some(state) = session.as_any().downcast_ref::<SessionState>() else {
        return internal_err!("a session of another kind");
    };
    let mut rules = state.physical_optimizers().to_vec();
    rules.insert(0, Arc::new(shared::Cut { copied }));
    Ok(SessionStateBuilder::new_from_existing(state.clone()).with_physical_optimizer_rules(rules).build())
}

/// The error of a statement that DataFusion does not plan, though it binds: nothing has run. What is said of values stays as it is.
fn refused(e: DataFusionError) -> DataFusionError {
    if class_of(&e.to_string()) != Class::Internal {
        return e;
    }
    log::info!("a statement is not planned: {e}");
    unsupported("its planner does not take the statement")
}

/// Leaves each part of a UNION that is gathered to one of the tasks.
fn union(node: Arc<dyn ExecutionPlan>) -> Result<Transformed<Arc<dyn ExecutionPlan>>> {
    let parts = node.children().into_iter().cloned();
    let parts = parts.map(|p| if gathers(&p) { Arc::new(WholeExec::new(p)) } else { p }).collect();
    Ok(Transformed::yes(replace_children_if_necessary(node, parts)?))
}

/// Has a join without equality say of each row what only one task knows: of the rows on the right, as each is in one task. If it says it of both
/// sides, one task has all of them. Its left side is gathered in any case; that this is said by a node of ours keeps it on the left.
fn pairs(join: &NestedLoopJoinExec, node: &Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let whole = |side: &Arc<dyn ExecutionPlan>| -> Arc<dyn ExecutionPlan> { Arc::new(WholeExec::new(Arc::clone(side))) };
    let (left, right) = (join.left(), join.right());
    match join.join_type() {
        JoinType::Inner if larger(left, right)? => join.swap_inputs(),
        JoinType::Inner => Ok(Arc::clone(node)),
        JoinType::Right | JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark => {
            replace_children_if_necessary(Arc::clone(node), vec![whole(left), Arc::clone(right)])
        }
        JoinType::Left | JoinType::LeftSemi | JoinType::LeftAnti | JoinType::LeftMark => {
            replace_children_if_necessary(Arc::clone(node), vec![Arc::clone(left), whole(right)])?
                .downcast_ref::<NestedLoopJoinExec>()
                .map_or_else(|| Ok(Arc::clone(node)), NestedLoopJoinExec::swap_inputs)
        }
        JoinType::Full => replace_children_if_necessary(Arc::clone(node), vec![whole(left), whole(right)]),
    }
}

/// Whether the left side of a join is planned with more rows than the right one: it is the side that is gathered.
fn larger(left: &Arc<dyn ExecutionPlan>, right: &Arc<dyn ExecutionPlan>) -> Result<bool> {
    let rows = |side: &Arc<dyn ExecutionPlan>| -> Result<Option<usize>> {
        Ok(StatisticsContext::new().compute(side.as_ref(), &StatisticsArgs::new())?.num_rows.get_value().copied())
    };
    Ok(matches!((rows(left)?, rows(right)?), (Some(l), Some(r)) if l > r))
}

/// Whether a plan ends in one task, as far as it is known before it runs. One that ends so without being known is refused when it runs.
fn gathers(plan: &Arc<dyn ExecutionPlan>) -> bool {
    if plan.is::<GovernedExec>() || plan.is::<UnionExec>() {
        return false;
    }
    if plan.is::<PlaceholderRowExec>() || plan.is::<EmptyExec>() || plan.is::<DataSourceExec>() {
        return true;
    }
    if plan.is::<CoalescePartitionsExec>() || plan.is::<SortPreservingMergeExec>() {
        return true;
    }
    let inputs = plan.children();
    if let [input] = inputs[..] {
        let single = plan.input_distribution_requirements().child_distribution(0).is_some_and(|d| matches!(d, Distribution::SinglePartition));
        return single || gathers(input);
    }
    // The smaller side of a join is in each task of the larger one.
    inputs.into_iter().all(gathers)
}
