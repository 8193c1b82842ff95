//! Nodes that a plan has because it is planned again and again.
//!
//! Ballista plans a statement again after each of its stages, with rules that no other rule can be added to. Who changes a plan somewhere asks each
//! node above for one over the new input, up to the root. So a root of ours sees all that any rule does, and has the last word.

use std::fmt;
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::internal_err;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, Statistics};

/// What becomes of a plan that is planned again.
pub trait Again: fmt::Debug + Send + Sync {
    /// Returns the plan to go on with: what a plan was, and what somebody made of it.
    fn again(&self, was: &Arc<dyn ExecutionPlan>, is: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>>;
}

/// The root of a statement's plan. It has the rows, partitions and order of its input, which is all that executors get of it.
#[derive(Debug)]
pub struct RootExec {
    input: Arc<dyn ExecutionPlan>,
    again: Arc<dyn Again>,
}

impl RootExec {
    /// Returns a root over a plan.
    pub fn new(input: Arc<dyn ExecutionPlan>, again: Arc<dyn Again>) -> Self {
        Self { input, again }
    }
}

impl DisplayAs for RootExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RootExec")
    }
}

impl ExecutionPlan for RootExec {
    fn name(&self) -> &str {
        "RootExec"
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
            (Some(input), true) => Ok(Arc::new(Self::new(self.again.again(&self.input, input)?, Arc::clone(&self.again)))),
            _ => internal_err!("RootExec has one input"),
        }
    }

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        internal_err!("RootExec in a task")
    }
}

/// A plan whose rows are read in two places, under a number of its own. Executors get what it is over.
#[derive(Debug)]
pub struct SharedExec {
    input: Arc<dyn ExecutionPlan>,
    id: usize,
}

impl SharedExec {
    /// Returns a node over a plan.
    pub fn new(input: Arc<dyn ExecutionPlan>, id: usize) -> Self {
        Self { input, id }
    }

    /// Its number.
    pub fn id(&self) -> usize {
        self.id
    }
}

impl DisplayAs for SharedExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedExec")
    }
}

impl ExecutionPlan for SharedExec {
    fn name(&self) -> &str {
        "SharedExec"
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
            (Some(input), true) => Ok(Arc::new(Self::new(input, self.id))),
            _ => internal_err!("SharedExec has one input"),
        }
    }

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        internal_err!("SharedExec in a task")
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], _: &StatisticsArgs) -> Result<Arc<Statistics>> {
        match inputs {
            [input] => Ok(Arc::clone(input)),
            _ => internal_err!("SharedExec has one input"),
        }
    }
}

/// No rows, shared out by keys: an input without rows of a node that wants its rows so.
#[derive(Debug)]
pub struct NothingExec {
    place: Arc<dyn ExecutionPlan>,
    keys: Vec<Arc<dyn PhysicalExpr>>,
    properties: Arc<PlanProperties>,
}

impl NothingExec {
    /// Returns a node with columns and partitions. Its input is a scan of no rows, which is cut down to the partitions of a task as any other.
    pub fn new(schema: SchemaRef, keys: Vec<Arc<dyn PhysicalExpr>>, partitions: usize) -> Result<Self> {
        let rows = MemorySourceConfig::try_new(&vec![Vec::new(); partitions], schema, None)?;
        Ok(Self::placed(DataSourceExec::from_data_source(rows), keys))
    }

    /// Returns a node over such a scan. In a task nobody asks for the keys.
    pub fn placed(place: Arc<dyn ExecutionPlan>, keys: Vec<Arc<dyn PhysicalExpr>>) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(place.schema()),
            Partitioning::Hash(keys.clone(), place.properties().partitioning.partition_count()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self { place, keys, properties: Arc::new(properties) }
    }
}

impl DisplayAs for NothingExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NothingExec")
    }
}

impl ExecutionPlan for NothingExec {
    fn name(&self) -> &str {
        "NothingExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.place]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn apply_expressions(&self, _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.is_empty()) {
            (Some(place), true) => Ok(Arc::new(Self::placed(place, self.keys.clone()))),
            _ => internal_err!("NothingExec has one input"),
        }
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.place.execute(partition, context)
    }

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(&self, inputs: &[Arc<Statistics>], _: &StatisticsArgs) -> Result<Arc<Statistics>> {
        match inputs {
            [input] => Ok(Arc::clone(input)),
            _ => internal_err!("NothingExec has one input"),
        }
    }
}
