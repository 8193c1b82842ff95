//! The value of a subquery: its only row's, NULL without one, an error with more.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Field, FieldRef, Int64Type};
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{Accumulator, AggregateUDF, AggregateUDFImpl, Signature, Volatility};

use crate::failure::failure;
use crate::wire::Class;

#[derive(Debug, PartialEq, Eq, Hash)]
struct Single {
    signature: Signature,
}

impl AggregateUDFImpl for Single {
    fn name(&self) -> &str {
        "gw_single"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, args: &[DataType]) -> Result<DataType> {
        Ok(args[0].clone())
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Value { rows: 0, value: ScalarValue::try_from(args.return_field.data_type())? }))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        Ok(vec![
            Arc::new(Field::new(format!("{}[rows]", args.name), DataType::Int64, true)),
            Arc::new(Field::new(format!("{}[value]", args.name), args.return_field.data_type().clone(), true)),
        ])
    }
}

#[derive(Debug)]
struct Value {
    rows: i64,
    value: ScalarValue,
}

impl Value {
    fn take(&mut self, rows: i64, values: &ArrayRef, at: usize) -> Result<()> {
        if rows == 0 {
            return Ok(());
        }
        self.rows += rows;
        if self.rows > 1 {
            return Err(failure(Class::Cardinality, "a subquery that is a value has several rows"));
        }
        self.value = ScalarValue::try_from_array(values, at)?;
        Ok(())
    }
}

impl Accumulator for Value {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.take(values[0].len() as i64, &values[0], 0)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let rows = states[0].as_primitive::<Int64Type>();
        (0..rows.len()).try_for_each(|i| self.take(rows.value(i), &states[1], i))
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(vec![ScalarValue::Int64(Some(self.rows)), self.value.clone()])
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(self.value.clone())
    }

    fn size(&self) -> usize {
        size_of_val(self) + self.value.size()
    }
}

/// The function, for registries and for subqueries.
pub fn single() -> Arc<AggregateUDF> {
    Arc::new(AggregateUDF::from(Single { signature: Signature::any(1, Volatility::Immutable) }))
}
