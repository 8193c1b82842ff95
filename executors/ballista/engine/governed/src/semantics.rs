//! What operators mean here: the same as in the other executor.

use arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr};
use datafusion::logical_expr::{BinaryExpr, Cast, Expr, ExprSchemable, Operator};
use datafusion::sql::sqlparser::ast::BinaryOperator;

use crate::checked::{Op, arithmetic};

/// Plans binary operators by the types of their sides.
#[derive(Debug)]
pub struct Semantics;

impl ExprPlanner for Semantics {
    fn plan_binary_op(&self, e: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let (Ok(l), Ok(r)) = (e.left.get_type(schema), e.right.get_type(schema)) else {
            return Ok(PlannerResult::Original(e));
        };
        let planned = match &e.op {
            BinaryOperator::Divide if l.is_numeric() && r.is_numeric() => binary(double(e.left.clone()), Operator::Divide, double(e.right.clone())),
            BinaryOperator::Plus => match sum_of(&e, &l, &r, Op::Add, Operator::Plus) {
                Some(x) => x,
                None => return Ok(PlannerResult::Original(e)),
            },
            BinaryOperator::Minus => match sum_of(&e, &l, &r, Op::Sub, Operator::Minus) {
                Some(x) => x,
                None => return Ok(PlannerResult::Original(e)),
            },
            BinaryOperator::Multiply if l.is_integer() && r.is_integer() => checked(Op::Mul, &e, &l, &r),
            op => match comparison(op) {
                // Zeros compare equal whatever their sign, which adding a positive zero takes away.
                Some(op) if l == DataType::Float64 || r == DataType::Float64 => binary(unsigned(e.left.clone()), op, unsigned(e.right.clone())),
                _ => return Ok(PlannerResult::Original(e)),
            },
        };
        Ok(PlannerResult::Planned(planned))
    }
}

/// Sums and differences of integers, and of dates and intervals.
fn sum_of(e: &RawBinaryExpr, l: &DataType, r: &DataType, op: Op, sign: Operator) -> Option<Expr> {
    match (l, r) {
        (l, r) if l.is_integer() && r.is_integer() => Some(checked(op, e, l, r)),
        // A date and an interval make a timestamp.
        (DataType::Date32, DataType::Interval(_)) => Some(binary(cast(e.left.clone(), timestamp()), sign, e.right.clone())),
        (DataType::Interval(_), DataType::Date32) if op == Op::Add => Some(binary(e.left.clone(), sign, cast(e.right.clone(), timestamp()))),
        _ => None,
    }
}

fn checked(op: Op, e: &RawBinaryExpr, l: &DataType, r: &DataType) -> Expr {
    let wide = if l.primitive_width() >= r.primitive_width() { l } else { r };
    let args = vec![cast(e.left.clone(), wide.clone()), cast(e.right.clone(), wide.clone())];
    Expr::ScalarFunction(ScalarFunction::new_udf(arithmetic(op), args))
}

fn comparison(op: &BinaryOperator) -> Option<Operator> {
    Some(match op {
        BinaryOperator::Eq => Operator::Eq,
        BinaryOperator::NotEq => Operator::NotEq,
        BinaryOperator::Lt => Operator::Lt,
        BinaryOperator::LtEq => Operator::LtEq,
        BinaryOperator::Gt => Operator::Gt,
        BinaryOperator::GtEq => Operator::GtEq,
        _ => return None,
    })
}

fn unsigned(e: Expr) -> Expr {
    binary(double(e), Operator::Plus, zero())
}

/// A positive zero.
pub fn zero() -> Expr {
    Expr::Literal(ScalarValue::Float64(Some(0.0)), None)
}

fn double(e: Expr) -> Expr {
    cast(e, DataType::Float64)
}

fn cast(e: Expr, to: DataType) -> Expr {
    Expr::Cast(Cast::new(Box::new(e), to))
}

fn timestamp() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, None)
}

fn binary(l: Expr, op: Operator, r: Expr) -> Expr {
    Expr::BinaryExpr(BinaryExpr::new(Box::new(l), op, Box::new(r)))
}
