//! Ballista's engine for tasks, inside of what this executor does with each: it ends in time, and fails as a kind of failure.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ballista_core::JobId;
use ballista_core::serde::protobuf::{RuntimeStatsReport, ShuffleWritePartition, TaskColumnStats, WindowStateReport};
use ballista_executor::execution_engine::{ExecutionEngine, QueryStageExecutor};
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::prelude::SessionConfig;
use governed::failure::failure;
use governed::session::Run;
use governed::wire::Class;

use crate::fault::Fault;
use crate::jobs::Jobs;
use crate::stage::Stages;

/// Makes tasks.
pub struct Engine {
    inner: Stages,
    jobs: Arc<Jobs>,
}

impl Engine {
    /// Returns an engine whose tasks end with their jobs.
    pub fn new(inner: Stages, jobs: Arc<Jobs>) -> Self {
        Self { inner, jobs }
    }
}

impl ExecutionEngine for Engine {
    fn create_query_stage_exec(
        &self,
        job_id: JobId,
        stage_id: usize,
        task_id: usize,
        partitions: Vec<usize>,
        plan: Arc<dyn ExecutionPlan>,
        work_dir: &str,
        config: &SessionConfig,
    ) -> Result<Arc<dyn QueryStageExecutor>> {
        let Some(run) = config.options().extensions.get::<Run>().filter(|r| r.deadline > 0) else {
            return Err(failure(Class::Internal, "a task without a deadline"));
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as u64);
        let left = Duration::from_millis(run.deadline.saturating_sub(now));
        let job = job_id.to_string();
        let inner = self.inner.create_query_stage_exec(job_id, stage_id, task_id, partitions, plan, work_dir, config)?;
        Ok(Arc::new(Task { inner, job, deadline: Instant::now() + left, jobs: Arc::clone(&self.jobs) }))
    }
}

struct Task {
    inner: Arc<dyn QueryStageExecutor>,
    job: String,
    deadline: Instant,
    jobs: Arc<Jobs>,
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.inner, f)
    }
}

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.inner, f)
    }
}

#[async_trait::async_trait]
impl QueryStageExecutor for Task {
    async fn execute_query_stage(&self, task_id: usize, context: Arc<TaskContext>) -> Result<Vec<ShuffleWritePartition>> {
        let task = self.inner.execute_query_stage(task_id, context);
        self.jobs.run(&self.job, self.deadline, task).await.map_err(|e| Fault::of(&e).report(e))
    }

    fn collect_plan_metrics(&self) -> Vec<MetricsSet> {
        self.inner.collect_plan_metrics()
    }

    fn collect_runtime_stats_reports(&self) -> Vec<RuntimeStatsReport> {
        self.inner.collect_runtime_stats_reports()
    }

    fn collect_window_state_reports(&self) -> Result<Vec<WindowStateReport>> {
        self.inner.collect_window_state_reports()
    }

    fn collect_column_stats(&self) -> Vec<TaskColumnStats> {
        self.inner.collect_column_stats()
    }
}
