//! What the planner leaves to be brought to the other executor's meaning once types are known: comparisons across types, the order of
//! floating point, casts, the sign of integers, and subqueries that are values.

use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Schema, TimeUnit};
use arrow::record_batch::RecordBatchOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::execution_props::ExecutionProps;
use datafusion::logical_expr::expr::{BinaryExpr, Case, ScalarFunction};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Aggregate, ColumnarValue, Distinct, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator, Sort};
use datafusion::physical_expr::create_physical_expr;

use crate::checked::{Op, arithmetic};
use crate::functions::{self, cast, ordered, single};
use crate::semantics::digits;
use crate::wall::{self, integer, is_float, one_row};
use crate::windows;

/// Rewrites a statement's plan as the SQL planner made it.
pub fn plan(p: LogicalPlan) -> Result<LogicalPlan> {
    let out = p.transform_up_with_subqueries(|node| {
        let schema = merge_schema(&node.inputs());
        let names = NamePreserver::new(&node);
        let node = node.map_expressions(|e| {
            let name = names.save(&e);
            Ok(expr(e, &schema)?.update_data(|e| name.restore(e)))
        })?;
        let (changed, node) = (node.transformed, node.data);
        Ok(match node {
            LogicalPlan::Sort(s) => Transformed::yes(LogicalPlan::Sort(sorted(s, &schema)?)),
            LogicalPlan::Window(w) => Transformed::yes(windows::apart(w)?),
            LogicalPlan::Aggregate(a) if a.group_expr.iter().any(|e| has_float(e, &schema)) => {
                let keys = a.group_expr.into_iter().map(|e| key(e, &schema)).collect::<Result<_>>()?;
                Transformed::yes(LogicalPlan::Aggregate(Aggregate::try_new(a.input, keys, a.aggr_expr)?))
            }
            LogicalPlan::Distinct(Distinct::All(input)) if input.schema().fields().iter().any(|f| is_float(f.data_type())) => {
                let columns = input.schema().columns().into_iter().map(|c| key(Expr::Column(c), input.schema())).collect::<Result<Vec<_>>>()?;
                let keys = LogicalPlanBuilder::from(input.as_ref().clone()).project(columns)?.build()?;
                Transformed::yes(LogicalPlan::Distinct(Distinct::All(keys.into())))
            }
            node => Transformed::new_transformed(if changed { node.recompute_schema()? } else { node }, changed),
        })
    })?;
    Ok(out.data)
}

/// Rewrites an expression over columns of a schema.
pub fn expr(e: Expr, schema: &DFSchema) -> Result<Transformed<Expr>> {
    e.transform_up(|e| {
        let (changed, e) = part(e, schema)?;
        Ok(Transformed::new_transformed(e, changed))
    })
}

/// Compares with a truth value. It is what DataFusion makes of IS TRUE and the like as well, but late: by then it has said that the column has no NULL, which it
/// then finds to differ, where the column is a key.
fn against(e: Box<Expr>, op: Operator, truth: bool) -> Expr {
    Expr::BinaryExpr(BinaryExpr::new(e, op, Box::new(Expr::Literal(ScalarValue::from(truth), None))))
}

fn part(e: Expr, schema: &DFSchema) -> Result<(bool, Expr)> {
    Ok(match e {
        Expr::IsTrue(e) => (true, against(e, Operator::IsNotDistinctFrom, true)),
        Expr::IsNotTrue(e) => (true, against(e, Operator::IsDistinctFrom, true)),
        Expr::IsFalse(e) => (true, against(e, Operator::IsNotDistinctFrom, false)),
        Expr::IsNotFalse(e) => (true, against(e, Operator::IsDistinctFrom, false)),
        Expr::IsUnknown(e) => (true, Expr::IsNull(e)),
        Expr::IsNotUnknown(e) => (true, Expr::IsNotNull(e)),
        Expr::BinaryExpr(b) if is_comparison(b.op) => {
            let (changed, mut sides) = aligned(vec![*b.left, *b.right], schema)?;
            let (r, l) = (sides.remove(1), sides.remove(0));
            (changed, Expr::BinaryExpr(BinaryExpr::new(Box::new(l), b.op, Box::new(r))))
        }
        Expr::Between(mut b) => {
            let (changed, mut parts) = aligned(vec![*b.expr, *b.low, *b.high], schema)?;
            (b.high, b.low, b.expr) = (Box::new(parts.remove(2)), Box::new(parts.remove(1)), Box::new(parts.remove(0)));
            (changed, Expr::Between(b))
        }
        Expr::InList(mut l) => {
            let mut parts = vec![*l.expr];
            parts.append(&mut l.list);
            let (changed, mut parts) = aligned(parts, schema)?;
            l.list = parts.split_off(1);
            l.expr = Box::new(parts.remove(0));
            (changed, Expr::InList(l))
        }
        Expr::Case(mut c) => {
            let mut changed = false;
            if let Some(operand) = c.expr {
                let mut parts = vec![*operand];
                parts.extend(c.when_then_expr.iter().map(|(when, _)| when.as_ref().clone()));
                let (also, mut parts) = aligned(parts, schema)?;
                changed |= also;
                for ((when, _), new) in c.when_then_expr.iter_mut().zip(parts.split_off(1)) {
                    **when = new;
                }
                c.expr = Some(Box::new(parts.remove(0)));
            }
            changed |= doubles(c.when_then_expr.iter_mut().map(|(_, then)| then.as_mut()).chain(c.else_expr.as_deref_mut()), schema)?;
            (changed, Expr::Case(c))
        }
        Expr::ScalarFunction(mut f) if ["coalesce", "gw_greatest", "gw_least"].contains(&f.name()) => {
            let changed = doubles(f.args.iter_mut(), schema)?;
            match f.args.pop() {
                // DataFusion's own cannot run, and its optimiser, which makes this of it, does not see the expressions of policies.
                Some(only) if f.args.is_empty() => (true, only),
                Some(last) if f.name() == "coalesce" => {
                    let given = |a: Expr| (Box::new(a.clone().is_not_null()), Box::new(a));
                    (true, Expr::Case(Case::new(None, f.args.into_iter().map(given).collect(), Some(Box::new(last)))))
                }
                last => {
                    f.args.extend(last);
                    (changed, Expr::ScalarFunction(f))
                }
            }
        }
        Expr::Negative(n) if matches!(n.get_type(schema), Ok(t) if t.is_signed_integer()) && !matches!(*n, Expr::Literal(..)) => {
            let zero = ScalarValue::new_zero(&n.get_type(schema)?)?;
            (true, Expr::ScalarFunction(ScalarFunction::new_udf(arithmetic(Op::Sub), vec![Expr::Literal(zero, None), *n])))
        }
        Expr::Cast(c) => {
            let (from, to) = (c.expr.get_type(schema)?, c.field.data_type().clone());
            // A number with its type is left as it is: other parts of the plan know it by its name.
            let number = integer(&c.expr).is_some_and(|v| to == DataType::Int64 || to == DataType::Int32 && i32::try_from(v).is_ok());
            match constant(&c.expr, &to) {
                Some(v) => (true, v),
                None if from == to && !matches!(*c.expr, Expr::Literal(..)) => (true, *c.expr),
                None if number => (false, Expr::Cast(c)),
                None if functions::native(&from, &to) || functions::cast_type(&from, &to).is_none() => (false, Expr::Cast(c)),
                None => (true, cast(*c.expr, &to)?),
            }
        }
        Expr::AggregateFunction(mut f) if f.params.distinct && ["sum", "count"].contains(&f.func.name()) => {
            let mut changed = false;
            for e in &mut f.params.args {
                if is_float(&e.get_type(schema)?) {
                    *e = ordered(std::mem::take(e));
                    changed = true;
                }
            }
            (changed, Expr::AggregateFunction(f))
        }
        Expr::WindowFunction(mut w) => {
            let mut changed = windows::rewrite(&mut w, schema)?;
            for e in w.params.partition_by.iter_mut().chain(w.params.order_by.iter_mut().map(|s| &mut s.expr)) {
                let t = e.get_type(schema)?;
                if is_float(&t) {
                    *e = ordered(e.clone());
                    changed = true;
                } else if [functions::UUID, DataType::Binary].contains(&t) {
                    *e = functions::digits(e.clone()); // windows take no bytes
                    changed = true;
                }
            }
            (changed, Expr::WindowFunction(w))
        }
        Expr::ScalarSubquery(mut s) if s.outer_ref_columns.is_empty() && !one_row(&s.subquery) => {
            let column = s.subquery.schema().columns().remove(0);
            let value = single().call(vec![Expr::Column(column.clone())]).alias(column.name);
            s.subquery = LogicalPlanBuilder::from(s.subquery.as_ref().clone()).aggregate(Vec::<Expr>::new(), vec![value])?.build()?.into();
            (true, Expr::ScalarSubquery(s))
        }
        e => (false, e),
    })
}

fn has_float(e: &Expr, schema: &DFSchema) -> bool {
    !matches!(e, Expr::GroupingSet(_)) && e.get_type(schema).is_ok_and(|t| is_float(&t))
}

/// A key of a group under the name that it had.
fn key(e: Expr, schema: &DFSchema) -> Result<Expr> {
    if !has_float(&e, schema) {
        return Ok(e);
    }
    let name = NamePreserver::new_for_projection().save(&e);
    Ok(name.restore(functions::grouped(e.unalias())))
}

/// Brings numbers that are alternatives to one type: DOUBLE if one of them is, and else the decimal that holds all of them.
fn doubles<'a>(parts: impl Iterator<Item = &'a mut Expr>, schema: &DFSchema) -> Result<bool> {
    let parts: Vec<&mut Expr> = parts.collect();
    let types = parts.iter().map(|p| p.get_type(schema)).collect::<Result<Vec<_>>>()?;
    let numbers: Vec<&DataType> = types.iter().filter(|t| **t != DataType::Null).collect();
    let to = if numbers.iter().any(|t| **t == DataType::Float64) {
        DataType::Float64
    } else if numbers.iter().any(|t| matches!(t, DataType::Decimal128(..))) {
        let Some(digits) = numbers.iter().map(|t| digits(t)).collect::<Option<Vec<_>>>() else { return Ok(false) };
        let scale = digits.iter().map(|(_, s)| *s).max().unwrap_or(0);
        let before = digits.iter().map(|(p, s)| i16::from(*p) - i16::from(*s)).max().unwrap_or(0);
        match u8::try_from(before + i16::from(scale)) {
            Ok(width) if width <= 38 => DataType::Decimal128(width, scale),
            _ => return Ok(false),
        }
    } else {
        return Ok(false);
    };
    if types.iter().all(|t| *t == to) || !numbers.iter().all(|t| **t == to || digits(t).is_some()) {
        return Ok(false);
    }
    for (p, t) in parts.into_iter().zip(&types) {
        if *t != to {
            let old = std::mem::take(p);
            *p = if functions::native(t, &to) { old.cast_to(&to, schema)? } else { cast(old, &to)? };
        }
    }
    Ok(true)
}

fn sorted(mut s: Sort, schema: &DFSchema) -> Result<Sort> {
    for by in &mut s.expr {
        if is_float(&by.expr.get_type(schema)?) {
            by.expr = ordered(by.expr.clone());
        }
    }
    Ok(s)
}

fn is_comparison(op: Operator) -> bool {
    use Operator::*;
    matches!(op, Eq | NotEq | Lt | LtEq | Gt | GtEq | IsDistinctFrom | IsNotDistinctFrom)
}

const TIMESTAMP: DataType = DataType::Timestamp(TimeUnit::Microsecond, None);
const TIME: DataType = DataType::Time64(TimeUnit::Microsecond);

/// Brings values that are compared to one type, where it is known how the other executor does so. The others stay: they are refused later.
fn aligned(parts: Vec<Expr>, schema: &DFSchema) -> Result<(bool, Vec<Expr>)> {
    let types = parts.iter().map(|p| p.get_type(schema)).collect::<Result<Vec<_>>>()?;
    let has = |t: &DataType| types.contains(t);
    let all = |f: fn(&DataType) -> bool| types.iter().all(f);
    let to = if has(&DataType::Float64) && all(|t| t.is_numeric()) {
        DataType::Float64
    } else if has(&DataType::Float32) && all(|t| *t == DataType::Float32) {
        DataType::Float32
    } else if has(&TIMESTAMP) && all(|t| matches!(t, DataType::Date32 | DataType::Utf8) || *t == TIMESTAMP) {
        match days(&parts, &types) {
            Some(days) => return Ok((true, days)),
            None => TIMESTAMP,
        }
    } else if has(&DataType::Date32) && has(&DataType::Utf8) && all(|t| matches!(t, DataType::Date32 | DataType::Utf8)) {
        DataType::Date32
    } else if let Some(to) = [functions::UUID, TIME].into_iter().find(|to| has(to)) {
        if types.iter().any(|t| *t != to && *t != DataType::Utf8) {
            return Ok((false, parts));
        }
        to
    } else {
        return Ok((false, parts));
    };
    let one = |(p, t): (Expr, &DataType)| -> Result<Expr> {
        let p = match constant(&p, &to) {
            Some(v) => v,
            None if *t == to || *t == DataType::Utf8 => p,
            None if functions::native(t, &to) => p.cast_to(&to, schema)?,
            None => cast(p, &to)?,
        };
        Ok(if is_float(&to) && !is_ordered(&p) { ordered(p) } else { p })
    };
    Ok((true, parts.into_iter().zip(&types).map(one).collect::<Result<_>>()?))
}

/// Dates, and what they are compared with as dates: a constant that is midnight of a day. As timestamps, every row's date would be turned into one.
fn days(parts: &[Expr], types: &[DataType]) -> Option<Vec<Expr>> {
    let one = |(p, t): (&Expr, &DataType)| match t {
        DataType::Date32 => Some(p.clone()),
        t if *t == TIMESTAMP => midnight(p),
        _ => constant(p, &DataType::Date32),
    };
    parts.iter().zip(types).map(one).collect()
}

/// The day whose midnight an expression without columns is.
fn midnight(e: &Expr) -> Option<Expr> {
    if !e.column_refs().is_empty() || e.is_volatile() || wall::check_expr(e, &DFSchema::empty()).is_err() {
        return None;
    }
    let value = create_physical_expr(e, &DFSchema::empty(), &ExecutionProps::new(), &PhysicalPlanningContext::default()).ok()?;
    let one = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &RecordBatchOptions::new().with_row_count(Some(1))).ok()?;
    match value.evaluate(&one).ok()? {
        ColumnarValue::Scalar(ScalarValue::TimestampMicrosecond(Some(v), None)) if v % DAY == 0 => {
            Some(Expr::Literal(ScalarValue::Date32(Some(i32::try_from(v / DAY).ok()?)), None))
        }
        _ => None,
    }
}

/// In microseconds.
const DAY: i64 = 86_400_000_000;

/// Whether a floating point value has the order of the other executor.
pub fn is_ordered(e: &Expr) -> bool {
    matches!(e, Expr::ScalarFunction(f) if f.name() == functions::ORDERED)
}

/// Whether a floating point value may be the key of a group.
pub fn is_grouped(e: &Expr) -> bool {
    match e {
        Expr::Alias(a) => is_grouped(&a.expr),
        Expr::ScalarFunction(f) => f.name() == functions::GROUPED,
        _ => false,
    }
}

/// The value of a type that a constant text is to every engine.
fn constant(e: &Expr, to: &DataType) -> Option<Expr> {
    let Expr::Literal(ScalarValue::Utf8(Some(text)), _) = e else { return None };
    let plain = match to {
        t if *t == functions::UUID => ScalarValue::FixedSizeBinary(16, Some(functions::uuid(text).ok()?.to_vec())),
        t if *t == TIME => ScalarValue::Time64Microsecond(Some(functions::time(text).ok()?)),
        _ => return moment(text, to).map(|v| Expr::Literal(v, None)),
    };
    Some(Expr::Literal(plain, None))
}

/// The date or timestamp that a text is.
fn moment(text: &str, to: &DataType) -> Option<ScalarValue> {
    let (day, rest) = text.split_once(' ').unwrap_or((text, ""));
    let days = date(day)?;
    match to {
        DataType::Date32 if rest.is_empty() => Some(ScalarValue::Date32(Some(days as i32))),
        t if *t == TIMESTAMP => {
            let seconds = if rest.is_empty() { 0 } else { seconds(rest)? };
            Some(ScalarValue::TimestampMicrosecond(Some((days * 86_400 + seconds) * 1_000_000), None))
        }
        _ => None,
    }
}

/// Digits and nothing else.
fn number(text: &str, lengths: std::ops::RangeInclusive<usize>) -> Option<i64> {
    (lengths.contains(&text.len()) && text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

fn date(text: &str) -> Option<i64> {
    let mut parts = text.split('-');
    let (year, month, day) = (number(parts.next()?, 4..=4)?, number(parts.next()?, 1..=2)?, number(parts.next()?, 1..=2)?);
    let days = functions::days(year, month, day);
    let ok = parts.next().is_none() && (1..=12).contains(&month) && day >= 1 && functions::civil(days) == (year, month, day);
    ok.then_some(days)
}

fn seconds(text: &str) -> Option<i64> {
    let mut parts = text.split(':');
    let (h, m, s) = (number(parts.next()?, 2..=2)?, number(parts.next()?, 2..=2)?, number(parts.next()?, 2..=2)?);
    (parts.next().is_none() && h < 24 && m < 60 && s < 60).then_some(h * 3600 + m * 60 + s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_that_all_engines_read() {
        assert_eq!(date("1970-01-02"), Some(1));
        assert_eq!(date("1999-2-1"), date("1999-02-01"));
        for bad in ["1999-02-29", "1999-13-01", "99-01-01", "1999-01-01-", "+999-01-01", "1999-00-10", "1999-01-", ""] {
            assert_eq!(date(bad), None, "{bad}");
        }
        assert_eq!(seconds("01:00:01"), Some(3601));
        assert_eq!(seconds("24:00:00"), None);
    }
}
