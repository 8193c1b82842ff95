//! Rows of data files, without those that are deleted by position.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::error::Result;
use datafusion::physical_plan::metrics::Count;
use futures::stream::{BoxStream, StreamExt};
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::arrow::{ParquetRecordBatchStreamBuilder, ProjectionMask, RowNumber};
use parquet::basic::Type as Physical;
use parquet::file::metadata::ParquetMetaData;

use crate::columns::Mapping;
use crate::deletes::{positions, selection};
use crate::input::{Input, damaged, unreadable};
use crate::wire::{Constant, File};

/// What a column that is needed holds if neither the file nor its partition has it.
#[derive(Clone, Copy)]
pub enum Lacking<'a> {
    /// Its initial default, or NULL.
    Default(&'a [Constant]),
    /// The file cannot be read.
    Refused,
}

/// A file, and its bytes.
pub struct Source<'a> {
    /// Opened.
    pub input: Input,
    /// What its manifest says of it.
    pub file: &'a File,
}

/// Reads one file. The batches have the columns of `target`, of which only those of `needed` hold values. `scanned` counts the bytes of the
/// column chunks that are read.
pub async fn open(
    source: Source<'_>,
    target: &SchemaRef,
    needed: &[usize],
    lacking: Lacking<'_>,
    batch_rows: usize,
    scanned: &Count,
) -> Result<BoxStream<'static, Result<RecordBatch>>> {
    let Source { mut input, file } = source;
    let metadata = ArrowReaderMetadata::load_async(&mut input, options()).await.map_err(|e| damaged(&file.path, e))?;
    if metadata.metadata().file_metadata().num_rows() != file.rows {
        return Err(unreadable(file, &"it has another number of rows than its manifest says"));
    }
    let have = microseconds(&metadata);
    let mut mapping = Mapping::new(target, needed, file, &have, lacking)?;
    let metadata = adapted(&metadata, &have, mapping.positions).map_err(|e| damaged(&file.path, e))?;
    let (chosen, ranges) = row_groups(metadata.metadata(), file);
    let deleted = positions(&file.deleted)?;
    let mask = ProjectionMask::roots(metadata.parquet_schema(), mapping.roots.iter().copied());
    scanned.add(chosen.iter().flat_map(|g| chunks(metadata.metadata(), *g, &mask)).map(|r| (r.end - r.start) as usize).sum());
    input.expect(chosen.iter().map(|g| chunks(metadata.metadata(), *g, &mask)));
    let builder = ParquetRecordBatchStreamBuilder::new_with_metadata(input, metadata);
    let mut builder = builder.with_projection(mask).with_row_groups(chosen).with_batch_size(batch_rows);
    if !deleted.is_empty() {
        builder = builder.with_row_selection(selection(&ranges, &deleted));
    }
    let path = file.path.clone();
    let stream = builder.build().map_err(|e| damaged(&file.path, e))?;
    Ok(stream.map(move |batch| mapping.apply(&batch.map_err(|e| damaged(&path, e))?)).boxed())
}

/// The types that the file's writer embedded are of no interest: dictionaries and views are no types of a table.
fn options() -> ArrowReaderOptions {
    ArrowReaderOptions::new().with_skip_arrow_metadata(true)
}

/// The file's columns, with timestamps of the old kind of 96 bits as what tables have: microseconds of UTC.
fn microseconds(metadata: &ArrowReaderMetadata) -> SchemaRef {
    let parquet = metadata.parquet_schema();
    let fields: Vec<Field> = metadata
        .schema()
        .fields()
        .iter()
        .zip(parquet.root_schema().get_fields())
        .map(|(f, p)| {
            if p.is_primitive() && p.get_physical_type() == Physical::INT96 {
                return f.as_ref().clone().with_data_type(DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())));
            }
            f.as_ref().clone()
        })
        .collect();
    Arc::new(Schema::new(fields))
}

/// The same file, read with other types, or with the position of each row as a further column at the end.
fn adapted(metadata: &ArrowReaderMetadata, types: &SchemaRef, positions: bool) -> parquet::errors::Result<ArrowReaderMetadata> {
    let mut options = options();
    if types.fields().iter().zip(metadata.schema().fields()).any(|(a, b)| a.data_type() != b.data_type()) {
        options = options.with_schema(Arc::clone(types));
    } else if !positions {
        return Ok(metadata.clone());
    }
    if positions {
        let field = Field::new("position", DataType::Int64, false).with_extension_type(RowNumber);
        options = options.with_virtual_columns(vec![Arc::new(field)])?;
    }
    ArrowReaderMetadata::try_new(Arc::clone(metadata.metadata()), options)
}

/// Where the chosen columns of a row group lie.
fn chunks(metadata: &ParquetMetaData, group: usize, mask: &ProjectionMask) -> Vec<Range<u64>> {
    let columns = metadata.row_group(group).columns().iter().enumerate().filter(|(leaf, _)| mask.leaf_included(*leaf));
    columns.map(|(_, c)| c.byte_range()).map(|(start, length)| start..start.saturating_add(length)).collect()
}

/// The row groups that start in the file's range of bytes, and their ranges of rows.
fn row_groups(metadata: &Arc<ParquetMetaData>, file: &File) -> (Vec<usize>, Vec<Range<u64>>) {
    let (mut chosen, mut ranges) = (Vec::new(), Vec::new());
    let mut row = 0u64;
    for (i, g) in metadata.row_groups().iter().enumerate() {
        let rows = g.num_rows() as u64;
        let start = g.columns().iter().map(|c| c.byte_range().0).min().unwrap_or(0);
        let whole = file.length == 0;
        if whole || (start >= file.start as u64 && start < (file.start + file.length) as u64) {
            chosen.push(i);
            ranges.push(row..row + rows);
        }
        row += rows;
    }
    (chosen, ranges)
}
