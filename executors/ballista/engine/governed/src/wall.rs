//! What a statement may use. The list is closed: a construct is on it when it is known to mean here what it means in the other executor,
//! for the types at hand; everything else is refused by name before anything runs.

use arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, JoinType, NullEquality, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{Distinct, Expr, ExprSchemable, GroupingSet, LogicalPlan, Operator};

use crate::failure::unsupported;
use crate::functions;
use crate::measures::is_dispersion;
use crate::relation::Relation;
use crate::rewrite::{is_grouped, is_ordered};
use crate::sorted::SORTED;
use crate::windows;

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

/// Refuses what only an optimised plan shows: subqueries that did not become joins, which nothing runs, and joins of all rows with all rows.
pub fn check_optimised(plan: &LogicalPlan) -> Result<()> {
    plan.apply_with_subqueries(|node| {
        node.apply_expressions(|e| {
            if e.exists(|e| Ok(matches!(e, Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_) | Expr::OuterReferenceColumn(..))))? {
                return Err(unsupported("a subquery in this place"));
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(TreeNodeRecursion::Continue)
    })?;
    check_pairs(plan, false)
}

/// Refuses joins that pair every row with every row if all pairs would be written to disk, before anyone sees the first one: where they are not
/// made fewer at once, and neither side is the result of an aggregate or a LIMIT.
fn check_pairs(plan: &LogicalPlan, fewer: bool) -> Result<()> {
    if let LogicalPlan::Join(j) = plan
        && j.on.is_empty()
        && j.filter.is_none()
        && !fewer
        && !is_result(&j.left)
        && !is_result(&j.right)
    {
        return Err(unsupported("a join without a condition"));
    }
    let fewer = match plan {
        LogicalPlan::Aggregate(_) | LogicalPlan::Limit(_) => true,
        LogicalPlan::Sort(s) => s.fetch.is_some(),
        LogicalPlan::Projection(_) | LogicalPlan::Filter(_) | LogicalPlan::SubqueryAlias(_) => fewer,
        _ => false,
    };
    plan.inputs().into_iter().try_for_each(|input| check_pairs(input, fewer))
}

/// Whether a plan is what is left of others, or is written out.
fn is_result(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Aggregate(_) | LogicalPlan::Limit(_) | LogicalPlan::Values(_) | LogicalPlan::EmptyRelation(_) => true,
        LogicalPlan::Sort(s) => s.fetch.is_some() || is_result(&s.input),
        LogicalPlan::Projection(p) => is_result(&p.input),
        LogicalPlan::Filter(f) => is_result(&f.input),
        LogicalPlan::SubqueryAlias(a) => is_result(&a.input),
        LogicalPlan::Join(j) => is_result(&j.left) && is_result(&j.right),
        LogicalPlan::Union(u) => u.inputs.iter().all(|i| is_result(i)),
        _ => false,
    }
}

/// Whether a plan has at most one row, whatever the data is.
pub fn one_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Join(j) => j.join_type == JoinType::Inner && one_row(&j.left) && one_row(&j.right),
        LogicalPlan::Aggregate(a) => a.group_expr.is_empty(),
        LogicalPlan::Limit(l) => one_row(&l.input) || l.fetch.as_ref().and_then(|n| integer(n)).is_some_and(|n| n <= 1),
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
        | LogicalPlan::EmptyRelation(_)
        | LogicalPlan::Subquery(_)
        | LogicalPlan::SubqueryAlias(_) => Ok(()),
        LogicalPlan::Sort(s) => {
            let types = s.expr.iter().map(|by| by.expr.get_type(s.input.schema())).collect::<Result<Vec<_>>>()?;
            flat(&types, "ORDER BY")
        }
        LogicalPlan::Union(u) => {
            for input in &u.inputs {
                for (have, want) in input.schema().fields().iter().zip(u.schema.fields()) {
                    one_column(have.data_type(), want.data_type(), "UNION")?;
                }
            }
            Ok(())
        }
        LogicalPlan::Values(v) => {
            for row in &v.values {
                for (e, f) in row.iter().zip(v.schema.fields()) {
                    if matches!(e.clone().unalias(), Expr::ScalarFunction(f) if f.name() == "gw_cast") {
                        return Err(unsupported("VALUES of several types"));
                    }
                    one_column(&e.get_type(&DFSchema::empty())?, f.data_type(), "VALUES")?;
                }
            }
            Ok(())
        }
        LogicalPlan::Aggregate(a) => {
            for g in &a.group_expr {
                let keys = match g {
                    Expr::GroupingSet(sets) => grouping(sets)?,
                    g => vec![g],
                };
                // With GROUP BY ALL the other executor has no keys then, so that there is a row where there is none to group.
                if a.group_expr.iter().all(|g| g.column_refs().is_empty()) {
                    return Err(unsupported("GROUP BY constants alone"));
                }
                for key in keys {
                    let t = key.get_type(a.input.schema())?;
                    flat([&t], "GROUP BY")?;
                    if is_float(&t) && !is_grouped(key) {
                        return Err(unsupported("GROUP BY floating point"));
                    }
                }
            }
            Ok(())
        }
        LogicalPlan::Window(_) => Ok(()),
        LogicalPlan::Distinct(Distinct::All(input)) if input.schema().fields().iter().any(|f| f.data_type().is_nested()) => {
            Err(unsupported("DISTINCT over a nested type"))
        }
        LogicalPlan::Distinct(Distinct::All(input)) => match input.as_ref() {
            LogicalPlan::Projection(p) if p.expr.iter().zip(p.schema.fields()).all(|(e, f)| !is_float(f.data_type()) || is_grouped(e)) => Ok(()),
            input => no_floats(input.schema(), "DISTINCT floating point"),
        },
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
        LogicalPlan::RecursiveQuery(_) => Err(unsupported("WITH RECURSIVE")),
        other => Err(unsupported(format!("{} here", other.display().to_string().split([':', ' ']).next().unwrap_or_default()))),
    }
}

fn no_floats(schema: &DFSchema, what: &str) -> Result<()> {
    if schema.fields().iter().any(|f| is_float(f.data_type())) { Err(unsupported(what)) } else { Ok(()) }
}

/// Refuses a column of several types that the engines would bring to one in different ways.
fn one_column(have: &DataType, want: &DataType, what: &str) -> Result<()> {
    let (h, w) = (family(have)?, family(want)?);
    if have == want || h == Family::Null || is_exact(h) && is_exact(w) {
        return Ok(());
    }
    Err(unsupported(format!("{what} of several types")))
}

/// The keys of grouping sets, of which none may be there twice: DataFusion would make one of them.
fn grouping(sets: &GroupingSet) -> Result<Vec<&Expr>> {
    if let GroupingSet::GroupingSets(sets) = sets {
        for (i, set) in sets.iter().enumerate() {
            if sets[..i].iter().any(|s| s.len() == set.len() && s.iter().all(|e| set.contains(e))) {
                return Err(unsupported("a grouping set twice"));
            }
        }
    }
    Ok(sets.distinct_expr())
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
        Expr::Column(_) | Expr::OuterReferenceColumn(..) | Expr::Literal(..) => shown(&e.get_type(schema)?),
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
        Expr::ScalarFunction(f) => check_function(e, f.name(), &f.args, schema),
        Expr::GroupingSet(_) => Ok(()),
        Expr::WindowFunction(w) => windows::check(w, schema),
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
    Uuid,
    Date,
    Timestamp,
    TimestampTz,
    Time,
    Interval,
    /// Floating point as `min` and `max` see it.
    Sortable,
}

fn family(t: &DataType) -> Result<Family> {
    Ok(match t {
        DataType::Null => Family::Null,
        DataType::Boolean => Family::Bool,
        // Ranks are unsigned, until they are cast.
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 | DataType::UInt64 => Family::Int,
        DataType::Decimal128(..) => Family::Decimal,
        DataType::Float32 | DataType::Float64 => Family::Float,
        DataType::Utf8 => Family::Text,
        DataType::Binary => Family::Binary,
        t if *t == functions::UUID => Family::Uuid,
        DataType::Date32 => Family::Date,
        DataType::Timestamp(TimeUnit::Microsecond, None) => Family::Timestamp,
        DataType::Timestamp(TimeUnit::Microsecond, Some(_)) => Family::TimestampTz,
        DataType::Time64(TimeUnit::Microsecond) => Family::Time,
        DataType::Interval(_) => Family::Interval,
        DataType::Time32(TimeUnit::Second) | DataType::Time64(TimeUnit::Nanosecond) => Family::Sortable,
        other if other.is_nested() => return Err(unsupported("a value of a nested type in this place")),
        other => return Err(unsupported(format!("values of the type {other}"))),
    })
}

/// Allows values of a kind, and what has such values inside. Nothing but columns is of the latter: they are shown, taken apart and asked for NULL.
fn shown(t: &DataType) -> Result<()> {
    match t {
        DataType::Struct(fields) => fields.iter().try_for_each(|f| shown(f.data_type())),
        DataType::List(f) | DataType::Map(f, _) => shown(f.data_type()),
        t => family(t).map(|_| ()),
    }
}

/// Refuses what has values inside where values are put in order or compared.
pub fn flat<'a>(types: impl IntoIterator<Item = &'a DataType>, what: &str) -> Result<()> {
    if types.into_iter().any(DataType::is_nested) { Err(unsupported(format!("{what} a nested type"))) } else { Ok(()) }
}

/// Whether values of a type may be the order or the partitions of a window.
pub fn check_order(t: &DataType) -> Result<bool> {
    Ok(family(t)? != Family::Interval)
}

/// Whether a type is floating point.
pub fn is_float(t: &DataType) -> bool {
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
        Operator::Eq
        | Operator::NotEq
        | Operator::Lt
        | Operator::LtEq
        | Operator::Gt
        | Operator::GtEq
        | Operator::IsDistinctFrom
        | Operator::IsNotDistinctFrom => comparable(l, &lt, r, &rt),
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

/// Refuses sides that the engines would bring to one type in different ways.
fn comparable(l: &Expr, lt: &DataType, r: &Expr, rt: &DataType) -> Result<()> {
    let (lf, rf) = (family(lt)?, family(rt)?);
    let ok = match (lf, rf) {
        (Family::Float, Family::Float) => lt == rt && is_ordered(l) && is_ordered(r),
        (Family::Float, _) | (_, Family::Float) => false,
        (Family::Interval, _) | (_, Family::Interval) => false,
        (Family::Null, _) | (_, Family::Null) => true,
        (a, b) if a == b || is_exact(a) && is_exact(b) => true,
        _ => false,
    };
    if ok { Ok(()) } else { Err(unsupported(format!("comparing {lt} with {rt}"))) }
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
pub fn integer(e: &Expr) -> Option<i64> {
    match e {
        Expr::Literal(ScalarValue::Int64(Some(v)), _) => Some(*v),
        Expr::Literal(ScalarValue::Int32(Some(v)), _) => Some(i64::from(*v)),
        Expr::Cast(c) if c.field.data_type().is_integer() => integer(&c.expr),
        _ => None,
    }
}

/// Checks a cast of an expression.
pub fn check_cast(e: &Expr, from: &DataType, to: &DataType) -> Result<()> {
    // Others are functions of ours by now.
    let ok = match (from, to) {
        (DataType::Null, _) => shown(to).is_ok(),
        (DataType::Int64, DataType::Int32) => integer(e).is_some_and(|v| i32::try_from(v).is_ok()),
        (DataType::Int64, DataType::Decimal128(..)) if integer(e).is_some() => true,
        _ => functions::native(from, to),
    };
    if ok { Ok(()) } else { Err(unsupported(format!("CAST of {from} to {to}"))) }
}

fn check_function(e: &Expr, name: &str, args: &[Expr], schema: &DFSchema) -> Result<()> {
    let types = args.iter().map(|a| a.get_type(schema)).collect::<Result<Vec<_>>>()?;
    match (name, &types[..]) {
        // Functions of ours refuse by themselves what they do not take.
        (name, _) if name.starts_with("gw_regexp_") && !functions::is_plain(name, args) => Err(unsupported("a regular expression of this kind")),
        (name, _) if name.starts_with("gw_") => family(&e.get_type(schema)?).map(|_| ()),
        ("get_field", [DataType::Struct(_), names @ ..]) if !names.is_empty() && args[1..].iter().all(is_text) => shown(&e.get_type(schema)?),
        ("nullif", [a, b]) if a == b || *b == DataType::Null => comparable(&args[0], a, &args[1], b),
        _ => Err(unsupported(format!("the function {name} on these types"))),
    }
}

/// Whether an expression is a constant text.
fn is_text(e: &Expr) -> bool {
    matches!(e, Expr::Literal(ScalarValue::Utf8(Some(_)), _))
}

/// Checks an aggregate function and its arguments.
pub fn check_aggregate(name: &str, distinct: bool, args: &[Expr], schema: &DFSchema) -> Result<()> {
    let types = args.iter().map(|a| a.get_type(schema)).collect::<Result<Vec<_>>>()?;
    let ok = match (name, &types[..]) {
        ("count", [t]) => !distinct || !t.is_nested() && (family(t)? != Family::Float || is_ordered(&args[0])),
        ("sum", [t]) => is_exact(family(t)?) || *t == DataType::Float64 && (!distinct || is_ordered(&args[0])),
        (SORTED, [DataType::Float64]) => !distinct,
        (name, [DataType::Float64]) if is_dispersion(name) => !distinct,
        ("bool_and" | "bool_or", [DataType::Boolean]) => true,
        ("gw_single", [t]) => !t.is_nested(),
        ("grouping", _) => true,
        ("min" | "max", [t]) => !matches!(family(t)?, Family::Float | Family::Interval),
        _ => false,
    };
    if ok { Ok(()) } else { Err(unsupported(format!("the aggregate function {name} on these types"))) }
}
