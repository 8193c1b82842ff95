//! Rows of data files, without the deleted ones.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use datafusion::error::Result;
use futures::stream::{BoxStream, StreamExt};
use parquet::arrow::arrow_reader::ArrowReaderOptions;
use parquet::arrow::{ParquetRecordBatchStreamBuilder, ProjectionMask};
use parquet::file::metadata::ParquetMetaData;

use crate::columns::Mapping;
use crate::deletes::{positions, selection};
use crate::failure::failure;
use crate::wire::{Class, File};

/// Opens one file. The batches have the columns of `target`, of which only those of `needed` hold values.
pub async fn open(file: &File, target: &SchemaRef, needed: &[usize], batch_rows: usize) -> Result<BoxStream<'static, Result<RecordBatch>>> {
    let input = tokio::fs::File::open(&file.path).await.map_err(|e| unreadable(file, &e))?;
    let meta = input.metadata().await.map_err(|e| unreadable(file, &e))?;
    if !meta.is_file() || meta.len() != file.size as u64 {
        return Err(unreadable(file, &"it is not the file that the manifest names"));
    }
    // The types that the file's writer embedded are of no interest: dictionaries and views are no types of a table.
    let options = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let builder = ParquetRecordBatchStreamBuilder::new_with_options(input, options).await.map_err(|e| unreadable(file, &e))?;
    if builder.metadata().file_metadata().num_rows() != file.rows {
        return Err(unreadable(file, &"it has another number of rows than its manifest says"));
    }
    let mapping = Mapping::new(target, needed, file, builder.schema())?;
    let (chosen, ranges) = row_groups(builder.metadata(), file);
    let deleted = positions(&file.deleted)?;
    let mask = ProjectionMask::roots(builder.parquet_schema(), mapping.roots.iter().copied());
    let mut builder = builder.with_projection(mask).with_row_groups(chosen).with_batch_size(batch_rows);
    if !deleted.is_empty() {
        builder = builder.with_row_selection(selection(&ranges, &deleted));
    }
    let path = file.path.clone();
    let stream = builder.build().map_err(|e| unreadable(file, &e))?;
    Ok(stream.map(move |batch| mapping.apply(&batch.map_err(|e| failure(Class::Data, format!("{path}: {e}")))?)).boxed())
}

fn unreadable(file: &File, why: &dyn std::fmt::Display) -> datafusion::error::DataFusionError {
    failure(Class::Data, format!("data file {}: {why}", file.path))
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
