//! A node that one task has the whole input of, in a stage of several tasks.
//!
//! Ballista makes a task of a stage by cutting leaves down to the partitions that the task has. What gathers all of its input is not cut, so that a
//! part of a UNION that is one row would be in all tasks. This node has a second input, a row that nobody reads: it is cut as any other leaf is, and
//! where it is gone, the node has no partition, and does not run.

use std::fmt;
use std::sync::Arc;

use datafusion::common::internal_err;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{Distribution, EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::placeholder_row::PlaceholderRowExec;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, InputDistributionRequirements, PlanProperties};

/// Gathers its input into one partition. It says nothing of the number of rows, so that no optimiser exchanges the sides of a join for it.
#[derive(Debug)]
pub struct WholeExec {
    input: Arc<dyn ExecutionPlan>,
    place: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl WholeExec {
    /// Returns a node over an input.
    pub fn new(input: Arc<dyn ExecutionPlan>) -> Self {
        let place = Arc::new(PlaceholderRowExec::new(input.schema()));
        Self::placed(input, place)
    }

    /// Returns a node with as many partitions as its place has, one or none.
    pub fn placed(input: Arc<dyn ExecutionPlan>, place: Arc<dyn ExecutionPlan>) -> Self {
        let properties = PlanProperties::new(
            EquivalenceProperties::new(input.schema()),
            Partitioning::UnknownPartitioning(place.properties().partitioning.partition_count()),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Self { input, place, properties: Arc::new(properties) }
    }
}

impl DisplayAs for WholeExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WholeExec")
    }
}

impl ExecutionPlan for WholeExec {
    fn name(&self) -> &str {
        "WholeExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input, &self.place]
    }

    fn input_distribution_requirements(&self) -> InputDistributionRequirements {
        InputDistributionRequirements::new(vec![Distribution::SinglePartition, Distribution::UnspecifiedDistribution])
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false, false]
    }

    fn apply_expressions(&self, _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.pop(), children.is_empty()) {
            (Some(place), Some(input), true) => Ok(Arc::new(Self::placed(input, place))),
            _ => internal_err!("WholeExec has two inputs"),
        }
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        match self.input.properties().partitioning.partition_count() {
            1 if partition == 0 => self.input.execute(0, context),
            n => internal_err!("WholeExec over {n} partitions"),
        }
    }
}
