//! Files of keys that are replaced while the process runs.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use datafusion::error::{DataFusionError, Result};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// A key of one of Curve25519's two uses (RFC 8037), as a file of keys has it.
#[derive(Deserialize)]
pub(crate) struct Jwk {
    kty: String,
    crv: String,
    x: String,
    d: Option<String>,
    /// When a private key ends, in seconds since 1970: one that has been replaced.
    pub(crate) exp: Option<i64>,
}

impl Jwk {
    /// The public half, of a key of this curve.
    pub(crate) fn public(&self, curve: &str) -> Option<[u8; 32]> {
        (self.kty == "OKP" && self.crv == curve).then(|| decode(&self.x)).flatten()
    }

    /// The private half.
    pub(crate) fn private(&self) -> Option<[u8; 32]> {
        decode(self.d.as_ref()?)
    }
}

fn decode(text: &str) -> Option<[u8; 32]> {
    URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()
}

/// The keys of a file, as it is when they are used: a key that is taken out of it counts no more from then on, and a new one counts at once.
/// While the file cannot be used, half copied for example, the last good keys count.
pub(crate) struct KeyFile<K> {
    path: PathBuf,
    parse: fn(&[u8]) -> Option<K>,
    held: Mutex<Held<K>>,
}

struct Held<K> {
    keys: Arc<K>,
    /// The file that the keys were read from, and the last one that could not be used.
    read: Stamp,
    bad: Option<Stamp>,
}

/// What tells one version of a file from another.
type Stamp = (u64, u64, i64, i64);

impl<K> KeyFile<K> {
    /// Reads the keys.
    pub(crate) fn open(path: &Path, parse: fn(&[u8]) -> Option<K>) -> Result<Self> {
        let read = stamp(path)?;
        let bad = || DataFusionError::Configuration(format!("{}: no set of keys of its kind", path.display()));
        let keys = Arc::new(parse(&std::fs::read(path)?).ok_or_else(bad)?);
        Ok(Self { path: path.to_owned(), parse, held: Mutex::new(Held { keys, read, bad: None }) })
    }

    /// Returns the keys of now.
    pub(crate) fn now(&self) -> Arc<K> {
        let mut held = self.held.lock().expect("keys");
        // Before the file is read: what is written later has another stamp.
        let found = stamp(&self.path).unwrap_or_default();
        if found != held.read {
            match std::fs::read(&self.path).ok().and_then(|text| (self.parse)(&text)) {
                Some(keys) => (held.keys, held.read, held.bad) = (Arc::new(keys), found, None),
                None if held.bad == Some(found) => {}
                None => {
                    log::warn!("{}: its keys cannot be used; the last good ones are", self.path.display());
                    held.bad = Some(found);
                }
            }
        }
        Arc::clone(&held.keys)
    }
}

fn stamp(path: &Path) -> std::io::Result<Stamp> {
    let of = |m: Metadata| (m.ino(), m.size(), m.mtime(), m.mtime_nsec());
    std::fs::metadata(path).map(of)
}

/// Parses a file of keys, JSON.
pub(crate) fn parse<T: DeserializeOwned>(text: &[u8]) -> Option<T> {
    serde_json::from_slice(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_counts_as_it_is_now() {
        let path = std::env::temp_dir().join(format!("gatehouse-keys-{}", std::process::id()));
        std::fs::write(&path, "one").expect("a file");
        let parse: fn(&[u8]) -> Option<String> = |text| String::from_utf8(text.to_vec()).ok().filter(|t| !t.is_empty());
        let keys = KeyFile::open(&path, parse).expect("keys");
        assert_eq!(*keys.now(), "one");
        std::fs::write(&path, "second").expect("a file");
        assert_eq!(*keys.now(), "second");
        // Another file in its place, of the same size.
        let other = path.with_extension("new");
        std::fs::write(&other, "tertia").expect("a file");
        std::fs::rename(&other, &path).expect("a file");
        assert_eq!(*keys.now(), "tertia");
        std::fs::write(&path, "").expect("a file");
        assert_eq!(*keys.now(), "tertia", "half written");
        std::fs::remove_file(&path).expect("a file");
        assert_eq!(*keys.now(), "tertia", "not there");
        std::fs::write(&path, "fourth one").expect("a file");
        assert_eq!(*keys.now(), "fourth one");
        std::fs::remove_file(&path).expect("a file");
        assert!(KeyFile::open(&path, parse).is_err(), "none to begin with");
    }
}
