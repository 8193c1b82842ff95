//! A governed relation as a table of a session.

use std::fmt;
use std::sync::Arc;

use arrow::array::{BinaryArray, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::error::Result;
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;

use crate::exec::{GovernedExec, Scan};
use crate::payload;
use crate::wire;

/// One relation with its task groups.
pub struct Relation {
    name: String,
    schema: SchemaRef,
    rows: u64,
    expected: u64,
    groups: Vec<wire::TaskGroup>,
}

impl Relation {
    /// Reads a relation of a statement.
    pub fn new(r: wire::Relation) -> Result<Self> {
        let schema = payload::schema(&r.schema)?;
        let rows = r.rows.max(0) as u64;
        Ok(Self { name: r.name, schema, rows, expected: rows.min(r.expected.max(0) as u64), groups: r.groups })
    }

    /// The relation's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How many rows there are at most.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// How many of them meet the statement's own conditions, as a guess by the form of these. They are conditions of the scan and no longer in the plan.
    pub fn expected(&self) -> u64 {
        self.expected
    }
}

// Tokens and payloads do not belong into logs.
impl fmt::Debug for Relation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Relation {} of {} groups", self.name, self.groups.len())
    }
}

#[async_trait]
impl TableProvider for Relation {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(&self, _: &dyn Session, projection: Option<&Vec<usize>>, _: &[Expr], _: Option<usize>) -> Result<Arc<dyn ExecutionPlan>> {
        let projection = projection.cloned().unwrap_or_else(|| (0..self.schema.fields().len()).collect());
        let row = Arc::new(Schema::new(vec![Field::new("payload", DataType::Binary, false), Field::new("token", DataType::Utf8, false)]));
        let mut partitions = Vec::new();
        for g in &self.groups {
            let payload = BinaryArray::from_vec(vec![g.payload.as_slice()]);
            let token = StringArray::from(vec![g.token.as_str()]);
            partitions.push(vec![RecordBatch::try_new(Arc::clone(&row), vec![Arc::new(payload), Arc::new(token)])?]);
        }
        if partitions.is_empty() {
            partitions.push(Vec::new());
        }
        let schema = Arc::new(self.schema.project(&projection)?);
        let scan = Scan { relation: self.name.clone(), rows: self.rows, schema, projection };
        Ok(Arc::new(GovernedExec::new(scan, MemorySourceConfig::try_new_exec(&partitions, row, None)?)))
    }
}
