//! What operators mean here: the same as in the other executor. What depends on more than the types of two sides is in `rewrite`.

use arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::DFSchema;
use datafusion::error::Result;
use datafusion::logical_expr::expr::{ScalarFunction, WindowFunction, WindowFunctionParams};
use datafusion::logical_expr::planner::{ExprPlanner, PlannerResult, RawBinaryExpr, RawWindowExpr};
use datafusion::logical_expr::{BinaryExpr, Cast, Expr, ExprSchemable, Operator};
use datafusion::sql::sqlparser::ast::BinaryOperator;

use crate::checked::{Op, arithmetic};
use crate::functions::{self, days_between, shifted};

/// Plans binary operators by the types of their sides.
#[derive(Debug)]
pub struct Semantics;

impl ExprPlanner for Semantics {
    fn plan_binary_op(&self, e: RawBinaryExpr, schema: &DFSchema) -> Result<PlannerResult<RawBinaryExpr>> {
        let (Ok(l), Ok(r)) = (e.left.get_type(schema), e.right.get_type(schema)) else {
            return Ok(PlannerResult::Original(e));
        };
        let planned = match &e.op {
            BinaryOperator::Divide if l.is_numeric() && r.is_numeric() => binary(double(&e.left, &l)?, Operator::Divide, double(&e.right, &r)?),
            BinaryOperator::Plus => match sum_of(&e, &l, &r, Op::Add, Operator::Plus)? {
                Some(x) => x,
                None => return Ok(PlannerResult::Original(e)),
            },
            BinaryOperator::Minus => match sum_of(&e, &l, &r, Op::Sub, Operator::Minus)? {
                Some(x) => x,
                None => return Ok(PlannerResult::Original(e)),
            },
            BinaryOperator::Multiply if l.is_integer() && r.is_integer() => checked(Op::Mul, &e, &l, &r),
            BinaryOperator::Multiply => match decimal(&l, &r, true) {
                Some(to) => functions::fit(binary(e.left.clone(), Operator::Multiply, e.right.clone()), &to)?,
                None => return Ok(PlannerResult::Original(e)),
            },
            _ => return Ok(PlannerResult::Original(e)),
        };
        Ok(PlannerResult::Planned(planned))
    }

    /// Ranks and the like are BIGINT.
    fn plan_window(&self, e: RawWindowExpr) -> Result<PlannerResult<RawWindowExpr>> {
        if !RANKS.contains(&e.func_def.name()) {
            return Ok(PlannerResult::Original(e));
        }
        let params = WindowFunctionParams {
            args: e.args,
            partition_by: e.partition_by,
            order_by: e.order_by,
            window_frame: e.window_frame,
            filter: e.filter,
            null_treatment: e.null_treatment,
            distinct: e.distinct,
        };
        Ok(PlannerResult::Planned(cast(Expr::from(WindowFunction { fun: e.func_def, params }), DataType::Int64)))
    }
}

/// The window functions whose values are unsigned in DataFusion.
pub const RANKS: [&str; 4] = ["row_number", "rank", "dense_rank", "ntile"];

/// Sums and differences of integers, of decimals, and of dates and intervals.
fn sum_of(e: &RawBinaryExpr, l: &DataType, r: &DataType, op: Op, sign: Operator) -> Result<Option<Expr>> {
    Ok(match (l, r) {
        (l, r) if l.is_integer() && r.is_integer() => Some(checked(op, e, l, r)),
        (DataType::Date32, DataType::Date32) if op == Op::Sub => Some(days_between(e.left.clone(), e.right.clone())),
        (DataType::Date32, r) if r.is_signed_integer() => Some(shifted(e.left.clone(), e.right.clone(), op == Op::Sub)),
        (l, DataType::Date32) if l.is_signed_integer() && op == Op::Add => Some(shifted(e.right.clone(), e.left.clone(), false)),
        // A date and an interval make a timestamp.
        (DataType::Date32, DataType::Interval(_)) => Some(binary(cast(e.left.clone(), timestamp()), sign, e.right.clone())),
        (DataType::Interval(_), DataType::Date32) if op == Op::Add => Some(binary(e.left.clone(), sign, cast(e.right.clone(), timestamp()))),
        (l, r) => match decimal(l, r, false) {
            Some(to) => Some(functions::fit(binary(e.left.clone(), sign, e.right.clone()), &to)?),
            None => None,
        },
    })
}

/// The digits of a decimal, or of an integer as one.
pub fn digits(t: &DataType) -> Option<(u8, i8)> {
    match t {
        DataType::Decimal128(p, s) => Some((*p, *s)),
        DataType::Int8 => Some((3, 0)),
        DataType::Int16 => Some((5, 0)),
        DataType::Int32 => Some((10, 0)),
        DataType::Int64 => Some((19, 0)),
        _ => None,
    }
}

/// The type of a product, a sum or a difference of decimals: one of 64 bits stays one, and overflows.
fn decimal(l: &DataType, r: &DataType, product: bool) -> Option<DataType> {
    let ((p, s), (q, t)) = (digits(l)?, digits(r)?);
    let (widest, scale) = (p.max(q), if product { s + t } else { s.max(t) });
    let before = (i16::from(p) - i16::from(s)).max(i16::from(q) - i16::from(t));
    let mut width = if product { i16::from(p) + i16::from(q) } else { (i16::from(scale) + before).max(i16::from(widest)) + 1 };
    if width > 18 && widest <= 18 && scale < 18 {
        width = 18;
    }
    (scale <= 38).then(|| DataType::Decimal128(width.min(38) as u8, scale))
}

fn checked(op: Op, e: &RawBinaryExpr, l: &DataType, r: &DataType) -> Expr {
    let wide = if l.primitive_width() >= r.primitive_width() { l } else { r };
    let args = vec![cast(e.left.clone(), wide.clone()), cast(e.right.clone(), wide.clone())];
    Expr::ScalarFunction(ScalarFunction::new_udf(arithmetic(op), args))
}

fn double(e: &Expr, from: &DataType) -> Result<Expr> {
    if functions::native(from, &DataType::Float64) { Ok(cast(e.clone(), DataType::Float64)) } else { functions::cast(e.clone(), &DataType::Float64) }
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
