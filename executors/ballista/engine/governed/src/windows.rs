//! Window functions: which of them may run, over which frames, and what makes them mean what they mean in the other executor.

use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::{DFSchema, ScalarValue};
use datafusion::error::Result;
use datafusion::logical_expr::expr::{Case, NullTreatment, ScalarFunction, Sort, WindowFunction, WindowFunctionDefinition};
use datafusion::logical_expr::{Expr, ExprSchemable, LogicalPlan, Window, WindowFrame, WindowFrameBound, WindowFrameUnits};

use crate::checked::{Op, arithmetic};
use crate::failure::unsupported;
use crate::measures::is_dispersion;
use crate::rewrite::is_ordered;
use crate::semantics::RANKS;
use crate::skipping;
use crate::sorted::{self, SORTED};
use crate::wall::{check_aggregate, check_order, flat, integer, is_float};

/// Rewrites a window function, all but the order of floating point, and says whether something changed.
pub fn rewrite(w: &mut WindowFunction, schema: &DFSchema) -> Result<bool> {
    let name = w.fun.name().to_owned();
    let mut changed = filtered(w);
    let p = &mut w.params;
    if p.null_treatment == Some(NullTreatment::IgnoreNulls)
        && let Some(f) = skipping::of(&name)
    {
        (w.fun, p.null_treatment) = (WindowFunctionDefinition::WindowUDF(f), None);
        return Ok(true);
    }
    if name == "sum" && is_whole(p.order_by.is_empty(), &p.window_frame) && p.args[0].get_type(schema)? == DataType::Float64 {
        w.fun = WindowFunctionDefinition::AggregateUDF(sorted::sum());
        return Ok(true);
    }
    // An end of a frame that is beyond the type of the order is an error.
    if let [by] = &mut p.order_by[..]
        && p.window_frame.units == WindowFrameUnits::Range
    {
        let t = by.expr.get_type(schema)?;
        for (back, n) in distances(&p.window_frame) {
            let n = match t {
                DataType::Int32 => i32::try_from(n).ok().map(|n| ScalarValue::Int32(Some(n))),
                DataType::Int64 => Some(ScalarValue::Int64(Some(n))),
                _ => None,
            };
            let Some(n) = n else { continue };
            let there_and_back = if back == by.asc { [Op::Sub, Op::Add] } else { [Op::Add, Op::Sub] };
            for op in there_and_back {
                let args = vec![std::mem::take(&mut by.expr), Expr::Literal(n.clone(), None)];
                by.expr = Expr::ScalarFunction(ScalarFunction::new_udf(arithmetic(op), args));
            }
            changed = true;
        }
    }
    Ok(changed)
}

/// Plans window functions by themselves where they are not over the same partitions and order: what checks the ends of a frame became part of its order, after the
/// SQL planner had put those together that were written alike. The columns stay as they were.
pub fn apart(w: Window) -> Result<LogicalPlan> {
    let mut plan = w.input;
    for alike in w.window_expr.chunk_by(|a, b| over(a) == over(b)) {
        plan = Arc::new(LogicalPlan::Window(Window::try_new(alike.to_vec(), plan)?));
    }
    Ok(Arc::unwrap_or_clone(plan))
}

/// The partitions and the order of a window function.
fn over(e: &Expr) -> Option<(&[Expr], &[Sort])> {
    match e {
        Expr::Alias(a) => over(&a.expr),
        Expr::WindowFunction(w) => Some((&w.params.partition_by, &w.params.order_by)),
        _ => None,
    }
}

/// Has an aggregate see NULL where its FILTER lets nothing through: DataFusion 55 does not send the FILTER of a window to another process. All
/// aggregates that may run pass over NULL.
fn filtered(w: &mut WindowFunction) -> bool {
    if !matches!(w.fun, WindowFunctionDefinition::AggregateUDF(_)) || w.params.args.len() != 1 {
        return false;
    }
    let Some(condition) = w.params.filter.take() else { return false };
    let arg = std::mem::take(&mut w.params.args[0]);
    w.params.args[0] = Expr::Case(Case::new(None, vec![(condition, Box::new(arg))], None));
    true
}

/// Checks a window function: its frame, and what it orders by.
pub fn check(w: &WindowFunction, schema: &DFSchema) -> Result<()> {
    let p = &w.params;
    let name = w.fun.name();
    if p.distinct || p.null_treatment.is_some() || p.filter.is_some() {
        return Err(unsupported("DISTINCT, FILTER or IGNORE NULLS in this window function"));
    }
    for e in p.partition_by.iter().chain(p.order_by.iter().map(|s| &s.expr)) {
        let t = e.get_type(schema)?;
        if !check_order(&t)? || is_float(&t) && !is_ordered(e) {
            return Err(unsupported(format!("a window over {t}")));
        }
    }
    let plain = p.window_frame == WindowFrame::new((!p.order_by.is_empty()).then_some(false));
    let types = p.args.iter().map(|a| a.get_type(schema)).collect::<Result<Vec<_>>>()?;
    flat(&types, "a window function of")?;
    let number = |at: usize, least: i64| p.args.get(at).is_none_or(|a| integer(a).is_some_and(|n| n >= least));
    let ok = match skipping::beneath(name) {
        _ if matches!(w.fun, WindowFunctionDefinition::AggregateUDF(_)) => {
            check_frame(w, schema)?;
            // The other executor sorts what it makes one of a whole partition of.
            let moving = !p.order_by.is_empty() && !is_whole(false, &p.window_frame);
            let known = AGGREGATES.contains(&name) || is_dispersion(name) && moving;
            return if known { check_aggregate(name, false, &p.args, schema) } else { Err(unsupported(format!("{name} OVER such a window"))) };
        }
        "percent_rank" | "cume_dist" => plain && p.args.is_empty(),
        "ntile" => plain && p.args.len() == 1 && number(0, 1),
        name if RANKS.contains(&name) => plain && p.args.is_empty(),
        "lag" | "lead" if p.args.get(2).is_some_and(|d| !d.column_refs().is_empty()) => {
            return Err(unsupported("lag and lead with a value of the row in place of one that is not there"));
        }
        "lag" | "lead" => plain && number(1, 0) && types.get(2).is_none_or(|t| *t == types[0]),
        "first_value" | "last_value" => {
            check_frame(w, schema)?;
            true
        }
        "nth_value" => {
            check_frame(w, schema)?;
            number(1, 1)
        }
        _ => false,
    };
    if ok { Ok(()) } else { Err(unsupported(format!("the window function {name} with this frame, or these arguments"))) }
}

/// The aggregate functions that may be over windows of all frames.
const AGGREGATES: [&str; 5] = ["count", "sum", "min", "max", SORTED];

/// Allows frames with constant bounds that do not cross; in RANGE of integers, those of other types reach only to peers and the ends of the partition.
fn check_frame(w: &WindowFunction, schema: &DFSchema) -> Result<()> {
    let (f, order) = (&w.params.window_frame, &w.params.order_by);
    let distances = distances(f);
    let crossed = match distances[..] {
        [(true, a), (true, b)] => a < b,
        [(false, a), (false, b)] => a > b,
        _ => false,
    };
    let ok = match f.units {
        WindowFrameUnits::Rows => true,
        WindowFrameUnits::Groups => !order.is_empty(),
        WindowFrameUnits::Range if distances.is_empty() => true,
        WindowFrameUnits::Range => matches!(&order[..], [by] if known_order(by.expr.get_type(schema)?, &distances)),
    };
    let known = [&f.start_bound, &f.end_bound].iter().filter(|b| !matches!(b, WindowFrameBound::CurrentRow) && !b.is_unbounded()).count();
    if ok && !crossed && known == distances.len() { Ok(()) } else { Err(unsupported("a window frame of this kind")) }
}

/// Whether the distances are numbers of the type of the order.
fn known_order(t: DataType, distances: &[(bool, i64)]) -> bool {
    t == DataType::Int64 || t == DataType::Int32 && distances.iter().all(|(_, n)| i32::try_from(*n).is_ok())
}

/// How far a frame reaches: back or forth, and by how much; nothing of bounds that are no such numbers.
fn distances(f: &WindowFrame) -> Vec<(bool, i64)> {
    let number = |v: &ScalarValue| match v {
        ScalarValue::UInt64(Some(n)) => i64::try_from(*n).ok(),
        ScalarValue::Utf8(Some(n)) => n.parse().ok().filter(|n| *n >= 0),
        _ => None,
    };
    let bounds = [&f.start_bound, &f.end_bound].into_iter();
    let reach = bounds.filter_map(|b| match b {
        WindowFrameBound::Preceding(v) => number(v).map(|n| (true, n)),
        WindowFrameBound::Following(v) => number(v).map(|n| (false, n)),
        WindowFrameBound::CurrentRow => None,
    });
    reach.collect()
}

/// Whether a frame is all of a partition.
fn is_whole(unordered: bool, f: &WindowFrame) -> bool {
    let open =
        |b: &WindowFrameBound| b.is_unbounded() || unordered && f.units == WindowFrameUnits::Range && matches!(b, WindowFrameBound::CurrentRow);
    open(&f.start_bound) && open(&f.end_bound)
}
