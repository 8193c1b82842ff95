//! A data file's columns as the table's columns of today: by field id, widened, told by the partition, or by default.

use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BinaryArray, FixedSizeBinaryArray, Int64Array, RecordBatch, StringArray, new_null_array};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Field, Fields, Int64Type, Schema, SchemaRef, TimeUnit};
use datafusion::error::Result;

use crate::failure::failure;
use crate::functions;
use crate::nested::{Shape, plain, plain_type};
use crate::payload::field_id;
use crate::read::Lacking;
use crate::wire::{Class, Constant, File};

/// The reserved field ids of a row's id and of the number of the commit that wrote it last.
const ROW_ID: i32 = 2_147_483_540;
const LAST_UPDATED: i32 = 2_147_483_539;

/// A value that does not fit is an error.
pub const STRICT: CastOptions<'static> = CastOptions { safe: false, format_options: arrow::util::display::FormatOptions::new() };

/// How one column to read comes from a file.
enum Source {
    /// From the projected batch's column, cast if need be.
    Column(usize, Shape),
    /// The same value in every row: what the partition says, the default, or NULL.
    Constant(ArrayRef),
    /// A row's id: what the file has for a row that was moved into it, or else its place counted from the file's first id.
    RowId(Option<usize>, Option<i64>),
    /// The number of the commit that wrote a row last, likewise.
    LastUpdated(Option<usize>, Option<i64>),
}

/// How a file's batches become batches of the columns to read.
pub struct Mapping {
    target: SchemaRef,
    sources: Vec<Source>,
    /// Top-level columns of the file that have to be read, ascending.
    pub roots: Vec<usize>,
    /// Whether the positions of the rows have to be read as a further column.
    pub positions: bool,
}

impl Mapping {
    /// Finds the columns of `target` that are in `needed` in a file; the others are NULL and must not be looked at.
    pub fn new(target: &SchemaRef, needed: &[usize], file: &File, have: &Schema, lacking: Lacking<'_>) -> Result<Self> {
        let by_name = have.fields().iter().all(|f| field_id(f).is_none());
        if by_name && file.mapping.is_empty() && !have.fields().is_empty() && !needed.is_empty() {
            return Err(failure(Class::Unsupported, "a data file without field ids in a table without a name mapping"));
        }
        let find = Finder { by_name, file, lacking };
        let mut found: Vec<(usize, usize)> = Vec::new(); // place in target → root in the file
        for &i in needed {
            found.extend(find.among(have.fields(), target.field(i), "")?.map(|root| (i, root)));
        }
        let mut roots: Vec<usize> = found.iter().map(|(_, root)| *root).collect();
        roots.sort_unstable();
        roots.dedup();
        let mut sources = Vec::new();
        let mut positions = false;
        let shown = plain(target);
        for (i, field) in shown.fields().iter().enumerate() {
            let root = found.iter().find(|(at, _)| *at == i).map(|(_, root)| *root);
            let at = root.map(|root| roots.partition_point(|r| *r < root));
            let shape = root.map(|root| Shape::new(have.field(root), target.field(i), have.field(root).name(), &find)).transpose()?;
            sources.push(match (field_id(field), at) {
                _ if !needed.contains(&i) => Source::Constant(new_null_array(field.data_type(), 1)),
                (Some(ROW_ID), at) => {
                    positions |= file.first_row.is_some();
                    Source::RowId(at, file.first_row)
                }
                (Some(LAST_UPDATED), at) => Source::LastUpdated(at, file.first_row.map(|_| file.sequence)),
                (_, Some(at)) => Source::Column(at, shape.unwrap_or_else(|| Shape::Leaf(field.data_type().clone()))),
                (_, None) => Source::Constant(constant(field, file, lacking)?),
            });
        }
        Ok(Self { target: shown, sources, roots, positions })
    }

    /// Makes a batch of the columns to read.
    pub fn apply(&mut self, batch: &RecordBatch) -> Result<RecordBatch> {
        let rows = batch.num_rows();
        let mut columns = Vec::with_capacity(self.sources.len());
        for (source, field) in self.sources.iter_mut().zip(self.target.fields()) {
            columns.push(match source {
                Source::Column(i, shape) => shape.apply(batch.column(*i))?,
                Source::Constant(value) if value.is_null(0) => {
                    if value.len() < rows {
                        *value = new_null_array(field.data_type(), rows); // and the batches after this one have some of it
                    }
                    value.slice(0, rows)
                }
                Source::Constant(value) => arrow::compute::take(value, &arrow::array::UInt32Array::from(vec![0; rows]), None)?,
                Source::RowId(at, first) => {
                    let positions = batch.columns().last().and_then(|c| c.as_primitive_opt::<Int64Type>());
                    let own = |i: usize| Some((*first)? + positions?.value(i));
                    or_own(batch, *at, own)?
                }
                Source::LastUpdated(at, sequence) => or_own(batch, *at, |_| *sequence)?,
            });
        }
        let options = arrow::record_batch::RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::clone(&self.target), columns, &options)?)
    }
}

/// Finds fields of a file by their ids, or by the table's name mapping if the file has none.
pub struct Finder<'a> {
    by_name: bool,
    file: &'a File,
    lacking: Lacking<'a>,
}

impl Finder<'_> {
    /// The place among `fields`, which are inside of `path`, of the one that `want` is today.
    pub fn among(&self, fields: &Fields, want: &Field, path: &str) -> Result<Option<usize>> {
        let id = field_id(want).ok_or_else(|| failure(Class::Internal, "a column without field id"))?;
        let mut matches = (0..fields.len()).filter(|i| self.id(&fields[*i], path) == Some(id));
        match (matches.next(), matches.next()) {
            (found, None) => Ok(found),
            _ => Err(failure(Class::Data, "a data file has a field id twice")),
        }
    }

    fn id(&self, f: &Field, path: &str) -> Option<i32> {
        if !self.by_name {
            return field_id(f);
        }
        self.file.mapping.iter().find(|n| n.name.strip_prefix(path) == Some(f.name())).map(|n| n.field)
    }

    /// What a field of a struct is that the file lacks: its initial default, or NULL.
    pub fn inside(&self, want: &Field) -> Result<ArrayRef> {
        match self.lacking {
            Lacking::Default(defaults) => told(want, defaults.iter().find(|c| Some(c.field) == field_id(want))),
            Lacking::Refused => Err(failure(Class::Data, "a delete file lacks a part of its key")),
        }
    }
}

/// Refuses a type that is neither the column's nor one from which Iceberg lets a column grow.
pub fn widens(have: &Field, want: &Field) -> Result<()> {
    use DataType::*;
    let ok = match (have.data_type(), want.data_type()) {
        (a, b) if a == b => true,
        (Int32, Int64) | (Float32, Float64) => true,
        (Decimal128(p, s), Decimal128(q, t)) => s == t && p <= q,
        (Timestamp(TimeUnit::Microsecond, Some(zone)), Timestamp(TimeUnit::Microsecond, Some(_))) => {
            zone.as_ref() == "UTC" || zone.as_ref() == "+00:00"
        }
        (FixedSizeBinary(_), Binary) => true,
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

/// What a column has, and in place of NULL what the file's own numbers say.
fn or_own(batch: &RecordBatch, at: Option<usize>, own: impl Fn(usize) -> Option<i64>) -> Result<ArrayRef> {
    let has = match at {
        Some(at) => Some(cast_with_options(batch.column(at), &DataType::Int64, &STRICT)?),
        None => None,
    };
    let has = has.as_ref().map(|a| a.as_primitive::<Int64Type>());
    let value = |i: usize| has.and_then(|a| a.is_valid(i).then(|| a.value(i))).or_else(|| own(i));
    Ok(Arc::new((0..batch.num_rows()).map(value).collect::<Int64Array>()))
}

/// The value of a column that the file lacks.
fn constant(field: &Field, file: &File, lacking: Lacking<'_>) -> Result<ArrayRef> {
    let id = field_id(field);
    let is = |c: &&Constant| Some(c.field) == id;
    let told = match lacking {
        Lacking::Default(defaults) => file.constants.iter().find(is).or_else(|| defaults.iter().find(is)),
        Lacking::Refused => return Err(failure(Class::Data, "a delete file lacks a column of its key")),
    };
    self::told(field, told)
}

fn told(field: &Field, told: Option<&Constant>) -> Result<ArrayRef> {
    match told {
        Some(c) if !c.null => parsed(&c.text, field.data_type()),
        _ => Ok(new_null_array(&plain_type(field.data_type()), 1)),
    }
}

/// Reads the text of a value.
fn parsed(text: &str, to: &DataType) -> Result<ArrayRef> {
    let unread = || failure(Class::Unsupported, "a partition's value or a default of this kind");
    if *to == DataType::Binary {
        return Ok(Arc::new(BinaryArray::from_vec(vec![functions::blob(text).map_err(|_| unread())?.as_slice()])));
    }
    if *to == functions::UUID {
        let id = functions::uuid(text).map_err(|_| unread())?;
        return Ok(Arc::new(FixedSizeBinaryArray::try_from_iter(std::iter::once(id))?));
    }
    let text: ArrayRef = Arc::new(StringArray::from(vec![text]));
    cast_with_options(&text, to, &STRICT).map_err(|_| unread())
}

/// A finder by ids, for tests.
#[cfg(test)]
pub fn finder<'a>(file: &'a File, defaults: &'a [Constant]) -> Finder<'a> {
    Finder { by_name: false, file, lacking: Lacking::Default(defaults) }
}
