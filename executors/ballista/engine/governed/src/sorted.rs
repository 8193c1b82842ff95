//! The sum of all doubles of a window's partition, as the other executor makes it: one after the other, the smallest first.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Float64Type};
use datafusion::common::{ScalarValue, internal_err};
use datafusion::error::Result;
use datafusion::logical_expr::function::AccumulatorArgs;
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};

/// The name of the sum.
pub const SORTED: &str = "gw_sorted_sum";

/// The sum, for windows whose frame is the partition.
pub fn sum() -> Arc<AggregateUDF> {
    Arc::new(AggregateUDF::from(SortedSum { signature: Signature::exact(vec![DataType::Float64], Volatility::Immutable) }))
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct SortedSum {
    signature: Signature,
}

impl AggregateUDFImpl for SortedSum {
    fn name(&self) -> &str {
        SORTED
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn accumulator(&self, _: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Values::default()))
    }
}

#[derive(Debug, Default)]
struct Values(Vec<f64>);

impl Accumulator for Values {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let values = values[0].as_primitive::<Float64Type>();
        self.0.reserve(values.len() - values.null_count());
        self.0.extend(values.iter().flatten());
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        // A NaN is above all others.
        self.0.sort_unstable_by(|a, b| a.is_nan().cmp(&b.is_nan()).then(a.total_cmp(b)));
        Ok(ScalarValue::Float64((!self.0.is_empty()).then(|| self.0.iter().fold(0.0, |sum, x| sum + x))))
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.0.capacity() * size_of::<f64>()
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        internal_err!("a window's partition is in one task")
    }

    fn merge_batch(&mut self, _: &[ArrayRef]) -> Result<()> {
        internal_err!("a window's partition is in one task")
    }
}
