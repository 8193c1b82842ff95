//! Window functions with IGNORE NULLS, under names of ours: DataFusion 55 does not send that word to another process.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::functions_window::{lead_lag, nth_value};
use datafusion::logical_expr::function::{ExpressionArgs, PartitionEvaluatorArgs, WindowUDFFieldArgs};
use datafusion::logical_expr::{LimitEffect, PartitionEvaluator, Signature, WindowUDF, WindowUDFImpl};
use datafusion::physical_expr::PhysicalExpr;

/// A function of DataFusion that passes over NULL.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Skipping {
    name: String,
    beneath: Arc<WindowUDF>,
}

impl WindowUDFImpl for Skipping {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        self.beneath.signature()
    }

    fn expressions(&self, args: ExpressionArgs) -> Vec<Arc<dyn PhysicalExpr>> {
        self.beneath.expressions(args)
    }

    fn partition_evaluator(&self, args: PartitionEvaluatorArgs) -> Result<Box<dyn PartitionEvaluator>> {
        let skipping = PartitionEvaluatorArgs::new(args.input_exprs(), args.input_fields(), args.is_reversed(), true);
        Ok(Box::new(AtOnce(self.beneath.partition_evaluator_factory(skipping)?)))
    }

    fn field(&self, args: WindowUDFFieldArgs) -> Result<FieldRef> {
        self.beneath.field(args)
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        self.beneath.coerce_types(types)
    }

    fn limit_effect(&self, _: &[Arc<dyn PhysicalExpr>]) -> LimitEffect {
        LimitEffect::Unknown
    }
}

/// Evaluates a partition when all of it is there: DataFusion 55 passes over other rows than those of NULL in one that comes bit by bit.
#[derive(Debug)]
struct AtOnce(Box<dyn PartitionEvaluator>);

impl PartitionEvaluator for AtOnce {
    fn evaluate_all(&mut self, values: &[ArrayRef], rows: usize) -> Result<ArrayRef> {
        self.0.evaluate_all(values, rows)
    }

    fn evaluate(&mut self, values: &[ArrayRef], range: &Range<usize>) -> Result<ScalarValue> {
        self.0.evaluate(values, range)
    }

    fn uses_window_frame(&self) -> bool {
        self.0.uses_window_frame()
    }
}

/// The functions that may pass over NULL, for registries.
pub fn all() -> Vec<Arc<WindowUDF>> {
    let beneath =
        [lead_lag::lag_udwf(), lead_lag::lead_udwf(), nth_value::first_value_udwf(), nth_value::last_value_udwf(), nth_value::nth_value_udwf()];
    beneath.into_iter().map(|f| Arc::new(WindowUDF::from(Skipping { name: format!("gw_{}_skipping", f.name()), beneath: f }))).collect()
}

/// The function that passes over NULL in the place of another one.
pub fn of(name: &str) -> Option<Arc<WindowUDF>> {
    let wanted = format!("gw_{name}_skipping");
    all().into_iter().find(|f| f.name() == wanted)
}

/// The name of the function beneath, or the name itself.
pub fn beneath(name: &str) -> &str {
    name.strip_prefix("gw_").and_then(|n| n.strip_suffix("_skipping")).unwrap_or(name)
}
