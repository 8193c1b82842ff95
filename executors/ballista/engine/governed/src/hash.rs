//! The keyed hash of masks. The sessions of policies know it and those of statements do not; only an executor has the key, for as long as it
//! reads the task group that came with it.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::array::{ArrayRef, AsArray, StringArray};
use arrow::datatypes::DataType;
use datafusion::common::ScalarValue;
use datafusion::error::Result;
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use ring::digest::{Context, SHA256};

use crate::failure::failure;
use crate::functions::hex;
use crate::wire::{Class, HashKey};

/// The function's name in the texts of policies.
pub const NAME: &str = "gw_hash";

/// Both keys of one hash inside of another: sha256(outer || sha256(inner || value)), all in hex.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Key(HashKey);

impl Key {
    /// Takes what a gateway has sealed. Keys are never empty, so that nothing is hashed without one.
    pub fn new(key: HashKey) -> Option<Self> {
        (!key.inner.is_empty() && !key.outer.is_empty()).then_some(Self(key))
    }

    fn hash(&self, value: &str) -> String {
        let inner = keyed(&self.0.inner, value);
        keyed(&self.0.outer, &inner)
    }
}

// Keys do not belong into logs.
impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

fn keyed(key: &str, value: &str) -> String {
    let mut all = Context::new(&SHA256);
    all.update(key.as_bytes());
    all.update(value.as_bytes());
    hex(all.finish().as_ref())
}

/// The function with its key. Without one it can be planned and not be evaluated.
pub fn function(key: Option<Key>) -> Arc<ScalarUDF> {
    Arc::new(ScalarUDF::from(Keyed { key, signature: Signature::exact(vec![DataType::Utf8], Volatility::Immutable) }))
}

#[derive(Debug)]
struct Keyed {
    key: Option<Key>,
    signature: Signature,
}

impl PartialEq for Keyed {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Keyed {}

impl Hash for Keyed {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key.hash(state);
    }
}

impl ScalarUDFImpl for Keyed {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let Some(key) = &self.key else {
            return Err(failure(Class::Credential, "a hash without its key"));
        };
        let constant = matches!(args.args[..], [ColumnarValue::Scalar(_)]);
        let values = args.args[0].to_array(if constant { 1 } else { args.number_rows })?;
        let out: ArrayRef = Arc::new(values.as_string::<i32>().iter().map(|v| v.map(|v| key.hash(v))).collect::<StringArray>());
        Ok(if constant { ColumnarValue::Scalar(ScalarValue::try_from_array(&out, 0)?) } else { ColumnarValue::Array(out) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes() {
        let key = |inner: &str, outer: &str| Key::new(HashKey { inner: inner.to_owned(), outer: outer.to_owned() });
        let k = key("aa", "bb").expect("a key");
        // printf aax | sha256sum, and of bb before that.
        assert_eq!(keyed("aa", "x"), "69857c144f48fc4bb4bd895859da03f8300ed51fe88a21b5f6a239ab5d67f617");
        assert_eq!(k.hash("x"), keyed("bb", &keyed("aa", "x")));
        assert_eq!(format!("{k:?} {:?}", function(Some(k.clone()))).find("aa"), None);
        assert!(key("", "bb").is_none() && key("aa", "").is_none());
    }
}
