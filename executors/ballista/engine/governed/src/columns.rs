//! A data file's columns as the table's columns of today: by field id, widened, or told by the partition.

use std::sync::Arc;

use arrow::array::{ArrayRef, RecordBatch, StringArray, new_null_array};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::error::Result;

use crate::failure::failure;
use crate::payload::field_id;
use crate::wire::{Class, File};

const STRICT: CastOptions<'static> = CastOptions { safe: false, format_options: arrow::util::display::FormatOptions::new() };

/// How one column to read comes from a file.
enum Source {
    /// From the projected batch's column, cast if need be.
    Column(usize),
    /// The same value in every row: what the partition says, or NULL.
    Constant(ArrayRef),
}

/// How a file's batches become batches of the columns to read.
pub struct Mapping {
    target: SchemaRef,
    sources: Vec<Source>,
    /// Top-level columns of the file that have to be read, ascending.
    pub roots: Vec<usize>,
}

impl Mapping {
    /// Finds the columns of `target` that are in `needed` in a file; the others are NULL and must not be looked at.
    pub fn new(target: &SchemaRef, needed: &[usize], file: &File, have: &Schema) -> Result<Self> {
        let by_name = have.fields().iter().all(|f| field_id(f).is_none());
        if by_name && file.mapping.is_empty() && !have.fields().is_empty() && !needed.is_empty() {
            return Err(failure(Class::Unsupported, "a data file without field ids in a table without a name mapping"));
        }
        let mut found: Vec<(usize, usize)> = Vec::new(); // place in target → root in the file
        for &i in needed {
            let id = field_id(target.field(i)).ok_or_else(|| failure(Class::Internal, "a column without field id"))?;
            let matches: Vec<usize> = (0..have.fields().len()).filter(|r| id_of(have.field(*r), by_name, file) == Some(id)).collect();
            match matches[..] {
                [] => {}
                [root] => {
                    widens(have.field(root), target.field(i))?;
                    found.push((i, root));
                }
                _ => return Err(failure(Class::Data, "a data file has a field id twice")),
            }
        }
        let mut roots: Vec<usize> = found.iter().map(|(_, root)| *root).collect();
        roots.sort_unstable();
        roots.dedup();
        let mut sources = Vec::new();
        for (i, field) in target.fields().iter().enumerate() {
            sources.push(match found.iter().find(|(at, _)| *at == i) {
                Some((_, root)) => Source::Column(roots.partition_point(|r| r < root)),
                None => Source::Constant(constant(field, file, needed.contains(&i))?),
            });
        }
        Ok(Self { target: Arc::clone(target), sources, roots })
    }

    /// Makes a batch of the columns to read.
    pub fn apply(&self, batch: &RecordBatch) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let mut columns = Vec::with_capacity(self.sources.len());
        for (source, field) in self.sources.iter().zip(self.target.fields()) {
            columns.push(match source {
                Source::Column(i) => cast_with_options(batch.column(*i), field.data_type(), &STRICT)?,
                Source::Constant(value) if value.is_null(0) => new_null_array(field.data_type(), rows),
                Source::Constant(value) => arrow::compute::take(value, &arrow::array::UInt32Array::from(vec![0; rows]), None)?,
            });
        }
        let options = arrow::record_batch::RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.target), columns, &options)?)
    }
}

fn id_of(f: &Field, by_name: bool, file: &File) -> Option<i32> {
    if !by_name {
        return field_id(f);
    }
    file.mapping.iter().find(|n| n.name == *f.name()).map(|n| n.field)
}

/// Refuses a type that is neither the column's nor one from which Iceberg lets a column grow.
fn widens(have: &Field, want: &Field) -> Result<()> {
    use DataType::*;
    let ok = match (have.data_type(), want.data_type()) {
        (a, b) if a == b => true,
        (Int32, Int64) | (Float32, Float64) => true,
        (Decimal128(p, s), Decimal128(q, t)) => s == t && p <= q,
        (Timestamp(TimeUnit::Microsecond, Some(zone)), Timestamp(TimeUnit::Microsecond, Some(_))) => {
            zone.as_ref() == "UTC" || zone.as_ref() == "+00:00"
        }
        // Writers of short integers, whose values are in range of what Iceberg has.
        (Int8 | Int16, Int32 | Int64) => true,
        _ => false,
    };
    if ok {
        Ok(())
    } else {
        Err(failure(Class::Unsupported, format!("a data file stores a column as {} for {}", have.data_type(), want.data_type())))
    }
}

/// The value of a column that the file lacks.
fn constant(field: &Field, file: &File, needed: bool) -> Result<ArrayRef> {
    let id = field_id(field);
    match file.constants.iter().find(|c| Some(c.field) == id && needed) {
        Some(c) if !c.null => {
            let text: ArrayRef = Arc::new(StringArray::from(vec![c.text.as_str()]));
            cast_with_options(&text, field.data_type(), &STRICT).map_err(|_| failure(Class::Data, "a partition's value cannot be read"))
        }
        _ => Ok(new_null_array(field.data_type(), 1)),
    }
}
