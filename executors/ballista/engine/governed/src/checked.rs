//! Functions of ours that differ from DataFusion's: integers that overflow are an error, and sums have the width of the other executor's,
//! and are exact.

use std::sync::Arc;

use arrow::array::Datum;
use arrow::compute::kernels::numeric::{add, mul, sub};
use arrow::datatypes::{DataType, FieldRef};
use arrow::error::ArrowError;
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::functions_aggregate::sum::Sum;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::{
    Accumulator, AggregateUDF, AggregateUDFImpl, ColumnarValue, GroupsAccumulator, ReversedUDAF, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl,
    Signature, Volatility,
};

use crate::failure::{failure, unsupported};
use crate::measures::{self, Groups, One, Total};
use crate::wide;
use crate::wire::Class;

/// An operator on integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Op {
    /// a + b
    Add,
    /// a - b
    Sub,
    /// a * b
    Mul,
}

/// Integer arithmetic that raises instead of wrapping around.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Checked {
    op: Op,
    signature: Signature,
}

impl ScalarUDFImpl for Checked {
    fn name(&self) -> &str {
        match self.op {
            Op::Add => "gw_add",
            Op::Sub => "gw_sub",
            Op::Mul => "gw_mul",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, args: &[DataType]) -> Result<DataType> {
        match args {
            [a, b] if a == b && a.is_integer() => Ok(a.clone()),
            _ => Err(unsupported("integer arithmetic on these types")),
        }
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let kernel: fn(&dyn Datum, &dyn Datum) -> std::result::Result<arrow::array::ArrayRef, ArrowError> = match self.op {
            Op::Add => add,
            Op::Sub => sub,
            Op::Mul => mul,
        };
        let sides = ColumnarValue::values_to_arrays(&args.args)?;
        let out = kernel(&sides[0], &sides[1]).map_err(|e| match e {
            ArrowError::ArithmeticOverflow(_) => failure(Class::Range, "an integer is out of range"),
            e => e.into(),
        })?;
        if args.args.iter().all(|a| matches!(a, ColumnarValue::Scalar(_))) {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&out, 0)?));
        }
        Ok(ColumnarValue::Array(out))
    }
}

/// The function of an operator.
pub fn arithmetic(op: Op) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::from(Checked { op, signature: Signature::any(2, Volatility::Immutable) }))
}

/// Sums as the other executor types them: of integers and decimals with 38 digits, of floating point as DOUBLE. None depends on the order of rows.
#[derive(Debug, PartialEq, Eq, Hash)]
struct WideSum {
    sum: Sum,
    signature: Signature,
}

impl AggregateUDFImpl for WideSum {
    fn name(&self) -> &str {
        "sum"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, args: &[DataType]) -> Result<Vec<DataType>> {
        use DataType::*;
        match args {
            [Int8 | Int16 | Int32 | Int64] => Ok(vec![Decimal128(38, 0)]),
            [Decimal128(_, scale)] => Ok(vec![Decimal128(38, *scale)]),
            [Float64] => Ok(vec![Float64]),
            _ => Err(unsupported("sum of this type")),
        }
    }

    fn return_type(&self, args: &[DataType]) -> Result<DataType> {
        self.coerce_types(args).map(|mut types| types.swap_remove(0))
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(match scale(&args.return_field)? {
            scale if args.is_distinct => Box::new(wide::Distinct::new(self.sum.accumulator(args)?, scale)),
            None => Box::new(One::new(Total::nearest)),
            Some(scale) => Box::new(wide::One::new(scale)),
        })
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        Ok(match scale(&args.return_field)? {
            _ if args.is_distinct => self.sum.state_fields(args)?,
            None => measures::state_fields(&args),
            Some(scale) => wide::state_fields(&args, scale),
        })
    }

    fn groups_accumulator_supported(&self, args: AccumulatorArgs) -> bool {
        !args.is_distinct
    }

    fn create_groups_accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(match scale(&args.return_field)? {
            None => Box::new(Groups::new(Total::nearest)),
            Some(scale) => Box::new(wide::Groups::new(scale)),
        })
    }

    fn reverse_expr(&self) -> ReversedUDAF {
        ReversedUDAF::Identical
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }
}

/// The scale of a sum of decimals, none of one of floating point.
fn scale(out: &FieldRef) -> Result<Option<i8>> {
    match out.data_type() {
        DataType::Float64 => Ok(None),
        DataType::Decimal128(_, scale) => Ok(Some(*scale)),
        _ => Err(unsupported("sum of this type")),
    }
}

/// The sum that statements use.
pub fn sum() -> Arc<AggregateUDF> {
    Arc::new(AggregateUDF::from(WideSum { sum: Sum::new(), signature: Signature::user_defined(Volatility::Immutable) }))
}
