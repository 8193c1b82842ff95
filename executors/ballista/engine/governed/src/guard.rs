//! The guard of an executor: it lets a task group run only with the credential that was minted for it.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, RwLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use datafusion::error::{DataFusionError, Result};
use serde::Deserialize;

use crate::failure::{failure, unsupported};
use crate::payload::{Payload, Urls};
use crate::seal::Vault;
use crate::stores::Stores;
use crate::token::{Claims, Keys, hash};
use crate::wire::{Class, Sealed};

/// How often the file of keys is looked at again for a token that no key fits.
const RELOAD: Duration = Duration::from_secs(5);

/// The public half of the gateway's keys, as `keys.json` has them.
#[derive(Deserialize)]
struct KeyFile {
    issuer: String,
    keys: Vec<Jwk>,
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    crv: String,
    x: String,
}

/// Verifies credentials inside execution, with public keys only.
pub struct Guard {
    path: PathBuf,
    keys: RwLock<(Keys, Instant)>,
    /// Which job presented a token first, by token, with the token's expiry.
    seen: Mutex<HashMap<String, (String, i64)>>,
    vault: Option<Vault>,
}

impl Guard {
    /// Reads the keys. The file may change later: a new key is found when a token of it arrives.
    /// `vault` opens what gateways seal; without it only local files are read.
    pub fn open(path: PathBuf, vault: Option<Vault>) -> Result<Self> {
        let keys = load(&path)?;
        Ok(Self { path, keys: RwLock::new((keys, Instant::now())), seen: Mutex::default(), vault })
    }

    /// Checks that the token is for these bytes, in this query and relation, and that no other job has used it. A retry of a task, or
    /// several tasks that read the same group, present it again within one job.
    pub fn admit(&self, place: &Place<'_>, bytes: &[u8], token: &str, stores: &Stores) -> Result<Payload> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs() as i64);
        let claims = self.verify(token, now).map_err(|why| refused(place, why))?;
        if claims.digest != hash(bytes) {
            return Err(refused(place, "it is for another payload"));
        }
        let mut payload = Payload::decode(bytes).map_err(|_| refused(place, "its payload cannot be read"))?;
        for (name, ours, theirs) in [
            ("query", place.query, &claims.query),
            ("relation", place.relation, &claims.relation),
            ("query inside", place.query, &payload.query),
            ("relation inside", place.relation, &payload.relation),
            ("user", &*payload.subject, &claims.subject),
            ("user's issuer", &*payload.user_issuer, &claims.user_issuer),
        ] {
            if ours.is_empty() || ours != theirs {
                return Err(refused(place, &format!("it is for another {name}")));
            }
        }
        self.once(place, &claims, now)?;
        if let Some(sealed) = payload.sealed.take() {
            payload.urls = self.urls(place, &claims.id, &sealed, &payload, stores)?;
        }
        Ok(payload)
    }

    /// Opens the URLs of a payload's files. There is a place for each, or it is not for this payload.
    fn urls(&self, place: &Place<'_>, token: &str, sealed: &Sealed, payload: &Payload, stores: &Stores) -> Result<Urls> {
        let Some(vault) = &self.vault else {
            return Err(unsupported("its executors read no object stores"));
        };
        let locations = vault.unseal(sealed, place.query, place.relation, token).map_err(|why| refused(place, why))?;
        if (locations.files.len(), locations.equality.len()) != (payload.files.len(), payload.equality.len()) {
            return Err(refused(place, "its locations are not those of its files"));
        }
        let urls = |all: Vec<String>| all.iter().map(|u| (!u.is_empty()).then(|| stores.url(u)).transpose()).collect::<Result<Vec<_>>>();
        Ok(Urls::new(urls(locations.files)?, urls(locations.equality)?))
    }

    fn verify(&self, token: &str, now: i64) -> std::result::Result<Claims, &'static str> {
        let (first, age) = {
            let keys = self.keys.read().expect("keys");
            (keys.0.verify(token, now), keys.1.elapsed())
        };
        if first.is_ok() || age < RELOAD {
            return first;
        }
        let Ok(fresh) = load(&self.path) else { return first };
        let mut keys = self.keys.write().expect("keys");
        *keys = (fresh, Instant::now());
        keys.0.verify(token, now)
    }

    fn once(&self, place: &Place<'_>, claims: &Claims, now: i64) -> Result<()> {
        let mut seen = self.seen.lock().expect("seen");
        seen.retain(|_, (_, expires)| *expires > now);
        let (job, _) = seen.entry(claims.id.clone()).or_insert_with(|| (place.job.to_owned(), claims.expires));
        if job.as_str() == place.job { Ok(()) } else { Err(refused(place, "another job has used it")) }
    }
}

/// Where a credential is presented.
pub struct Place<'a> {
    /// The id of the statement that the task belongs to.
    pub query: &'a str,
    /// The scheduler's id of the job.
    pub job: &'a str,
    /// The relation that the node stands for.
    pub relation: &'a str,
}

fn refused(place: &Place<'_>, why: &str) -> DataFusionError {
    log::warn!("a task credential was refused: query {}, relation {}: {why}", place.query, place.relation);
    failure(Class::Credential, format!("the credential of relation {} was refused: {why}", place.relation))
}

fn load(path: &PathBuf) -> Result<Keys> {
    let text = std::fs::read(path)?;
    let bad = |_: String| DataFusionError::Configuration(format!("{}: no set of Ed25519 keys", path.display()));
    let file: KeyFile = serde_json::from_slice(&text).map_err(|e| bad(e.to_string()))?;
    let mut keys = Vec::new();
    for k in &file.keys {
        let raw = URL_SAFE_NO_PAD.decode(&k.x).map_err(|e| bad(e.to_string()))?;
        if k.kty != "OKP" || k.crv != "Ed25519" {
            return Err(bad(String::new()));
        }
        keys.push(<[u8; 32]>::try_from(raw).map_err(|_| bad(String::new()))?);
    }
    Ok(Keys::new(&file.issuer, keys))
}
