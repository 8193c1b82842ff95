//! Equality deletes: rows go whose key is a row of a delete file. NULL is equal to NULL here, and zeros whatever their sign.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::datatypes::{DataType, Float32Type, Float64Type, SchemaRef};
use arrow::row::{RowConverter, SortField};
use datafusion::error::Result;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use datafusion::physical_plan::metrics::Count;
use futures::stream::{self, StreamExt};

use crate::failure::failure;
use crate::input::Input;
use crate::payload::{Payload, field_id, schema};
use crate::read;
use crate::stores::Stores;
use crate::wire::{Class, EqualityDelete, File};

/// The equality deletes of a task group, by the columns of their keys.
pub struct Equality {
    keys: Vec<Keys>,
    _memory: MemoryReservation,
}

/// The delete files that have the same key columns.
struct Keys {
    /// Field ids, ascending.
    ids: Vec<i32>,
    /// The places of the key columns among those to read.
    columns: Vec<usize>,
    rows: RowConverter,
    /// Which delete files of the payload have a key.
    deleted: HashMap<Box<[u8]>, Vec<i32>>,
}

impl Equality {
    /// The columns to read that a payload's deletes need.
    pub fn needed(p: &Payload) -> Result<BTreeSet<usize>> {
        let mut out = BTreeSet::new();
        for d in &p.equality {
            out.extend(places(&p.read, &key_schema(d)?)?);
        }
        Ok(out)
    }

    /// Reads all delete files of a payload. What they take is counted in `pool`, what is read of them in `scanned`.
    pub async fn load(p: &Payload, stores: &Arc<Stores>, pool: &Arc<dyn MemoryPool>, batch_rows: usize, scanned: &Count) -> Result<Self> {
        let mut out = Self { keys: Vec::new(), _memory: MemoryConsumer::new("equality deletes").register(pool) };
        let files: Vec<File> = p.equality.iter().map(|d| File { path: d.path.clone(), size: d.size, rows: d.rows, ..File::default() }).collect();
        let opened: Vec<_> = files.iter().enumerate().map(|(i, f)| Input::open(f, p.urls.delete(i), stores)).collect();
        let mut inputs = stream::iter(opened).buffered(p.urls.ahead()).enumerate();
        while let Some((i, input)) = inputs.next().await {
            out.add(&p.read, &p.equality[i], i as i32, read::Source { input: input?, file: &files[i] }, batch_rows, scanned).await?;
        }
        Ok(out)
    }

    async fn add(
        &mut self,
        target: &SchemaRef,
        d: &EqualityDelete,
        number: i32,
        source: read::Source<'_>,
        batch_rows: usize,
        scanned: &Count,
    ) -> Result<()> {
        let schema = key_schema(d)?;
        let ids: Vec<i32> = schema.fields().iter().filter_map(|f| field_id(f)).collect();
        let at = match self.keys.iter().position(|k| k.ids == ids) {
            Some(at) => at,
            None => {
                let fields = schema.fields().iter().map(|f| SortField::new(f.data_type().clone())).collect();
                self.keys.push(Keys { ids, columns: places(target, &schema)?, rows: RowConverter::new(fields)?, deleted: HashMap::new() });
                self.keys.len() - 1
            }
        };
        let all: Vec<usize> = (0..schema.fields().len()).collect();
        let mut batches = read::open(source, &schema, &all, read::Lacking::Refused, batch_rows, scanned).await?;
        while let Some(batch) = batches.next().await {
            let batch = batch?;
            self._memory.try_grow(batch.get_array_memory_size() + batch.num_rows() * 96)?;
            let k = &mut self.keys[at];
            let columns: Vec<ArrayRef> = batch.columns().iter().map(comparable).collect();
            for row in &k.rows.convert_columns(&columns)? {
                let files = k.deleted.entry(row.as_ref().into()).or_default();
                if files.last() != Some(&number) {
                    files.push(number);
                }
            }
        }
        Ok(())
    }

    /// The rows that are left of a batch of a file.
    pub fn apply(&self, batch: RecordBatch, file: &[i32]) -> Result<RecordBatch> {
        let mut batch = batch;
        for k in &self.keys {
            if file.is_empty() || batch.num_rows() == 0 {
                break;
            }
            let columns: Vec<ArrayRef> = k.columns.iter().map(|i| comparable(batch.column(*i))).collect();
            let rows = k.rows.convert_columns(&columns)?;
            let keep: BooleanArray =
                rows.iter().map(|r| Some(!k.deleted.get(r.as_ref()).is_some_and(|d| d.iter().any(|n| file.contains(n))))).collect();
            if keep.false_count() > 0 {
                batch = filter_record_batch(&batch, &keep)?;
            }
        }
        Ok(batch)
    }
}

/// The key columns of a delete file, ascending by field id.
fn key_schema(d: &EqualityDelete) -> Result<SchemaRef> {
    let s = schema(&d.keys)?;
    let ids: Vec<Option<i32>> = s.fields().iter().map(|f| field_id(f)).collect();
    if ids.is_empty() || !ids.is_sorted() || ids.contains(&None) {
        return Err(failure(Class::Internal, "an equality delete without a key"));
    }
    Ok(s)
}

/// The places of the columns of `keys` among those to read.
fn places(target: &SchemaRef, keys: &SchemaRef) -> Result<Vec<usize>> {
    keys.fields()
        .iter()
        .map(|k| {
            let at = target.fields().iter().position(|f| field_id(f) == field_id(k) && f.data_type() == k.data_type());
            at.ok_or_else(|| failure(Class::Internal, "the key of an equality delete is not read"))
        })
        .collect()
}

/// Values that are equal have one form.
fn comparable(a: &ArrayRef) -> ArrayRef {
    match a.data_type() {
        DataType::Float32 => Arc::new(a.as_primitive::<Float32Type>().unary::<_, Float32Type>(|v| if v.is_nan() { f32::NAN } else { v + 0.0 })),
        DataType::Float64 => Arc::new(a.as_primitive::<Float64Type>().unary::<_, Float64Type>(|v| if v.is_nan() { f64::NAN } else { v + 0.0 })),
        _ => Arc::clone(a),
    }
}
