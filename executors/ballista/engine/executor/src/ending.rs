//! Ends what runs of a task when its job ends.
//!
//! Ballista 55 lets what it has begun for a task run on. Scans look for the end of their job by themselves, but a join of many rows with many is
//! busy for long with what it has read already. So each node of several inputs gets one of these above it, which looks again at each batch.

use std::fmt;
use std::sync::Arc;

use datafusion::common::internal_err;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties};
use governed::exec::{Ends, until};

/// Puts the nodes into a task's plan.
pub fn with_ends(plan: Arc<dyn ExecutionPlan>, job: &str, ends: &Arc<dyn Ends>) -> Result<Arc<dyn ExecutionPlan>> {
    let plan = plan.transform_up(|node| {
        if node.children().len() < 2 {
            return Ok(Transformed::no(node));
        }
        Ok(Transformed::yes(Arc::new(EndingExec { job: job.to_owned(), ends: Arc::clone(ends), input: node })))
    })?;
    Ok(plan.data)
}

/// Its input's rows, up to an error when the job ends. It has no metrics: the scheduler counts those of the nodes that it knows.
struct EndingExec {
    job: String,
    ends: Arc<dyn Ends>,
    input: Arc<dyn ExecutionPlan>,
}

impl fmt::Debug for EndingExec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EndingExec of {}", self.job)
    }
}

impl DisplayAs for EndingExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EndingExec")
    }
}

impl ExecutionPlan for EndingExec {
    fn name(&self) -> &str {
        "EndingExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.input.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(&self, _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(self: Arc<Self>, mut children: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        match (children.pop(), children.is_empty()) {
            (Some(input), true) => Ok(Arc::new(Self { job: self.job.clone(), ends: Arc::clone(&self.ends), input })),
            _ => internal_err!("EndingExec has one input"),
        }
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let ended = self.ends.ended(&self.job);
        let rows = self.input.execute(partition, context)?;
        Ok(Box::pin(RecordBatchStreamAdapter::new(rows.schema(), until(ended, rows))))
    }
}
