//! What a statement may use. The list is closed: a construct is on it when it is known to mean here what it means in the other executor,
//! for the types at hand; everything else is refused by name before anything runs.

use arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, JoinType, NullEquality, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Distinct, Expr, ExprSchemable, LogicalPlan, Operator};

use crate::failure::unsupported;
use crate::relation::Relation;
use crate::semantics::zero;

/// Checks a statement's plan as the SQL planner made it.
pub fn check(plan: &LogicalPlan) -> Result<()> {
    // Kinds of nodes first: their names say more than the types that their columns have.
    plan.apply_with_subqueries(|node| {
        check_node(node)?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    plan.apply_with_subqueries(|node| {
        let mut schema = merge_schema(&node.inputs());
        if let LogicalPlan::TableScan(_) = node {
            schema = node.schema().as_ref().clone();
        }
        node.apply_expressions(|e| {
            check_expr(e, &schema)?;
            Ok(TreeNodeRecursion::Continue)
        })
    })?;
    Ok(())
}

/// Refuses, in an optimised plan, joins that pair every row with every row: their result would be written to disk before anyone sees
/// its first row.
pub fn check_size(plan: &LogicalPlan) -> Result<()> {
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::Join(j) = node {
            let small = [&j.left, &j.right].iter().any(|side| one_row(side));
            if j.on.is_empty() && j.filter.is_none() && !small {
                return Err(unsupported("a join without a condition"));
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

/// Whether a plan has at most one row, whatever the data is.
fn one_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Aggregate(a) => a.group_expr.is_empty(),
        LogicalPlan::Limit(l) => l.fetch.as_ref().and_then(|n| integer(n)).is_some_and(|n| n <= 1),
        LogicalPlan::EmptyRelation(_) => true,
        LogicalPlan::Projection(p) => one_row(&p.input),
        LogicalPlan::Filter(f) => one_row(&f.input),
        LogicalPlan::Sort(s) => one_row(&s.input),
        LogicalPlan::SubqueryAlias(a) => one_row(&a.input),
        LogicalPlan::Subquery(s) => one_row(&s.subquery),
        _ => false,
    }
}

fn check_node(node: &LogicalPlan) -> Result<()> {
    match node {
        LogicalPlan::Projection(_)
        | LogicalPlan::Filter(_)
        | LogicalPlan::Sort(_)
        | LogicalPlan::EmptyRelation(_)
        | LogicalPlan::Subquery(_)
        | LogicalPlan::SubqueryAlias(_) => Ok(()),
        LogicalPlan::Union(u) => no_floats(&u.schema, "UNION of floating point"),
        LogicalPlan::Aggregate(a) => {
            for g in &a.group_expr {
                if is_float(&g.get_type(a.input.schema())?) {
                    return Err(unsupported("GROUP BY floating point"));
                }
            }
            Ok(())
        }
        LogicalPlan::Distinct(Distinct::All(input)) => no_floats(input.schema(), "DISTINCT floating point"),
        LogicalPlan::Distinct(_) => Err(unsupported("DISTINCT ON")),
        LogicalPlan::Join(j) => {
            for (l, r) in &j.on {
                comparable(l, &l.get_type(j.left.schema())?, r, &r.get_type(j.right.schema())?)?;
            }
            let set = matches!(j.join_type, JoinType::LeftSemi | JoinType::LeftAnti) && j.null_equality == NullEquality::NullEqualsNull;
            if set && !matches!(*j.left, LogicalPlan::Distinct(_)) {
                return Err(unsupported("INTERSECT ALL and EXCEPT ALL"));
            }
            Ok(())
        }
        LogicalPlan::Limit(l) => {
            for n in l.skip.iter().chain(&l.fetch) {
                if integer(n).is_none() {
                    return Err(unsupported("LIMIT and OFFSET that are no numbers"));
                }
            }
            Ok(())
        }
        LogicalPlan::TableScan(t) => {
            let provider = datafusion::datasource::source_as_provider(&t.source)?;
            let any: &dyn std::any::Any = provider.as_ref();
            if any.is::<Relation>() { Ok(()) } else { Err(unsupported("a table that is no relation of the statement")) }
        }
        LogicalPlan::Window(_) => Err(unsupported("window functions")),
        LogicalPlan::RecursiveQuery(_) => Err(unsupported("WITH RECURSIVE")),
        LogicalPlan::Values(_) => Err(unsupported("VALUES")),
        other => Err(unsupported(format!("{} here", other.display().to_string().split([':', ' ']).next().unwrap_or_default()))),
    }
}

fn no_floats(schema: &DFSchema, what: &str) -> Result<()> {
    if schema.fields().iter().any(|f| is_float(f.data_type())) { Err(unsupported(what)) } else { Ok(()) }
}

/// Checks an expression and all its parts.
pub fn check_expr(e: &Expr, schema: &DFSchema) -> Result<()> {
    e.apply(|part| {
        check_part(part, schema)?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(())
}

fn check_part(e: &Expr, schema: &DFSchema) -> Result<()> {
    match e {
        Expr::Alias(_) | Expr::Not(_) | Expr::IsNull(_) | Expr::IsNotNull(_) | Expr::Exists(_) => Ok(()),
        Expr::IsTrue(_) | Expr::IsFalse(_) | Expr::IsUnknown(_) | Expr::IsNotTrue(_) | Expr::IsNotFalse(_) | Expr::IsNotUnknown(_) => Ok(()),
        Expr::Column(_) | Expr::OuterReferenceColumn(..) | Expr::Literal(..) => family(&e.get_type(schema)?).map(|_| ()),
        Expr::BinaryExpr(b) => check_binary(&b.left, b.op, &b.right, schema),
        Expr::Like(l) => match (&*l.pattern, l.escape_char, l.case_insensitive) {
            (Expr::Literal(ScalarValue::Utf8(Some(p)), _), None, false) if !p.contains('\\') && l.expr.get_type(schema)? == DataType::Utf8 => Ok(()),
            _ => Err(unsupported("LIKE with a pattern that is not a plain text, and ILIKE")),
        },
        Expr::Between(b) => {
            let t = b.expr.get_type(schema)?;
            for bound in [&b.low, &b.high] {
                comparable(&b.expr, &t, bound, &bound.get_type(schema)?)?;
            }
            Ok(())
        }
        Expr::InList(l) => {
            let t = l.expr.get_type(schema)?;
            l.list.iter().try_for_each(|item| comparable(&l.expr, &t, item, &item.get_type(schema)?))
        }
        Expr::InSubquery(s) => {
            let inner = s.subquery.subquery.schema();
            comparable(&s.expr, &s.expr.get_type(schema)?, &Expr::Literal(ScalarValue::Null, None), inner.field(0).data_type())
        }
        Expr::ScalarSubquery(s) if one_row(&s.subquery) => Ok(()),
        Expr::ScalarSubquery(_) => Err(unsupported("a subquery used as a value that could have several rows")),
        Expr::Case(c) => {
            if let Some(operand) = &c.expr {
                let t = operand.get_type(schema)?;
                for (when, _) in &c.when_then_expr {
                    comparable(operand, &t, when, &when.get_type(schema)?)?;
                }
            }
            let results = c.when_then_expr.iter().map(|(_, then)| then).chain(&c.else_expr);
            one_type(results.map(|r| r.as_ref()), schema)
        }
        Expr::Negative(n) => match n.get_type(schema)? {
            DataType::Decimal128(..) | DataType::Float64 => Ok(()),
            _ if integer(n).is_some() => Ok(()),
            _ => Err(unsupported("the sign of an integer")),
        },
        Expr::Cast(c) => check_cast(&c.expr, &c.expr.get_type(schema)?, c.field.data_type()),
        Expr::ScalarFunction(f) => check_function(f.name(), &f.args, schema),
        Expr::AggregateFunction(f) => {
            let p = &f.params;
            if !p.order_by.is_empty() || p.null_treatment.is_some() {
                return Err(unsupported("ORDER BY and IGNORE NULLS in an aggregate function"));
            }
            check_aggregate(f.func.name(), p.distinct, &p.args, schema)
        }
        other => Err(unsupported(format!("{} here", other.variant_name()))),
    }
}

/// A kind of types within which values compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Family {
    Null,
    Bool,
    Int,
    Decimal,
    Float,
    Text,
    Binary,
    Date,
    Timestamp,
    TimestampTz,
    Time,
    Interval,
}

fn family(t: &DataType) -> Result<Family> {
    Ok(match t {
        DataType::Null => Family::Null,
        DataType::Boolean => Family::Bool,
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => Family::Int,
        DataType::Decimal128(..) => Family::Decimal,
        DataType::Float32 | DataType::Float64 => Family::Float,
        DataType::Utf8 => Family::Text,
        DataType::Binary => Family::Binary,
        DataType::Date32 => Family::Date,
        DataType::Timestamp(TimeUnit::Microsecond, None) => Family::Timestamp,
        DataType::Timestamp(TimeUnit::Microsecond, Some(_)) => Family::TimestampTz,
        DataType::Time64(TimeUnit::Microsecond) => Family::Time,
        DataType::Interval(_) => Family::Interval,
        other => return Err(unsupported(format!("values of the type {other}"))),
    })
}

fn is_float(t: &DataType) -> bool {
    matches!(t, DataType::Float16 | DataType::Float32 | DataType::Float64)
}

fn is_exact(f: Family) -> bool {
    matches!(f, Family::Int | Family::Decimal)
}

fn check_binary(l: &Expr, op: Operator, r: &Expr, schema: &DFSchema) -> Result<()> {
    let (lt, rt) = (l.get_type(schema)?, r.get_type(schema)?);
    let (lf, rf) = (family(&lt)?, family(&rt)?);
    match op {
        Operator::And | Operator::Or => Ok(()),
        Operator::Eq | Operator::NotEq | Operator::Lt | Operator::LtEq | Operator::Gt | Operator::GtEq => {
            if lf == Family::Float && rf == Family::Float && is_unsigned(l) && is_unsigned(r) {
                return Ok(());
            }
            comparable(l, &lt, r, &rt)
        }
        Operator::IsDistinctFrom | Operator::IsNotDistinctFrom => comparable(l, &lt, r, &rt),
        Operator::Plus | Operator::Minus | Operator::Multiply => match (lf, rf) {
            (Family::Decimal, Family::Decimal | Family::Int) | (Family::Int, Family::Decimal) => Ok(()),
            (Family::Float, Family::Float | Family::Int | Family::Decimal) | (Family::Int | Family::Decimal, Family::Float)
                if lt != DataType::Float32 && rt != DataType::Float32 =>
            {
                Ok(())
            }
            (Family::Timestamp, Family::Interval) if op != Operator::Multiply => Ok(()),
            (Family::Interval, Family::Timestamp) if op == Operator::Plus => Ok(()),
            _ => Err(unsupported(format!("{op} of {lt} and {rt}"))),
        },
        Operator::Divide if lt == DataType::Float64 && rt == DataType::Float64 => Ok(()),
        Operator::StringConcat if lf == Family::Text && rf == Family::Text => Ok(()),
        _ => Err(unsupported(format!("{op} of {lt} and {rt}"))),
    }
}

/// Whether a floating point value has lost the sign of its zero.
fn is_unsigned(e: &Expr) -> bool {
    matches!(e, Expr::BinaryExpr(b) if b.op == Operator::Plus && *b.right == zero())
}

/// Refuses sides that the engines would bring to one type in different ways.
fn comparable(l: &Expr, lt: &DataType, r: &Expr, rt: &DataType) -> Result<()> {
    let (lf, rf) = (family(lt)?, family(rt)?);
    let ok = match (lf, rf) {
        (Family::Float, _) | (_, Family::Float) => false,
        (Family::Interval, _) | (_, Family::Interval) => false,
        (Family::Null, _) | (_, Family::Null) => true,
        (a, b) if a == b || is_exact(a) && is_exact(b) => true,
        (Family::Date, Family::Timestamp) | (Family::Timestamp, Family::Date) => true,
        (Family::Date, Family::Text) => is_date(r),
        (Family::Text, Family::Date) => is_date(l),
        _ => false,
    };
    if ok { Ok(()) } else { Err(unsupported(format!("comparing {lt} with {rt}"))) }
}

/// Whether an expression is the text of a date that every engine reads in the same way.
fn is_date(e: &Expr) -> bool {
    let Expr::Literal(ScalarValue::Utf8(Some(s)), _) = e else { return false };
    let b = s.as_bytes();
    b.len() == 10 && b.iter().enumerate().all(|(i, c)| if i == 4 || i == 7 { *c == b'-' } else { c.is_ascii_digit() })
}

/// Refuses branches whose common type could differ.
fn one_type<'a>(parts: impl Iterator<Item = &'a Expr>, schema: &DFSchema) -> Result<()> {
    let mut seen: Option<Family> = None;
    for p in parts {
        let t = p.get_type(schema)?;
        let f = family(&t)?;
        if t == DataType::Float32 {
            return Err(unsupported("CASE and COALESCE of REAL"));
        }
        seen = match seen {
            _ if f == Family::Null => seen,
            None | Some(Family::Null) => Some(f),
            Some(s) if s == f => seen,
            Some(s) if is_exact(s) && is_exact(f) => Some(Family::Decimal),
            Some(s) if (is_exact(s) || s == Family::Float) && (is_exact(f) || f == Family::Float) => Some(Family::Float),
            Some(_) => return Err(unsupported("CASE and COALESCE of several types")),
        };
    }
    Ok(())
}

/// The value of an integer literal, cast or not.
fn integer(e: &Expr) -> Option<i64> {
    match e {
        Expr::Literal(ScalarValue::Int64(Some(v)), _) => Some(*v),
        Expr::Literal(ScalarValue::Int32(Some(v)), _) => Some(i64::from(*v)),
        Expr::Cast(c) if c.field.data_type().is_integer() => integer(&c.expr),
        _ => None,
    }
}

/// Checks a cast of an expression.
pub fn check_cast(e: &Expr, from: &DataType, to: &DataType) -> Result<()> {
    use DataType::*;
    let ok = match (from, to) {
        (a, b) if a == b => true,
        (Null, _) => family(to).is_ok(),
        (Int8, Int16 | Int32 | Int64) | (Int16, Int32 | Int64) | (Int32, Int64) => true,
        (Int64, Int32) => integer(e).is_some_and(|v| i32::try_from(v).is_ok()),
        (Int8 | Int16 | Int32 | Int64, Float64) | (Decimal128(..), Float64) | (Float32, Float64) => true,
        (Int8 | Int16 | Int32, Decimal128(p, s)) => i16::from(*p) - i16::from(*s) >= 10,
        (Int64, Decimal128(p, s)) => i16::from(*p) - i16::from(*s) >= 19 || integer(e).is_some(),
        (Decimal128(p, s), Decimal128(q, t)) => t >= s && i16::from(*q) - i16::from(*t) >= i16::from(*p) - i16::from(*s),
        (Utf8, Date32) => is_date(e),
        (Date32, Timestamp(TimeUnit::Microsecond, None)) | (Timestamp(TimeUnit::Microsecond, None), Date32) => true,
        (Int8 | Int16 | Int32 | Int64, Utf8) => true,
        _ => false,
    };
    if ok { Ok(()) } else { Err(unsupported(format!("CAST of {from} to {to}"))) }
}

fn check_function(name: &str, args: &[Expr], schema: &DFSchema) -> Result<()> {
    let types = args.iter().map(|a| a.get_type(schema)).collect::<Result<Vec<_>>>()?;
    let ok = match (name, &types[..]) {
        ("gw_add" | "gw_sub" | "gw_mul", _) => true,
        ("coalesce", _) => return one_type(args.iter(), schema),
        ("nullif", [a, b]) => return comparable(&args[0], a, &args[1], b),
        ("substr" | "substring", [DataType::Utf8, rest @ ..]) if !rest.is_empty() => {
            integer(&args[1]).is_some_and(|v| v >= 1) && args[2..].iter().all(|a| integer(a).is_some_and(|v| v >= 0))
        }
        ("left", [DataType::Utf8, _]) => integer(&args[1]).is_some_and(|v| v >= 0),
        ("character_length", [DataType::Utf8]) => true,
        ("date_part", [DataType::Utf8, DataType::Date32 | DataType::Timestamp(_, None)]) => {
            matches!(&args[0], Expr::Literal(ScalarValue::Utf8(Some(p)), _) if ["year", "month", "day", "quarter"].contains(&p.to_lowercase().as_str()))
        }
        _ => false,
    };
    if ok { Ok(()) } else { Err(unsupported(format!("the function {name} on these types"))) }
}

fn check_aggregate(name: &str, distinct: bool, args: &[Expr], schema: &DFSchema) -> Result<()> {
    let types = args.iter().map(|a| a.get_type(schema)).collect::<Result<Vec<_>>>()?;
    let ok = match (name, &types[..]) {
        ("count", [t]) => family(t)? != Family::Float || !distinct,
        ("sum", [t]) => !distinct && (is_exact(family(t)?) || *t == DataType::Float64),
        ("min" | "max", [t]) => !matches!(family(t)?, Family::Float | Family::Interval),
        _ => false,
    };
    if ok { Ok(()) } else { Err(unsupported(format!("the aggregate function {name} on these types"))) }
}
