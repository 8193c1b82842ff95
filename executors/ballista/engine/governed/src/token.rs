//! Task credentials: EdDSA JWTs (RFC 8037), accepted in exactly the form in which the gateway writes them.

use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};
use ring::signature::{ED25519, UnparsedPublicKey};
use serde::{Deserialize, Serialize};

/// The longest token that is looked at, in bytes.
const MAX_TOKEN: usize = 8 << 10;

/// The longest life of a token, in seconds, one for rounding included.
const MAX_LIFE: i64 = 3600 + 1;

/// What a token binds. The fields stand in the order in which the gateway writes them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[allow(missing_docs)]
pub struct Claims {
    #[serde(rename = "jti")]
    pub id: String,
    #[serde(rename = "iss")]
    pub issuer: String,
    #[serde(rename = "sub")]
    pub subject: String,
    #[serde(rename = "uiss")]
    pub user_issuer: String,
    #[serde(rename = "qid")]
    pub query: String,
    #[serde(rename = "rel")]
    pub relation: String,
    #[serde(rename = "dig")]
    pub digest: String,
    #[serde(rename = "iat")]
    pub issued: i64,
    #[serde(rename = "exp")]
    pub expires: i64,
}

/// Public keys by thumbprint, and the issuer that they belong to.
#[derive(Debug, Clone)]
pub struct Keys {
    issuer: String,
    keys: HashMap<String, [u8; 32]>,
}

impl Keys {
    /// Returns a verifier for what the holders of the keys sign as issuer.
    pub fn new(issuer: &str, keys: impl IntoIterator<Item = [u8; 32]>) -> Self {
        let keys = keys.into_iter().map(|k| (thumbprint("Ed25519", &k), k)).collect();
        Self { issuer: issuer.to_owned(), keys }
    }

    /// Returns the claims of a token that is genuine and alive at `now` (seconds since 1970). The reason of a refusal is for the log.
    pub fn verify(&self, token: &str, now: i64) -> Result<Claims, &'static str> {
        if token.len() > MAX_TOKEN {
            return Err("it is too long");
        }
        let mut parts = token.split('.');
        let (Some(head), Some(body), Some(signature), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
            return Err("it has not three parts");
        };
        let key = self.key_of(&decode(head)?).ok_or("no key of ours signed it, or its header is not ours")?;
        let signed = &token[..head.len() + 1 + body.len()];
        UnparsedPublicKey::new(&ED25519, key).verify(signed.as_bytes(), &decode(signature)?).map_err(|_| "its signature is wrong")?;
        // A body that reads back otherwise (a claim twice, another order, spaces) was not written by the gateway.
        let raw = decode(body)?;
        let claims: Claims = serde_json::from_slice(&raw).map_err(|_| "its claims are not ours")?;
        if written(&claims).as_deref() != Some(&raw[..]) {
            return Err("its claims are not in our form");
        }
        if claims.issuer != self.issuer {
            return Err("another issuer signed it");
        }
        if claims.issued <= 0 || claims.expires <= claims.issued || claims.expires - claims.issued > MAX_LIFE {
            return Err("its times are not ours");
        }
        if now < claims.issued || now >= claims.expires {
            return Err("it is not valid now");
        }
        Ok(claims)
    }

    /// The header has to be, byte for byte, the one that the gateway writes with a key: no other algorithm, no key inside.
    fn key_of(&self, head: &[u8]) -> Option<&[u8; 32]> {
        self.keys
            .iter()
            .find(|(kid, _)| head == format!(r#"{{"alg":"EdDSA","kid":"{kid}","typ":"gatehouse-task+jwt"}}"#).as_bytes())
            .map(|(_, key)| key)
    }
}

/// Claims as the gateway writes them. Its encoder keeps some characters out of texts that others leave as they are.
fn written(claims: &Claims) -> Option<Vec<u8>> {
    let mut text = serde_json::to_string(claims).ok()?;
    for (c, escaped) in [("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026"), ("\u{2028}", "\\u2028"), ("\u{2029}", "\\u2029")] {
        text = text.replace(c, escaped);
    }
    Some(text.into_bytes())
}

fn decode(part: &str) -> Result<Vec<u8>, &'static str> {
    URL_SAFE_NO_PAD.decode(part).map_err(|_| "it is no base64")
}

/// The time, in seconds since 1970.
pub(crate) fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs() as i64)
}

/// The JWK thumbprint (RFC 7638, RFC 8037 appendix A.3) of a key of a curve.
pub fn thumbprint(curve: &str, key: &[u8]) -> String {
    hash(format!(r#"{{"crv":"{curve}","kty":"OKP","x":"{}"}}"#, URL_SAFE_NO_PAD.encode(key)).as_bytes())
}

/// The digest of a payload as tokens carry it.
pub fn hash(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(digest(&SHA256, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ring::signature::{Ed25519KeyPair, KeyPair};

    fn pair(seed: u8) -> Ed25519KeyPair {
        Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap()
    }

    fn public(pair: &Ed25519KeyPair) -> [u8; 32] {
        pair.public_key().as_ref().try_into().unwrap()
    }

    fn claims() -> Claims {
        Claims {
            id: "t1".into(),
            issuer: "gatehouse".into(),
            subject: "alice".into(),
            user_issuer: "test".into(),
            query: "q1".into(),
            relation: "__gw_1".into(),
            digest: hash(b"payload"),
            issued: 1000,
            expires: 1060,
        }
    }

    fn sign(pair: &Ed25519KeyPair, head: &str, body: &str) -> String {
        let text = format!("{}.{}", URL_SAFE_NO_PAD.encode(head), URL_SAFE_NO_PAD.encode(body));
        let signature = URL_SAFE_NO_PAD.encode(pair.sign(text.as_bytes()));
        format!("{text}.{signature}")
    }

    fn head(pair: &Ed25519KeyPair) -> String {
        format!(r#"{{"alg":"EdDSA","kid":"{}","typ":"gatehouse-task+jwt"}}"#, thumbprint("Ed25519", &public(pair)))
    }

    #[test]
    fn only_the_gateways_own_form_counts() {
        let p = pair(1);
        let keys = Keys::new("gatehouse", [public(&p), public(&pair(2))]);
        let body = serde_json::to_string(&claims()).unwrap();
        assert_eq!(keys.verify(&sign(&p, &head(&p), &body), 1000), Ok(claims()));
        for (name, token) in [
            ("another key", sign(&pair(3), &head(&pair(3)), &body)),
            ("another key under a known name", sign(&pair(3), &head(&p), &body)),
            ("no algorithm", sign(&p, &head(&p).replace("EdDSA", "none"), &body)),
            ("another type", sign(&p, &head(&p).replace("gatehouse-task+jwt", "JWT"), &body)),
            ("a space", sign(&p, &head(&p), &format!("{body} "))),
            ("a claim twice", sign(&p, &head(&p), &body.replace(r#""sub":"alice""#, r#""sub":"bob","sub":"alice""#))),
            ("an unknown claim", sign(&p, &head(&p), &body.replace(r#"{"jti""#, r#"{"x":1,"jti""#))),
            ("another issuer", sign(&p, &head(&p), &body.replace(r#""iss":"gatehouse""#, r#""iss":"other""#))),
            ("a long life", sign(&p, &head(&p), &body.replace("1060", "9999999"))),
            ("nothing", String::new()),
            ("two parts", "a.b".to_owned()),
        ] {
            assert!(keys.verify(&token, 1000).is_err(), "{name}");
        }
    }

    #[test]
    fn names_with_special_characters() {
        let p = pair(1);
        let keys = Keys::new("gatehouse", [public(&p)]);
        let mut c = claims();
        c.subject = "R&D <x>".into();
        let body = serde_json::to_string(&c).unwrap().replace('&', "\\u0026").replace('<', "\\u003c").replace('>', "\\u003e");
        assert_eq!(keys.verify(&sign(&p, &head(&p), &body), 1000), Ok(c));
    }

    #[test]
    fn times_are_exact() {
        let p = pair(1);
        let keys = Keys::new("gatehouse", [public(&p)]);
        let token = sign(&p, &head(&p), &serde_json::to_string(&claims()).unwrap());
        for (now, ok) in [(999, false), (1000, true), (1059, true), (1060, false)] {
            assert_eq!(keys.verify(&token, now).is_ok(), ok, "at {now}");
        }
    }
}
