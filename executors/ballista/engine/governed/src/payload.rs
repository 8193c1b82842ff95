//! A task group, decoded.

use std::sync::Arc;

use arrow::datatypes::{Schema, SchemaRef};
use arrow::ipc::convert::try_schema_from_ipc_buffer;
use datafusion::error::{DataFusionError, Result};
use prost::Message;

use crate::hash::Key;
use crate::stores::Url;
use crate::wire;

/// The key of a field's metadata that holds its Iceberg field id.
pub const FIELD_ID: &str = "PARQUET:field_id";

/// How many objects are opened before their turn.
const AHEAD: usize = 8;

/// All that one task group reads and shows.
#[derive(Debug)]
#[allow(missing_docs)]
pub struct Payload {
    pub query: String,
    pub subject: String,
    pub user_issuer: String,
    pub relation: String,
    /// The columns to read, by the names that filter and masks use.
    pub read: SchemaRef,
    pub files: Vec<wire::File>,
    pub filter: Option<String>,
    pub pushed: Vec<String>,
    pub columns: Vec<Value>,
    /// The columns that are shown.
    pub schema: SchemaRef,
    pub equality: Vec<wire::EqualityDelete>,
    /// Initial defaults.
    pub defaults: Vec<wire::Constant>,
    /// Where files are that lie in an object store, until the guard has opened it.
    pub sealed: Option<wire::Sealed>,
    /// The same, opened.
    pub urls: Urls,
    /// The key of hashes, if filter or masks have some, until the guard has opened it.
    pub sealed_hash: Option<wire::Sealed>,
    /// The same, opened.
    pub hash: Option<Key>,
}

/// The URLs of a payload's files, in their order, and those of its equality deletes; none of a local file.
#[derive(Debug, Default)]
pub struct Urls {
    files: Vec<Option<Url>>,
    equality: Vec<Option<Url>>,
}

impl Urls {
    /// Returns URLs in the order of a payload's files and equality deletes.
    pub fn new(files: Vec<Option<Url>>, equality: Vec<Option<Url>>) -> Self {
        Self { files, equality }
    }

    /// The URL of a file.
    pub fn file(&self, i: usize) -> Option<&Url> {
        self.files.get(i)?.as_ref()
    }

    /// The URL of an equality delete.
    pub fn delete(&self, i: usize) -> Option<&Url> {
        self.equality.get(i)?.as_ref()
    }

    /// How many files are opened at once: one after the other where they are local, and some before their turn where each takes a while.
    pub fn ahead(&self) -> usize {
        if self.files.iter().any(Option::is_some) { AHEAD } else { 1 }
    }
}

/// Where a shown column comes from.
#[derive(Debug)]
pub enum Value {
    /// A column to read, by place.
    Raw(usize),
    /// An expression over the columns to read.
    Mask(String),
}

impl Payload {
    /// Reads a payload's bytes, strictly.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let w = wire::Payload::decode(bytes).map_err(|e| DataFusionError::External(Box::new(e)))?;
        let read = schema(&w.read)?;
        let shown = schema(&w.schema)?;
        let mut columns = Vec::new();
        for c in w.columns {
            columns.push(match c.value {
                Some(wire::column::Value::Raw(i)) if (i as usize) < read.fields().len() && i >= 0 => Value::Raw(i as usize),
                Some(wire::column::Value::Mask(text)) => Value::Mask(text),
                _ => return Err(DataFusionError::Internal("a column without a value".into())),
            });
        }
        let places = w.files.iter().flat_map(|f| &f.equality);
        if places.into_iter().any(|i| *i < 0 || *i as usize >= w.equality.len()) {
            return Err(DataFusionError::Internal("an equality delete that is not there".into()));
        }
        if columns.len() != shown.fields().len() {
            return Err(DataFusionError::Internal("columns and their schema differ".into()));
        }
        Ok(Self {
            query: w.query,
            subject: w.subject,
            user_issuer: w.user_issuer,
            relation: w.relation,
            read,
            files: w.files,
            filter: (!w.filter.is_empty()).then_some(w.filter),
            pushed: w.pushed,
            columns,
            schema: shown,
            equality: w.equality,
            defaults: w.defaults,
            sealed: w.sealed,
            urls: Urls::default(),
            sealed_hash: w.hash,
            hash: None,
        })
    }
}

/// Reads an Arrow IPC schema message.
pub fn schema(message: &[u8]) -> Result<SchemaRef> {
    let schema: Schema = try_schema_from_ipc_buffer(message)?;
    Ok(Arc::new(schema))
}

/// The Iceberg field id of a field.
pub fn field_id(f: &arrow::datatypes::Field) -> Option<i32> {
    f.metadata().get(FIELD_ID)?.parse().ok()
}
