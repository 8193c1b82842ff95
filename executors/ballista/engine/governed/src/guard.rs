//! The guard of an executor: it lets a task group run only with the credential that was minted for it.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Mutex;

use datafusion::error::{DataFusionError, Result};
use serde::Deserialize;

use crate::failure::{failure, unsupported};
use crate::hash::Key;
use crate::keys::{self, Jwk, KeyFile};
use crate::payload::{Payload, Urls};
use crate::seal::{Secret, Vault};
use crate::stores::Stores;
use crate::token::{Claims, Keys, hash, now};
use crate::wire::{Class, HashKey, Locations, Sealed};

/// The public half of the gateway's keys, as `keys.json` has them.
#[derive(Deserialize)]
struct Signers {
    issuer: String,
    keys: Vec<Jwk>,
}

/// Verifies credentials inside execution, with public keys only.
pub struct Guard {
    keys: KeyFile<Keys>,
    /// Which job presented a token first, by token, with the token's expiry.
    seen: Mutex<HashMap<String, (String, i64)>>,
    vault: Option<Vault>,
}

impl Guard {
    /// Reads the keys, whose file may change later. `vault` opens what gateways seal; without it only local files are read, and nothing is hashed.
    pub fn open(path: &Path, vault: Option<Vault>) -> Result<Self> {
        Ok(Self { keys: KeyFile::open(path, signers)?, seen: Mutex::default(), vault })
    }

    /// Checks that the token is for these bytes, in this query and relation, and that no other job has used it. A retry of a task, or
    /// several tasks that read the same group, present it again within one job.
    pub fn admit(&self, place: &Place<'_>, bytes: &[u8], token: &str, stores: &Stores) -> Result<Payload> {
        let now = now();
        let claims = self.keys.now().verify(token, now).map_err(|why| refused(place, why))?;
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
        if let Some(sealed) = payload.sealed_hash.take() {
            let key: HashKey = self.unseal(place, &claims.id, &sealed)?;
            payload.hash = Some(Key::new(key).ok_or_else(|| refused(place, "its hash has no key"))?);
        }
        Ok(payload)
    }

    /// Opens the URLs of a payload's files. There is a place for each, or it is not for this payload.
    fn urls(&self, place: &Place<'_>, token: &str, sealed: &Sealed, payload: &Payload, stores: &Stores) -> Result<Urls> {
        let locations: Locations = self.unseal(place, token, sealed)?;
        if (locations.files.len(), locations.equality.len()) != (payload.files.len(), payload.equality.len()) {
            return Err(refused(place, "its locations are not those of its files"));
        }
        let urls = |all: Vec<String>| all.iter().map(|u| (!u.is_empty()).then(|| stores.url(u)).transpose()).collect::<Result<Vec<_>>>();
        Ok(Urls::new(urls(locations.files)?, urls(locations.equality)?))
    }

    fn unseal<S: Secret>(&self, place: &Place<'_>, token: &str, sealed: &Sealed) -> Result<S> {
        let Some(vault) = &self.vault else {
            return Err(unsupported("its executors have no key for object stores and hashes"));
        };
        vault.unseal(sealed, place.query, place.relation, token).map_err(|why| refused(place, why))
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

fn signers(text: &[u8]) -> Option<Keys> {
    let file: Signers = keys::parse(text)?;
    let keys: Option<Vec<_>> = file.keys.iter().map(|k| k.public("Ed25519")).collect();
    Some(Keys::new(&file.issuer, keys?))
}
