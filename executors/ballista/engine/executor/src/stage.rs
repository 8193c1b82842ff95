//! How tasks are made of stages: as Ballista does it, beside two things that Ballista 55 does wrong where a stage has a UNION.
//!
//! A task is a stage's plan that was cut down to the partitions that the task has. Below a node that gathers all of its input, such as an
//! aggregate without keys, nothing is cut, so a part of a UNION that ends in one stays in all tasks, and its rows come once for each of
//! them. The scheduler's planner leaves it to one task. Where it does not see it, a task has more partitions than it was given, and is refused
//! here, before its first row.
//!
//! A part that one row without a table stands for is cut to a scan without partitions. It tells of metrics that the stage does not have. Here it
//! becomes a node without metrics again, and another one keeps its own.

use std::fmt;
use std::sync::Arc;

use ballista_core::JobId;
use ballista_core::serde::protobuf::ShuffleWritePartition;
use ballista_executor::execution_engine::{DefaultExecutionEngine, ExecutionEngine, QueryStageExecutor};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::{ExecutionPlan, Partitioning};
use datafusion::prelude::SessionConfig;
use governed::exec::{Ends, GovernedExec};
use governed::failure::failure;
use governed::planned::NothingExec;
use governed::wire::Class;

use crate::ending::with_ends;

/// Makes tasks of stages.
pub struct Stages {
    beneath: DefaultExecutionEngine,
    ends: Arc<dyn Ends>,
}

impl Stages {
    /// Returns an engine over Ballista's.
    pub fn new(beneath: DefaultExecutionEngine, ends: Arc<dyn Ends>) -> Self {
        Self { beneath, ends }
    }
}

impl ExecutionEngine for Stages {
    fn create_query_stage_exec(
        &self,
        job: JobId,
        stage: usize,
        task: usize,
        partitions: Vec<usize>,
        plan: Arc<dyn ExecutionPlan>,
        work: &str,
        config: &SessionConfig,
    ) -> Result<Arc<dyn QueryStageExecutor>> {
        let plan = without_stubs(plan)?;
        let has = plan.children().first().map_or(0, |c| c.properties().partitioning.partition_count());
        if has > partitions.len().max(1) {
            return Ok(Arc::new(Refused));
        }
        let plan = with_ends(plan, job.as_ref(), &self.ends)?;
        self.beneath.create_query_stage_exec(job, stage, task, partitions, plan, work, config)
    }
}

/// Puts a node without metrics where the scheduler left a scan without partitions, and one without rows where it would share out the rows of none: of a
/// part of a UNION that turned out to be empty, which is not cut. Those below nodes of ours are none: their stages have them, too.
fn without_stubs(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let plan = plan.transform_down(|node| {
        if node.is::<GovernedExec>() || node.is::<NothingExec>() {
            return Ok(Transformed::new(node, false, TreeNodeRecursion::Jump));
        }
        if let Some(shared) = node.downcast_ref::<RepartitionExec>()
            && matches!(shared.partitioning(), Partitioning::RoundRobinBatch(_))
            && (shared.input().is::<EmptyExec>() || shared.input().properties().partitioning.partition_count() == 0)
        {
            let parts = shared.input().properties().partitioning.partition_count().min(1);
            let none = MemorySourceConfig::try_new(&vec![Vec::new(); parts], node.schema(), None)?;
            return Ok(Transformed::new(DataSourceExec::from_data_source(none), true, TreeNodeRecursion::Jump));
        }
        match node.downcast_ref::<DataSourceExec>().and_then(|s| s.data_source().downcast_ref::<MemorySourceConfig>()) {
            Some(m) if m.partitions().is_empty() => Ok(Transformed::yes(Arc::new(EmptyExec::new(node.schema()).with_partitions(0)))),
            _ => Ok(Transformed::no(node)),
        }
    })?;
    Ok(plan.data)
}

/// A task that fails.
#[derive(Debug)]
struct Refused;

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Refused")
    }
}

#[async_trait::async_trait]
impl QueryStageExecutor for Refused {
    async fn execute_query_stage(&self, _: usize, _: Arc<TaskContext>) -> Result<Vec<ShuffleWritePartition>> {
        Err(failure(Class::Unsupported, "a UNION in which a part is one row, or cut by LIMIT"))
    }

    fn collect_plan_metrics(&self) -> Vec<MetricsSet> {
        Vec::new()
    }
}
