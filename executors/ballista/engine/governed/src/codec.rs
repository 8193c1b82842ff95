//! How our nodes travel in a plan. Decoding checks nothing that depends on a user's data and opens nothing: what is wrong with a task
//! is found in execution, where it fails the statement and nobody else.

use std::sync::Arc;

use arrow::datatypes::Schema;
use datafusion::common::internal_datafusion_err;
use datafusion::error::Result;
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{AggregateUDF, ScalarUDF, WindowUDF};
use datafusion::physical_plan::ExecutionPlan;
use datafusion_proto::physical_plan::{PhysicalExtensionCodec, PhysicalProtoConverterExtension};
use datafusion_proto::protobuf;
use prost::Message;

use crate::exec::{GovernedExec, Scan};
use crate::planned::{NothingExec, RootExec, SharedExec};
use crate::whole::WholeExec;

/// Starts the node's bytes; no message of the codec beneath starts so.
const MAGIC: &[u8] = b"\xffgatehouse scan 1";

/// All bytes of a node that gathers.
const WHOLE: &[u8] = b"\xffgatehouse whole 1";

/// All bytes of a node without rows, and of those that a task does without: a plan's root, and what is read twice.
const NOTHING: &[u8] = b"\xffgatehouse nothing 1";
const BARE: &[u8] = b"\xffgatehouse bare 1";

#[derive(Clone, PartialEq, Message)]
struct Node {
    #[prost(string, tag = "1")]
    relation: String,
    #[prost(uint64, repeated, tag = "2")]
    projection: Vec<u64>,
    #[prost(message, optional, tag = "3")]
    schema: Option<protobuf::Schema>,
    #[prost(uint64, tag = "4")]
    rows: u64,
}

/// Adds our nodes to those of another codec.
#[derive(Debug)]
pub struct GovernedCodec {
    beneath: Arc<dyn PhysicalExtensionCodec>,
}

impl GovernedCodec {
    /// Returns a codec over another one.
    pub fn new(beneath: Arc<dyn PhysicalExtensionCodec>) -> Self {
        Self { beneath }
    }
}

impl PhysicalExtensionCodec for GovernedCodec {
    fn try_decode(
        &self,
        buf: &[u8],
        inputs: &[Arc<dyn ExecutionPlan>],
        ctx: &TaskContext,
        converter: &dyn PhysicalProtoConverterExtension,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if buf == WHOLE {
            let [input, place] = inputs else {
                return Err(internal_datafusion_err!("a node that gathers with {} inputs", inputs.len()));
            };
            return Ok(Arc::new(WholeExec::placed(Arc::clone(input), Arc::clone(place))));
        }
        if buf == NOTHING || buf == BARE {
            let [input] = inputs else {
                return Err(internal_datafusion_err!("a node that was planned with {} inputs", inputs.len()));
            };
            let input = Arc::clone(input);
            return Ok(if buf == BARE { input } else { Arc::new(NothingExec::placed(input, Vec::new())) });
        }
        let Some(bytes) = buf.strip_prefix(MAGIC) else {
            return self.beneath.try_decode(buf, inputs, ctx, converter);
        };
        let node = Node::decode(bytes).map_err(|e| internal_datafusion_err!("a governed scan of another build: {e}"))?;
        let schema = node.schema.as_ref().ok_or_else(|| internal_datafusion_err!("a governed scan without schema"))?;
        let [input] = inputs else {
            return Err(internal_datafusion_err!("a governed scan with {} inputs", inputs.len()));
        };
        let scan = Scan {
            relation: node.relation,
            projection: node.projection.into_iter().map(|i| i as usize).collect(),
            schema: Arc::new(Schema::try_from(schema)?),
            rows: node.rows,
        };
        Ok(Arc::new(GovernedExec::new(scan, Arc::clone(input))))
    }

    fn try_encode(&self, node: Arc<dyn ExecutionPlan>, buf: &mut Vec<u8>, converter: &dyn PhysicalProtoConverterExtension) -> Result<()> {
        let any: &dyn std::any::Any = node.as_ref();
        if any.is::<WholeExec>() {
            buf.extend_from_slice(WHOLE);
            return Ok(());
        }
        if any.is::<RootExec>() || any.is::<SharedExec>() || any.is::<NothingExec>() {
            buf.extend_from_slice(if any.is::<NothingExec>() { NOTHING } else { BARE });
            return Ok(());
        }
        let Some(governed) = any.downcast_ref::<GovernedExec>() else {
            return self.beneath.try_encode(node, buf, converter);
        };
        let scan = governed.scan();
        let message = Node {
            relation: scan.relation.clone(),
            projection: scan.projection.iter().map(|i| *i as u64).collect(),
            schema: Some(scan.schema.as_ref().try_into()?),
            rows: scan.rows,
        };
        buf.extend_from_slice(MAGIC);
        message.encode(buf).map_err(|e| internal_datafusion_err!("{e}"))
    }

    fn try_decode_udf(&self, name: &str, buf: &[u8]) -> Result<Arc<ScalarUDF>> {
        self.beneath.try_decode_udf(name, buf)
    }

    fn try_encode_udf(&self, node: &ScalarUDF, buf: &mut Vec<u8>) -> Result<()> {
        self.beneath.try_encode_udf(node, buf)
    }

    fn try_decode_udaf(&self, name: &str, buf: &[u8]) -> Result<Arc<AggregateUDF>> {
        self.beneath.try_decode_udaf(name, buf)
    }

    fn try_encode_udaf(&self, node: &AggregateUDF, buf: &mut Vec<u8>) -> Result<()> {
        self.beneath.try_encode_udaf(node, buf)
    }

    fn try_decode_udwf(&self, name: &str, buf: &[u8]) -> Result<Arc<WindowUDF>> {
        self.beneath.try_decode_udwf(name, buf)
    }

    fn try_encode_udwf(&self, node: &WindowUDF, buf: &mut Vec<u8>) -> Result<()> {
        self.beneath.try_encode_udwf(node, buf)
    }
}
