//! A statement of a gateway as a plan.

use std::sync::Arc;

use arrow_flight::{IpcMessage, SchemaAsIpc};
use ballista_core::extension::SessionConfigExt;
use ballista_core::optimizer::ballista_default_optimizer_rules;
use ballista_scheduler::planner::{DefaultDistributedPlanner, DistributedPlanner};
use datafusion::arrow::datatypes::Schema;
use datafusion::arrow::ipc::writer::IpcWriteOptions;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::{SessionConfig, SessionContext};
use governed::payload::Payload;
use governed::policy::Policy;
use governed::relation::Relation;
use governed::session::Run;
use governed::wire;
use governed::{failure, rewrite, session, wall};

use crate::config::Shuffles;
use crate::planner::Planner;
use crate::watch;

/// How large the side of a join may be, in bytes, that goes whole to each task of the other side. Each makes its own table of it: it may be larger where
/// more rows stay where they are for it.
const COPIED: std::ops::RangeInclusive<usize> = 16 << 20..=64 << 20;

/// How many bytes of it are worth it for each row of the largest relation.
const COPIED_A_ROW: usize = 2;

/// Plans a statement in a session of its own, whose id is the statement's: executors compare it with the one in task credentials.
pub async fn plan(s: wire::Statement, shuffles: Shuffles) -> Result<(Arc<SessionContext>, LogicalPlan)> {
    if s.query.is_empty() {
        return Err(DataFusionError::Plan("a statement without id".to_owned()));
    }
    let config = session::configure(SessionConfig::new_with_ballista())
        .with_option_extension(Run { deadline: s.deadline.max(0) as u64, share: share(&s) })
        .with_target_partitions(shuffles.partitions)
        // A plan is made again after each stage, and stages that have run are in it: their joins keep their sides.
        .set_bool("datafusion.optimizer.join_reordering", false)
        .with_ballista_use_tls(true)
        .set_str("ballista.shuffle.compression.codec", shuffles.compression.name())
        .set_usize("ballista.optimizer.broadcast_join_threshold_bytes", shuffles.copied.unwrap_or_else(|| copied(&s.relations)))
        // What is counted, and what is not, is said by sizes of ours.
        .set_usize("ballista.optimizer.stage_build_side_min_probe_ratio", 1)
        .set_usize("ballista.optimizer.stage_build_side_max_estimate_multiple", 1 << 20)
        .set_usize("ballista.scheduler.max_partitions_per_task", 1);
    let state = session::builder(config)
        .with_session_id(s.query)
        .with_optimizer_rules(ballista_default_optimizer_rules())
        .with_query_planner(Arc::new(Planner))
        .build();
    let context = SessionContext::new_with_state(state);
    for r in s.relations {
        let relation = Relation::new(r)?;
        context.register_table(relation.name().to_owned(), Arc::new(relation))?;
    }
    let plan = rewrite::plan(context.state().create_logical_plan(&s.sql).await?)?;
    wall::check(&plan)?;
    Ok((Arc::new(context), plan))
}

/// How large a side of a join may be that is copied.
fn copied(relations: &[wire::Relation]) -> usize {
    let largest = relations.iter().map(|r| r.rows.max(0) as usize).max().unwrap_or_default();
    largest.saturating_mul(COPIED_A_ROW).clamp(*COPIED.start(), *COPIED.end())
}

/// Whose share a statement takes: that of the user for whom its first task group is. Those without tables share one.
pub fn share(s: &wire::Statement) -> String {
    let group = s.relations.iter().flat_map(|r| &r.groups).next();
    group.and_then(|g| Payload::decode(&g.payload).ok()).map(|p| format!("{} {}", p.user_issuer, p.subject)).unwrap_or_default()
}

/// Checks that executors will be able to evaluate the policies of a statement's relations.
pub fn check_policies(s: &wire::Statement) -> Result<()> {
    let state = session::builder(session::configure(SessionConfig::new())).build();
    for g in s.relations.iter().flat_map(|r| &r.groups) {
        let payload = Payload::decode(&g.payload)?;
        let all: Vec<usize> = (0..payload.columns.len()).collect();
        if let Err(e) = Policy::new(&payload, &all, &payload.schema, &state) {
            log::info!("a policy cannot be evaluated: {e}");
            return Err(failure::unsupported("reading one of its tables"));
        }
    }
    Ok(())
}

/// The columns of a statement's result, as an IPC message.
pub fn describe(context: &SessionContext, plan: &LogicalPlan) -> Result<Vec<u8>> {
    let optimised = context.state().optimize(plan)?;
    wall::check_optimised(&optimised)?;
    let schema: Schema = optimised.schema().as_arrow().clone();
    let message: IpcMessage = SchemaAsIpc::new(&schema, &IpcWriteOptions::default()).try_into()?;
    Ok(message.0.to_vec())
}

/// The stages of a statement as they would be if nothing were planned again while it runs.
pub async fn outline(context: &SessionContext, plan: &LogicalPlan) -> Result<Vec<wire::Stage>> {
    let state = context.state();
    wall::check_optimised(&state.optimize(plan)?)?;
    let physical = state.create_physical_plan(plan).await?;
    let stages = DefaultDistributedPlanner::new().plan_query_stages(&"outline".to_owned().into(), physical, state.config_options());
    let stages = stages.map_err(|e| DataFusionError::Plan(e.to_string()))?;
    Ok(stages.iter().map(|s| watch::planned(s.stage_id(), s.input_partition_count(), s.as_ref())).collect())
}

/// An error for the gateway.
pub fn failed(text: &str) -> wire::Failure {
    wire::Failure { class: failure::class_of(text) as i32, hint: failure::hint(text).unwrap_or_default().to_owned(), cause: text.to_owned() }
}
