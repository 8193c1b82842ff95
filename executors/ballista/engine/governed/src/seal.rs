//! What gateways seal for executors: the URLs of a task group's files, and the key of its hashes. Whoever passes them on in between cannot open
//! them.

use std::collections::HashMap;
use std::path::Path;

use datafusion::error::Result;
use orion::hazardous::hpke::{DHKEM_X25519_SHA256_CHACHA20, ModeBase};
use orion::hazardous::kem::x25519_hkdf_sha256::{PrivateKey, PublicKey};
use prost::Message;
use serde::Deserialize;

use crate::keys::{self, Jwk, KeyFile};
use crate::token::{now, thumbprint};
use crate::wire::{HashKey, Locations, Sealed};

/// What is sealed.
pub trait Secret: Message + Default {
    /// Its kind, for HPKE: nothing of another kind opens as this.
    const INFO: &[u8];
}

impl Secret for Locations {
    const INFO: &[u8] = b"gatehouse locations 1";
}

impl Secret for HashKey {
    const INFO: &[u8] = b"gatehouse hash key 1";
}

/// The bytes of a message that its authentication takes.
const TAG: usize = 16;

/// The executors' keys as `seal.key` has them: two while one is rotated.
#[derive(Deserialize)]
struct Set {
    keys: Vec<Jwk>,
}

/// Keys by their thumbprints, and when they end.
type Keys = HashMap<String, (PrivateKey, Option<i64>)>;

/// Opens what is sealed for the executors of a cluster.
pub struct Vault(KeyFile<Keys>);

impl Vault {
    /// Reads the keys, whose file may change later.
    pub fn open(path: &Path) -> Result<Self> {
        KeyFile::open(path, load).map(Self)
    }

    /// Returns what was sealed for one task group. The reason of a refusal is for the log.
    pub fn unseal<S: Secret>(&self, sealed: &Sealed, query: &str, relation: &str, token: &str) -> std::result::Result<S, &'static str> {
        let context = format!("{query}\0{relation}\0{token}");
        match self.0.now().get(&sealed.key) {
            None => Err("something of it is sealed for a key that is not here"),
            Some((_, Some(end))) if *end <= now() => Err("something of it is sealed for a key that has ended"),
            Some((key, _)) => unseal(key, sealed, &context),
        }
    }
}

fn unseal<S: Secret>(key: &PrivateKey, sealed: &Sealed, context: &str) -> std::result::Result<S, &'static str> {
    let bad = "something of it is sealed for another task group, or damaged";
    let encapsulated = PublicKey::try_from(&sealed.encapsulated[..]).map_err(|_| bad)?;
    let mut text = vec![0; sealed.ciphertext.len().checked_sub(TAG).ok_or(bad)?];
    ModeBase::<DHKEM_X25519_SHA256_CHACHA20>::new_recipient(&encapsulated, key, S::INFO)
        .and_then(|mut r| r.open(&sealed.ciphertext, context.as_bytes(), &mut text))
        .map_err(|_| bad)?;
    S::decode(&text[..]).map_err(|_| "something sealed of it cannot be read")
}

fn load(text: &[u8]) -> Option<Keys> {
    let mut keys = Keys::new();
    for k in keys::parse::<Set>(text)?.keys {
        let secret = PrivateKey::from(k.private()?);
        let public = PublicKey::try_from(&secret).ok()?;
        if k.public("X25519")?.as_slice() != public.as_ref() {
            return None;
        }
        keys.insert(thumbprint("X25519", public.as_ref()), (secret, k.exp));
    }
    (!keys.is_empty()).then_some(keys)
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    use super::*;

    fn vault(name: &str, keys: &str) -> Result<Vault> {
        let path = std::env::temp_dir().join(format!("gatehouse-seal-{}-{name}", std::process::id()));
        std::fs::write(&path, keys).expect("a file");
        let vault = Vault::open(&path);
        std::fs::remove_file(path).expect("a file");
        vault
    }

    fn jwk(seed: u8) -> (String, String, PublicKey) {
        let secret = PrivateKey::from([seed; 32]);
        let public = PublicKey::try_from(&secret).expect("a key");
        let x = URL_SAFE_NO_PAD.encode(public.as_ref());
        let text = format!(r#"{{"kty":"OKP","crv":"X25519","x":"{x}","d":"{}"}}"#, URL_SAFE_NO_PAD.encode([seed; 32]));
        (text, thumbprint("X25519", public.as_ref()), public)
    }

    fn seal(to: &PublicKey, key: &str, context: &str) -> Sealed {
        let text = Locations { files: vec!["https://store/a?secret".into()], equality: vec![] }.encode_to_vec();
        let mut ciphertext = vec![0; text.len() + TAG];
        let (mut sender, encapsulated) =
            ModeBase::<DHKEM_X25519_SHA256_CHACHA20>::new_sender_deterministic(to, Locations::INFO, PrivateKey::from([9; 32])).expect("a sender");
        sender.seal(&text, context.as_bytes(), &mut ciphertext).expect("sealed");
        Sealed { key: key.into(), encapsulated: encapsulated.as_ref().to_vec(), ciphertext }
    }

    #[test]
    fn only_the_same_task_group_opens_it() {
        let (one, kid, public) = jwk(1);
        let (two, other, _) = jwk(2);
        let v = vault("opens", &format!(r#"{{"keys":[{one},{two}]}}"#)).expect("keys");
        let sealed = seal(&public, &kid, "q\0r\0t");
        let locations = |s: &Sealed, query: &str, relation: &str, token: &str| v.unseal::<Locations>(s, query, relation, token);
        assert_eq!(locations(&sealed, "q", "r", "t").expect("it opens").files, ["https://store/a?secret"]);
        for (query, relation, token) in [("p", "r", "t"), ("q", "s", "t"), ("q", "r", "u"), ("q\0r", "", "t")] {
            assert!(locations(&sealed, query, relation, token).is_err(), "{query} {relation} {token}");
        }
        assert!(v.unseal::<HashKey>(&sealed, "q", "r", "t").is_err(), "as something else");
        let mut changed = sealed.clone();
        changed.ciphertext[3] ^= 1;
        let short = Sealed { ciphertext: vec![0; TAG - 1], ..sealed.clone() };
        let mixed = Sealed { encapsulated: vec![7; 32], ..sealed.clone() };
        let long = Sealed { encapsulated: vec![7; 33], ..sealed.clone() };
        for (name, s) in [("changed", changed), ("short", short), ("mixed", mixed), ("long", long)] {
            assert!(locations(&s, "q", "r", "t").is_err(), "{name}");
        }
        for key in ["", "x", &other] {
            assert!(locations(&Sealed { key: key.into(), ..sealed.clone() }, "q", "r", "t").is_err(), "{key}");
        }
    }

    #[test]
    fn a_key_ends() {
        let (one, kid, public) = jwk(1);
        let sealed = seal(&public, &kid, "q\0r\0t");
        for (end, opens) in [(now() - 1, false), (now() + 60, true)] {
            let v = vault("ends", &format!(r#"{{"keys":[{}]}}"#, one.replace(r#"{"kty""#, &format!(r#"{{"exp":{end},"kty""#)))).expect("keys");
            assert_eq!(v.unseal::<Locations>(&sealed, "q", "r", "t").is_ok(), opens, "{end}");
        }
    }

    #[test]
    fn keys_are_what_they_say() {
        let (one, ..) = jwk(1);
        for text in [
            String::new(),
            r#"{"keys":[]}"#.to_owned(),
            format!(r#"{{"keys":[{}]}}"#, one.replace("X25519", "Ed25519")),
            format!(r#"{{"keys":[{}]}}"#, one.replace(&URL_SAFE_NO_PAD.encode([1; 32]), &URL_SAFE_NO_PAD.encode([3; 32]))),
        ] {
            assert!(vault("bad", &text).is_err(), "{text}");
        }
    }
}
