//! The policy of a relation, applied to batches: filter first, then what the user may be asked beside it, then masks.

use std::collections::BTreeSet;
use std::sync::Arc;

use arrow::array::{ArrayRef, BooleanArray, RecordBatch};
use arrow::compute::{FilterBuilder, cast_with_options};
use arrow::datatypes::{DataType, SchemaRef};
use arrow::record_batch::RecordBatchOptions;
use datafusion::common::DFSchema;
use datafusion::error::Result;
use datafusion::execution::{FunctionRegistry, SessionState};
use datafusion::logical_expr::ExprSchemable;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::collect_columns;

use crate::columns::STRICT;
use crate::failure::failure;
use crate::nested::plain;
use crate::payload::{Payload, Value};
use crate::wire::Class;
use crate::{hash, lazy, rewrite, wall};

/// A relation's policy, ready to be evaluated.
pub struct Policy {
    conditions: Vec<Arc<dyn PhysicalExpr>>,
    shown: Vec<Shown>,
    schema: SchemaRef,
    needed: Vec<usize>,
}

enum Shown {
    Raw(usize),
    Mask(Arc<dyn PhysicalExpr>),
}

impl Policy {
    /// Plans the expressions of a payload for the shown columns in `projection`, whose schema is `schema`.
    pub fn new(p: &Payload, projection: &[usize], schema: &SchemaRef, state: &SessionState) -> Result<Self> {
        let names = DFSchema::try_from(plain(&p.read))?;
        let mut state = state.clone(); // others' policies have another key, and statements none
        state.register_udf(hash::function(p.hash.clone()))?;
        let plan = |text: &str, to: Option<&DataType>| -> Result<Arc<dyn PhysicalExpr>> {
            let expr = rewrite::expr(state.create_logical_expr(text, &names)?, &names)?.data;
            wall::check_expr(&expr, &names)?;
            if let Some(to) = to {
                wall::check_cast(&expr, &expr.get_type(&names)?, to)?;
            }
            state.create_physical_expr(lazy::exact(expr, &names)?, &names)
        };
        let mut conditions = Vec::new();
        for text in p.filter.iter().chain(&p.pushed) {
            conditions.push(plan(text, None)?);
        }
        let mut needed = BTreeSet::new();
        for c in &conditions {
            needed.extend(collect_columns(c).iter().map(|c| c.index()));
        }
        let mut shown = Vec::new();
        for &i in projection {
            match p.columns.get(i).ok_or_else(|| failure(Class::Internal, "a column that is not shown"))? {
                Value::Raw(at) => {
                    needed.insert(*at);
                    shown.push(Shown::Raw(*at));
                }
                Value::Mask(text) => {
                    let mask = plan(text, Some(schema.field(shown.len()).data_type()))?;
                    needed.extend(collect_columns(&mask).iter().map(|c| c.index()));
                    shown.push(Shown::Mask(mask));
                }
            }
        }
        Ok(Self { conditions, shown, schema: Arc::clone(schema), needed: needed.into_iter().collect() })
    }

    /// The columns to read that matter.
    pub fn needed(&self) -> &[usize] {
        &self.needed
    }

    /// What the user may see of a batch. Each condition meets only rows that the ones before have left; the policy's is the first.
    pub fn apply(&self, mut batch: RecordBatch) -> Result<RecordBatch> {
        for c in &self.conditions {
            if batch.num_rows() == 0 {
                break;
            }
            let keep = c.evaluate(&batch)?.into_array(batch.num_rows())?;
            let keep = keep.as_any().downcast_ref::<BooleanArray>().ok_or_else(|| failure(Class::Internal, "a condition that is not boolean"))?;
            batch = self.filtered(&batch, keep)?;
        }
        let rows = batch.num_rows();
        let mut columns = Vec::with_capacity(self.shown.len());
        for (s, field) in self.shown.iter().zip(self.schema.fields()) {
            columns.push(match s {
                Shown::Raw(i) => Arc::clone(batch.column(*i)),
                Shown::Mask(e) => masked(e, &batch, field.data_type())?,
            });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?)
    }
}

impl Policy {
    /// The rows to keep. Of columns whose values nobody looks at there are as many.
    fn filtered(&self, batch: &RecordBatch, keep: &BooleanArray) -> Result<RecordBatch> {
        let filter = FilterBuilder::new(keep).optimize().build();
        let mut columns = Vec::with_capacity(batch.num_columns());
        for (i, column) in batch.columns().iter().enumerate() {
            let looked_at = self.needed.binary_search(&i).is_ok();
            columns.push(if looked_at { filter.filter(column)? } else { column.slice(0, filter.count()) });
        }
        let options = RecordBatchOptions::new().with_row_count(Some(filter.count()));
        Ok(RecordBatch::try_new_with_options(batch.schema(), columns, &options)?)
    }
}

fn masked(mask: &Arc<dyn PhysicalExpr>, batch: &RecordBatch, shown: &DataType) -> Result<ArrayRef> {
    let value = mask.evaluate(batch)?.into_array(batch.num_rows())?;
    Ok(cast_with_options(&value, shown, &STRICT)?)
}
