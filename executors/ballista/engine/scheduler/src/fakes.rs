//! Nodes in the words of Ballista's, which keeps the types to itself, and scans of so many rows.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{JoinType, NullEquality, internal_err};
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::{col, lit};
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::{HashJoinExecBuilder, JoinOn, PartitionMode};
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, Statistics};
use governed::exec::{GovernedExec, Scan};

/// The columns of all of them: a key of eight bytes.
pub fn schema() -> Arc<Schema> {
    Arc::new(Schema::new(vec![Field::new("k", DataType::Int64, true)]))
}

/// A scan of a relation with so many rows.
pub fn scan(rows: u64) -> Arc<dyn ExecutionPlan> {
    let scan = Scan { relation: "r".to_owned(), projection: vec![0], schema: schema(), rows };
    Arc::new(GovernedExec::new(scan, Arc::new(PlaceholderRowExec::new(schema()))))
}

/// Some of the rows of a plan.
pub fn some(plan: Arc<dyn ExecutionPlan>) -> Arc<dyn ExecutionPlan> {
    Arc::new(FilterExec::try_new(lit(true), plan).expect("a filter"))
}

/// What two sides are joined by.
pub fn on() -> JoinOn {
    let k = || col("k", &schema()).expect("a column");
    vec![(k(), k())]
}

/// A join of which is decided that both sides are moved.
pub fn join(left: Arc<dyn ExecutionPlan>, right: Arc<dyn ExecutionPlan>, kind: JoinType, nulls: NullEquality) -> Arc<dyn ExecutionPlan> {
    let join = HashJoinExecBuilder::new(left, right, on(), kind).with_partition_mode(PartitionMode::Partitioned);
    Arc::new(join.with_null_equality(nulls).build().expect("a join"))
}

/// The end of a stage. It has as many rows as its input.
pub fn stage(input: Arc<dyn ExecutionPlan>, words: &str) -> Arc<dyn ExecutionPlan> {
    let words = format!("ExchangeExec: partitioning=Hash([a, plan_id=9, stage_id=9, b@0], 4), {words}");
    Arc::new(Fake { name: "ExchangeExec", words, inputs: vec![input] })
}

/// A join of which is not decided how it runs.
pub fn undecided(left: Arc<dyn ExecutionPlan>, right: Arc<dyn ExecutionPlan>, kind: &str) -> Arc<dyn ExecutionPlan> {
    let words = format!("DynamicJoinSelectionExec: plan_id=1, join_type={kind}, on=[(k@0, k@0)] repartitioned=false");
    Arc::new(Fake { name: "DynamicJoinSelectionExec", words, inputs: vec![left, right] })
}

#[derive(Debug)]
struct Fake {
    name: &'static str,
    words: String,
    inputs: Vec<Arc<dyn ExecutionPlan>>,
}

impl DisplayAs for Fake {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl ExecutionPlan for Fake {
    fn name(&self) -> &str {
        self.name
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.inputs[0].properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        self.inputs.iter().collect()
    }

    fn apply_expressions(&self, _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, inputs: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(Arc::new(Self { name: self.name, words: self.words.clone(), inputs }))
    }

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        internal_err!("no task")
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        self.inputs.iter().map(|_| ChildStats::At(partition)).collect()
    }

    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], _: &StatisticsArgs) -> Result<Arc<Statistics>> {
        Ok(Arc::clone(&inputs[0]))
    }
}
