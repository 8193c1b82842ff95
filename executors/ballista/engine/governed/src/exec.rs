//! The node of a governed relation. Its input's rows are task groups; its own rows are what the user may see.
//!
//! The input is a memory table because Ballista cuts one apart by itself: each task gets the rows of its own partitions. The node says
//! nothing of predicates, orders or columns that an optimiser could use, so no expression of a statement can get below it.

use std::fmt;
use std::sync::Arc;
use std::task::Poll;

use arrow::array::{BinaryArray, RecordBatch, StringArray};
use arrow::datatypes::SchemaRef;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Statistics, internal_err};
use datafusion::error::Result;
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::execution::{SendableRecordBatchStream, SessionState, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::metrics::{BaselineMetrics, Count, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};

use crate::equality::Equality;
use crate::failure::failure;
use crate::guard::{Guard, Place};
use crate::input::Input;
use crate::payload::Payload;
use crate::policy::Policy;
use crate::read;
use crate::stores::Stores;
use crate::wire::Class;

/// What an executor gives its tasks: the guard, and a session to plan policies with.
pub struct Runner {
    /// Checks credentials.
    pub guard: Guard,
    /// Plans the expressions of policies.
    pub state: SessionState,
    /// The object stores that may be called.
    pub stores: Arc<Stores>,
    /// Tells of jobs that end before their tasks do.
    pub ends: Arc<dyn Ends>,
}

/// Knows when jobs end. Ballista 55 lets what it has begun for a task run on when the task ends, so scans look for it themselves.
pub trait Ends: Send + Sync {
    /// Returns when a job has ended.
    fn ended(&self, job: &str) -> BoxFuture<'static, ()>;
}

/// What a node is made of, apart from its input.
#[derive(Debug, Clone)]
pub struct Scan {
    /// The relation's name in the statement.
    pub relation: String,
    /// The shown columns that the statement uses.
    pub projection: Vec<usize>,
    /// The schema of those.
    pub schema: SchemaRef,
    /// An upper bound, for the optimiser.
    pub rows: u64,
}

/// Reads a governed relation.
#[derive(Debug)]
pub struct GovernedExec {
    scan: Scan,
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl GovernedExec {
    /// Returns a node over an input whose rows are task groups.
    pub fn new(scan: Scan, input: Arc<dyn ExecutionPlan>) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(Arc::clone(&scan.schema)),
            Partitioning::UnknownPartitioning(input.properties().partitioning.partition_count()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self { scan, input, properties: Arc::new(properties), metrics: ExecutionPlanMetricsSet::new() }
    }

    /// What the node is made of.
    pub fn scan(&self) -> &Scan {
        &self.scan
    }
}

impl DisplayAs for GovernedExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GovernedExec: relation={}, columns={}", self.scan.relation, self.scan.schema.fields().len())
    }
}

impl ExecutionPlan for GovernedExec {
    fn name(&self) -> &str {
        "GovernedExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn apply_expressions(&self, _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.is_empty()) {
            (Some(input), true) => Ok(Arc::new(Self::new(self.scan.clone(), input))),
            _ => internal_err!("GovernedExec has one input"),
        }
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let Some(runner) = context.session_config().get_extension::<Runner>() else {
            return Err(failure(Class::Internal, "a governed scan outside of an executor"));
        };
        let metrics = BaselineMetrics::new(&self.metrics, partition);
        let task = Task {
            runner,
            scan: self.scan.clone(),
            query: context.session_id(),
            job: job_of(context.task_id().as_deref().unwrap_or_default()).to_owned(),
            batch_rows: context.session_config().batch_size(),
            pool: Arc::clone(context.memory_pool()),
            scanned: MetricBuilder::new(&self.metrics).counter("bytes_scanned", partition),
        };
        let ended = task.runner.ends.ended(&task.job);
        let groups = self.input.execute(partition, context)?;
        let rows = groups.map(move |batch| task.run(&batch?)).try_flatten().inspect_ok(move |b| {
            metrics.record_output(b.num_rows());
        });
        Ok(Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.scan.schema), until(ended, rows.boxed()))))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn statistics_from_inputs(&self, _: &[Arc<Statistics>], args: &StatisticsArgs) -> Result<Arc<Statistics>> {
        let parts = args.partition().map_or(1, |_| self.properties.partitioning.partition_count().max(1));
        let mut s = Statistics::new_unknown(&self.scan.schema);
        s.num_rows = Precision::Inexact(self.scan.rows as usize / parts);
        s.total_byte_size = Precision::Inexact((self.scan.rows as usize).saturating_mul(width(&self.scan.schema)) / parts);
        Ok(Arc::new(s))
    }
}

/// About how many bytes a value takes that has no fixed length.
const TEXT: usize = 24;

/// About how many bytes a value of a type takes.
pub fn width_of(t: &arrow::datatypes::DataType) -> usize {
    t.primitive_width().unwrap_or(TEXT)
}

/// About how many bytes a row takes.
pub fn width(schema: &SchemaRef) -> usize {
    schema.fields().iter().map(|f| width_of(f.data_type())).sum()
}

/// The rows, up to an error when their job ends.
pub fn until(mut ended: BoxFuture<'static, ()>, rows: BoxStream<'static, Result<RecordBatch>>) -> BoxStream<'static, Result<RecordBatch>> {
    let mut rows = Some(rows);
    stream::poll_fn(move |cx| {
        let Some(running) = &mut rows else { return Poll::Ready(None) };
        if ended.poll_unpin(cx).is_ready() {
            rows = None; // and with them what they wait for
            return Poll::Ready(Some(Err(failure(Class::Cancelled, "the job has ended"))));
        }
        running.poll_next_unpin(cx)
    })
    .boxed()
}

/// The job's id in the id of one of its tasks, "TID job/stage.attempt/task.attempt".
fn job_of(task: &str) -> &str {
    let task = task.strip_prefix("TID ").unwrap_or(task);
    task.split_once('/').map_or(task, |(job, _)| job)
}

/// One partition's work.
struct Task {
    runner: Arc<Runner>,
    scan: Scan,
    query: String,
    job: String,
    batch_rows: usize,
    pool: Arc<dyn MemoryPool>,
    scanned: Count,
}

impl Task {
    /// Reads the groups of a batch of the input, after each has shown its credential.
    fn run(&self, groups: &RecordBatch) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        let payloads = groups.column(0).as_any().downcast_ref::<BinaryArray>();
        let tokens = groups.column(1).as_any().downcast_ref::<StringArray>();
        let (Some(payloads), Some(tokens)) = (payloads, tokens) else {
            return Err(failure(Class::Credential, "task groups of another form"));
        };
        let place = Place { query: &self.query, job: &self.job, relation: &self.scan.relation };
        let mut streams = Vec::new();
        for i in 0..groups.num_rows() {
            let payload = self.runner.guard.admit(&place, payloads.value(i), tokens.value(i), &self.runner.stores)?;
            streams.push(self.group(payload)?);
        }
        Ok(stream::iter(streams).flatten().boxed())
    }

    fn group(&self, payload: Payload) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        let schema = Arc::new(payload.schema.project(&self.scan.projection)?);
        if !same(&schema, &self.scan.schema) {
            return Err(failure(Class::Credential, "a task group of other columns"));
        }
        let policy = Policy::new(&payload, &self.scan.projection, &self.scan.schema, &self.runner.state)?;
        let mut needed = Equality::needed(&payload)?;
        needed.extend(policy.needed());
        let (files, ahead) = (payload.files.len(), payload.urls.ahead());
        let group = Arc::new(Group {
            needed: needed.into_iter().collect(),
            policy,
            payload,
            stores: Arc::clone(&self.runner.stores),
            batch_rows: self.batch_rows,
            scanned: self.scanned.clone(),
        });
        let (first, pool) = (Arc::clone(&group), Arc::clone(&self.pool));
        let deletes = async move { Equality::load(&first.payload, &first.stores, &pool, first.batch_rows, &first.scanned).await.map(Arc::new) };
        let rows = stream::once(deletes).map_ok(move |deletes| {
            let group = Arc::clone(&group);
            stream::iter(0..files).map(move |i| Arc::clone(&group).file(i, Arc::clone(&deletes))).buffered(ahead).try_flatten()
        });
        Ok(rows.try_flatten().try_filter(|b| std::future::ready(b.num_rows() > 0)).boxed())
    }
}

/// One payload's work.
struct Group {
    payload: Payload,
    policy: Policy,
    stores: Arc<Stores>,
    /// The columns to read that matter.
    needed: Vec<usize>,
    batch_rows: usize,
    scanned: Count,
}

impl Group {
    /// What the user may see of a file. The policy meets only rows that are not deleted.
    async fn file(self: Arc<Self>, i: usize, deletes: Arc<Equality>) -> Result<BoxStream<'static, Result<RecordBatch>>> {
        let (file, p) = (&self.payload.files[i], &self.payload);
        let source = read::Source { input: Input::open(file, p.urls.file(i), &self.stores).await?, file };
        let rows = read::open(source, &p.read, &self.needed, read::Lacking::Default(&p.defaults), self.batch_rows, &self.scanned).await?;
        Ok(rows.map(move |batch| self.policy.apply(deletes.apply(batch?, &self.payload.files[i].equality)?)).boxed())
    }
}

fn same(a: &SchemaRef, b: &SchemaRef) -> bool {
    a.fields().len() == b.fields().len() && a.fields().iter().zip(b.fields()).all(|(a, b)| a.name() == b.name() && a.data_type() == b.data_type())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_end_with_their_job() {
        let (end, ended) = futures::channel::oneshot::channel::<()>();
        let held = Arc::new(());
        let inside = Arc::clone(&held);
        let rows = stream::poll_fn(move |_| {
            let _ = &inside;
            Poll::Pending
        });
        let mut rows = until(ended.map(|_| ()).boxed(), rows.boxed());
        assert!(rows.next().now_or_never().is_none());
        drop(end);
        assert!(matches!(rows.next().now_or_never(), Some(Some(Err(_)))));
        assert_eq!(Arc::strong_count(&held), 1);
        assert!(matches!(rows.next().now_or_never(), Some(None)));
    }

    #[test]
    fn jobs_of_tasks() {
        assert_eq!(job_of("TID 5f1c-77/3.0/12.1"), "5f1c-77");
        assert_eq!(job_of("other"), "other");
    }
}
