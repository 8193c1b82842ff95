//! AND, OR, CASE, BETWEEN and IN that evaluate on each row what they say, whatever other rows are near it.
//!
//! DataFusion evaluates the right side of AND on all rows of a batch, on those that the left side lets through, or on none, by how many of the
//! batch's rows the left side lets through. Which visible rows share a batch is up to hidden rows between them, so that these would decide
//! whether a statement meets a failure that its own condition excludes. Where the right side may fail it goes into a CASE, which is evaluated
//! row by row. DataFusion turns a CASE of truth values into AND and OR again, so here it is one of numbers.

use std::collections::BTreeSet;

use datafusion::common::DFSchema;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::error::Result;
use datafusion::logical_expr::expr::{Between, BinaryExpr, InList};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::{conjunction, merge_schema, split_conjunction_owned};
use datafusion::logical_expr::{Case, Expr, ExprSchemable, LogicalPlan, Operator, lit, not};
use datafusion::optimizer::AnalyzerRule;

use crate::functions::{number_of, truth_of};
use crate::hash;

/// Rewrites a statement's plan.
#[derive(Debug)]
pub struct Lazy;

impl AnalyzerRule for Lazy {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        let plan = plan.transform_down_with_subqueries(|node| {
            let schema = merge_schema(&node.inputs());
            let names = NamePreserver::new(&node);
            let filter = matches!(node, LogicalPlan::Filter(_) | LogicalPlan::Join(_));
            node.map_expressions(|e| {
                if !raises(&e) || has_subquery(&e) && !filter {
                    return Ok(Transformed::no(e));
                }
                let name = names.save(&e);
                let out = if filter { condition(e, &schema)? } else { exact(e, &schema)? };
                Ok(Transformed::yes(name.restore(out)))
            })
        })?;
        Ok(plan.data)
    }

    fn name(&self) -> &str {
        "lazy"
    }
}

/// The condition of a filter or a join. What cannot fail stays apart, so that the optimiser can move it; what can fail is evaluated where the
/// conditions on the same relations hold.
fn condition(e: Expr, schema: &DFSchema) -> Result<Expr> {
    let (mut first, mut apart) = (Vec::new(), Vec::new());
    let mut raising: Vec<(BTreeSet<String>, Vec<Expr>)> = Vec::new();
    for part in split_conjunction_owned(e) {
        if has_subquery(&part) {
            apart.push(part);
        } else if raises(&part) {
            let of = relations(&part);
            let part = exact(part, schema)?;
            match raising.iter_mut().find(|(r, _)| *r == of) {
                Some((_, parts)) => parts.push(part),
                None => raising.push((of, vec![part])),
            }
        } else {
            apart.push(part);
        }
    }
    for (of, parts) in raising {
        let safe = conjunction(apart.iter().filter(|p| !has_subquery(p) && relations(p).is_subset(&of)).cloned());
        let guarded = safe.is_some();
        let mut all = safe;
        for part in parts {
            all = Some(match all {
                Some(before) => lazy(Operator::And, before, part),
                None => part,
            });
        }
        match all {
            Some(all) if guarded => apart.push(all),
            Some(all) => first.push(all), // the left side of AND is evaluated on every row
            None => {}
        }
    }
    first.append(&mut apart);
    Ok(conjunction(first).unwrap_or_else(|| lit(true)))
}

/// An expression that evaluates on each row what it says.
pub fn exact(e: Expr, schema: &DFSchema) -> Result<Expr> {
    let out = e.transform_up(|e| {
        Ok(match e {
            Expr::BinaryExpr(BinaryExpr { left, op: op @ (Operator::And | Operator::Or), right }) if raises(&right) => {
                Transformed::yes(lazy(op, *left, *right))
            }
            Expr::Between(Between { expr, negated, low, high }) if raises(&high) => {
                let both = lazy(Operator::And, expr.clone().gt_eq(*low), expr.lt_eq(*high));
                Transformed::yes(if negated { not(both) } else { both })
            }
            Expr::InList(InList { expr, list, negated }) if list.iter().skip(1).any(raises) => {
                let any = list.into_iter().map(|v| expr.as_ref().clone().eq(v)).reduce(|a, b| lazy(Operator::Or, a, b));
                let any = any.unwrap_or_else(|| lit(false));
                Transformed::yes(if negated { not(any) } else { any })
            }
            Expr::Case(c) if truth(&c, schema) => {
                let bits = |e: Box<Expr>| Box::new(number_of(*e));
                let when = c.when_then_expr.into_iter().map(|(w, t)| (w, bits(t))).collect();
                Transformed::yes(truth_of(Expr::Case(Case::new(c.expr, when, c.else_expr.map(bits)))))
            }
            e => Transformed::no(e),
        })
    })?;
    Ok(out.data)
}

/// Whether a CASE gives truth values, and something in it may fail.
fn truth(c: &Case, schema: &DFSchema) -> bool {
    let all = Expr::Case(c.clone());
    raises(&all) && all.get_type(schema).is_ok_and(|t| t == arrow::datatypes::DataType::Boolean)
}

/// AND or OR whose right side is evaluated on the rows that need it. On those the left side is the same everywhere, or NULL, so that
/// DataFusion leaves none of them out.
fn lazy(op: Operator, left: Expr, right: Expr) -> Expr {
    let (needed, known) = match op {
        Operator::And => (Expr::IsNotFalse(Box::new(left.clone())), 0i8),
        _ => (Expr::IsNotTrue(Box::new(left.clone())), 1i8),
    };
    let both = Expr::BinaryExpr(BinaryExpr { left: Box::new(left), op, right: Box::new(right) });
    truth_of(Expr::Case(Case::new(None, vec![(Box::new(needed), Box::new(number_of(both)))], Some(Box::new(lit(known))))))
}

/// Functions that take every value of their types.
const SAFE: &[&str] = &[
    "gw_ordered",
    "gw_grouped",
    "gw_sortable",
    "gw_sorted",
    "gw_regexp_matches",
    "gw_regexp_full",
    "gw_digits",
    "gw_greatest",
    "gw_least",
    "gw_upper",
    "gw_lower",
    "gw_trim",
    "gw_ltrim",
    "gw_rtrim",
    "gw_length",
    "gw_strlen",
    "gw_strpos",
    "gw_contains",
    "gw_starts_with",
    "gw_ends_with",
    "gw_left",
    "gw_right",
    "get_field",
    "coalesce",
    "nullif",
    hash::NAME,
];

/// Whether an expression may fail on some row. Nothing is known of subqueries; constants are computed once for all rows.
pub fn raises(e: &Expr) -> bool {
    let may = |e: &Expr| {
        let kind = match e {
            Expr::ScalarFunction(f) => !SAFE.contains(&f.name()),
            Expr::Cast(_) | Expr::Negative(_) => true,
            Expr::BinaryExpr(b) => matches!(b.op, Operator::Plus | Operator::Minus | Operator::Multiply | Operator::Divide | Operator::Modulo),
            _ => false,
        };
        Ok(kind && !e.column_refs().is_empty())
    };
    e.exists(may).unwrap_or(true)
}

/// Whether an expression has a subquery, or a column of the statement around it: the optimiser has to see these as they are.
pub fn has_subquery(e: &Expr) -> bool {
    let part = |e: &Expr| Ok(matches!(e, Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_) | Expr::OuterReferenceColumn(..)));
    e.exists(part).unwrap_or(true)
}

/// The relations whose columns an expression has.
fn relations(e: &Expr) -> BTreeSet<String> {
    e.column_refs().iter().map(|c| c.relation.as_ref().map_or_else(String::new, ToString::to_string)).collect()
}
