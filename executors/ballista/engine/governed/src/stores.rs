//! Object stores: which of them this executor may call, and one GET at a time by a URL that a gateway signed.
//!
//! No credential of a store is here. A URL lets its bearer read one object for a while; it is shown nowhere.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use datafusion::error::{DataFusionError, Result};
use http::header::{CONTENT_RANGE, ETAG, IF_MATCH, RANGE};
use http::uri::Scheme;
use http::{Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Empty};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tokio::sync::Semaphore;

use crate::failure::unsupported;

/// How many requests are open at once.
const REQUESTS: usize = 64;

/// How long a connection may take, and how long a store may say nothing.
const CONNECT: Duration = Duration::from_secs(5);
const SILENCE: Duration = Duration::from_secs(20);

/// How long to wait before another try.
const PAUSES: [Duration; 3] = [Duration::from_millis(100), Duration::from_millis(400), Duration::from_millis(1600)];

/// A URL that lets its bearer read an object.
#[derive(Clone)]
pub struct Url(Uri);

impl fmt::Debug for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a URL")
    }
}

/// Why an object cannot be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// The store does not take the URL: it has ended, or who signed it may not read the object.
    Refused,
    /// There is no such object.
    Missing,
    /// It is another object than before, or than the manifest says.
    Changed,
    /// The store does not answer; another try may succeed.
    Unavailable(&'static str),
    /// It answers as no store does.
    Unfit(&'static str),
}

/// An endpoint of a store, from the configuration: "https://host", "http://host:port", "https://*.host" for a bucket in front.
#[derive(Debug, PartialEq, Eq)]
struct Endpoint {
    scheme: Scheme,
    host: String,
    port: u16,
    below: bool,
}

impl Endpoint {
    fn parse(text: &str) -> Option<Self> {
        let (below, text) = match text.split_once("://*.") {
            Some((scheme, rest)) => (true, format!("{scheme}://{rest}")),
            None => (false, text.to_owned()),
        };
        let uri = Uri::try_from(text).ok()?;
        let (scheme, host, port) = place(&uri)?;
        (uri.path() == "/" && uri.query().is_none() && !host.contains('*')).then_some(Self { scheme, host, port, below })
    }

    fn is(&self, scheme: &Scheme, host: &str, port: u16) -> bool {
        let host = match (self.below, host.split_once('.')) {
            (true, Some((bucket, rest))) if !bucket.is_empty() => rest,
            (true, _) => return false,
            (false, _) => host,
        };
        self.scheme == *scheme && self.host == host && self.port == port
    }
}

/// The scheme, host and port of an absolute URL without a user.
fn place(uri: &Uri) -> Option<(Scheme, String, u16)> {
    let scheme = uri.scheme().filter(|s| **s == Scheme::HTTP || **s == Scheme::HTTPS)?.clone();
    let authority = uri.authority().filter(|a| !a.as_str().contains('@'))?;
    let port = match authority.port() {
        Some(p) => p.as_str().parse().ok()?,
        None if scheme == Scheme::HTTPS => 443,
        None => 80,
    };
    Some((scheme, authority.host().to_ascii_lowercase(), port)).filter(|(_, host, _)| !host.is_empty())
}

/// The stores that may be called.
pub struct Stores {
    allowed: Vec<Endpoint>,
    client: Client<HttpsConnector<HttpConnector>, Empty<Bytes>>,
    gate: Semaphore,
}

impl Stores {
    /// Returns a client that calls the given endpoints and nothing else. `authorities` is a PEM file of those that sign their certificates;
    /// without it the system's are asked.
    pub fn new(endpoints: &[String], authorities: Option<&Path>) -> Result<Arc<Self>> {
        let wrong = |e: &str| DataFusionError::Configuration(format!("stores: {e} is not like https://host, https://*.host or http://host:port"));
        let allowed: Vec<Endpoint> = endpoints.iter().map(|e| Endpoint::parse(e).ok_or_else(|| wrong(e))).collect::<Result<_>>()?;
        let roots = roots(allowed.iter().any(|e| e.scheme == Scheme::HTTPS), authorities)?;
        let tls = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(|e| DataFusionError::External(Box::new(e)))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(CONNECT));
        let connector = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().wrap_connector(tcp);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(Duration::from_secs(20))
            .pool_max_idle_per_host(REQUESTS)
            .build(connector);
        Ok(Arc::new(Self { allowed, client, gate: Semaphore::new(REQUESTS) }))
    }

    /// Reads a URL, if it is one of a store that may be called.
    pub fn url(&self, text: &str) -> Result<Url> {
        let uri = Uri::try_from(text).ok();
        match uri.as_ref().and_then(place) {
            Some((scheme, host, port)) if self.allowed.iter().any(|e| e.is(&scheme, &host, port)) => Ok(Url(uri.expect("it has a place"))),
            _ => Err(unsupported("its executors may not call the object store")),
        }
    }

    /// Reads a range of an object of a known size, and returns it with the object's tag. If `tag` is given, the object has to have it still.
    pub async fn get(&self, url: &Url, range: Range<u64>, size: u64, tag: Option<&str>) -> std::result::Result<(Bytes, String), Trouble> {
        let mut pauses = PAUSES.iter();
        loop {
            let outcome = {
                let _open = self.gate.acquire().await;
                self.once(url, &range, size, tag).await
            };
            match (outcome, pauses.next()) {
                (Err(Trouble::Unavailable(_)), Some(pause)) => tokio::time::sleep(*pause).await,
                (outcome, _) => return outcome,
            }
        }
    }

    async fn once(&self, url: &Url, range: &Range<u64>, size: u64, tag: Option<&str>) -> std::result::Result<(Bytes, String), Trouble> {
        let mut request = Request::get(url.0.clone()).header(RANGE, format!("bytes={}-{}", range.start, range.end - 1));
        if let Some(tag) = tag {
            request = request.header(IF_MATCH, tag);
        }
        let request = request.body(Empty::new()).map_err(|_| Trouble::Unfit("its tag is no text"))?;
        let answer = patient(self.client.request(request)).await?.map_err(|_| Trouble::Unavailable("there is no connection"))?;
        let found = accepted(&answer, range, size, tag)?;
        let mut body = answer.into_body();
        let length = (range.end - range.start) as usize;
        let mut bytes = BytesMut::with_capacity(length);
        while let Some(frame) = patient(body.frame()).await? {
            let frame = frame.map_err(|_| Trouble::Unavailable("the connection broke"))?;
            if let Ok(data) = frame.into_data() {
                if bytes.len() + data.len() > length {
                    return Err(Trouble::Unfit("it sends more than it says"));
                }
                bytes.extend_from_slice(&data);
            }
        }
        if bytes.len() < length { Err(Trouble::Unavailable("it sends less than it says")) } else { Ok((bytes.freeze(), found)) }
    }
}

/// Waits for a store, and not for ever.
async fn patient<T>(answer: impl Future<Output = T>) -> std::result::Result<T, Trouble> {
    tokio::time::timeout(SILENCE, answer).await.map_err(|_| Trouble::Unavailable("it says nothing"))
}

/// The tag of an answer that holds what was asked for.
fn accepted<B>(answer: &Response<B>, range: &Range<u64>, size: u64, tag: Option<&str>) -> std::result::Result<String, Trouble> {
    let text = |name| answer.headers().get(name).and_then(|v| v.to_str().ok());
    match answer.status() {
        StatusCode::PARTIAL_CONTENT => {
            let (start, end, total) = text(CONTENT_RANGE).and_then(content_range).ok_or(Trouble::Unfit("it does not say what it sends"))?;
            if total != size {
                return Err(Trouble::Changed);
            }
            if start != range.start || end + 1 != range.end {
                return Err(Trouble::Unfit("it sends another range"));
            }
        }
        StatusCode::NOT_FOUND | StatusCode::GONE => return Err(Trouble::Missing),
        StatusCode::PRECONDITION_FAILED | StatusCode::RANGE_NOT_SATISFIABLE => return Err(Trouble::Changed),
        StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_MANY_REQUESTS => return Err(Trouble::Unavailable("it is busy")),
        s if s.is_server_error() => return Err(Trouble::Unavailable("it fails")),
        s if s.is_client_error() => return Err(Trouble::Refused),
        s if s.is_redirection() => return Err(Trouble::Unfit("it leads elsewhere")),
        _ => return Err(Trouble::Unfit("it does not send ranges")),
    }
    let found = text(ETAG).filter(|t| t.starts_with('"')).ok_or(Trouble::Unfit("it has no tags"))?;
    if tag.is_some_and(|t| t != found) { Err(Trouble::Changed) } else { Ok(found.to_owned()) }
}

/// Takes "bytes 0-9/100" apart.
fn content_range(text: &str) -> Option<(u64, u64, u64)> {
    let (range, total) = text.strip_prefix("bytes ")?.split_once('/')?;
    let (start, end) = range.split_once('-')?;
    Some((start.parse().ok()?, end.parse().ok()?, total.parse().ok()?))
}

fn roots(needed: bool, authorities: Option<&Path>) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    if !needed {
        return Ok(roots);
    }
    match authorities {
        Some(path) => {
            let bad = |_| DataFusionError::Configuration(format!("store_authorities: {} has no certificates", path.display()));
            for cert in CertificateDer::pem_file_iter(path).map_err(bad)? {
                roots.add(cert.map_err(bad)?).map_err(|e| DataFusionError::External(Box::new(e)))?;
            }
        }
        None => {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
    }
    if roots.is_empty() {
        return Err(DataFusionError::Configuration("no authority is known that signs certificates of stores: set store_authorities".to_owned()));
    }
    Ok(roots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_the_configuration_names_is_called() {
        let list = ["https://s3.example.com", "https://*.s3.example.com", "http://127.0.0.1:9000"].map(str::to_owned);
        let stores = Stores { allowed: list.iter().filter_map(|e| Endpoint::parse(e)).collect(), ..plain() };
        for (url, ok) in [
            ("https://s3.example.com/b/k?X-Amz-Signature=1", true),
            ("https://S3.Example.com:443/b/k", true),
            ("https://bucket.s3.example.com/k", true),
            ("http://127.0.0.1:9000/b/k", true),
            ("http://s3.example.com/b/k", false),
            ("http://s3.example.com:443/b/k", false),
            ("https://127.0.0.1:9000/b/k", false),
            ("https://s3.example.com:8443/b/k", false),
            ("https://a.b.s3.example.com/k", false),
            ("https://.s3.example.com/k", false),
            ("https://s3.example.com.evil.org/k", false),
            ("https://evils3.example.com/k", false),
            ("https://s3.example.com@evil.org/k", false),
            ("https://u:p@s3.example.com/k", false),
            ("http://127.0.0.1:9001/k", false),
            ("http://127.0.0.1/k", false),
            ("ftp://s3.example.com/k", false),
            ("file:///etc/passwd", false),
            ("/etc/passwd", false),
            ("", false),
        ] {
            assert_eq!(stores.url(url).is_ok(), ok, "{url}");
        }
    }

    #[test]
    fn endpoints_are_hosts_and_nothing_more() {
        for bad in ["s3.example.com", "https://", "https://host/path", "https://host?x", "ftp://host", "https://u@host", "https://*", ""] {
            assert!(Stores::new(&[bad.to_owned()], None).is_err(), "{bad}");
        }
    }

    #[test]
    fn answers_are_held_against_what_was_asked() {
        let changed = Err(Trouble::Changed);
        for (status, range, tag, want) in [
            (206, "bytes 10-19/100", "\"a\"", Ok("\"a\"".to_owned())),
            (206, "bytes 10-19/101", "\"a\"", changed.clone()),
            (206, "bytes 10-19/100", "\"b\"", changed.clone()),
            (206, "bytes 10-18/100", "\"a\"", Err(Trouble::Unfit("it sends another range"))),
            (206, "", "\"a\"", Err(Trouble::Unfit("it does not say what it sends"))),
            (206, "bytes 10-19/100", "W/\"a\"", Err(Trouble::Unfit("it has no tags"))),
            (200, "bytes 10-19/100", "\"a\"", Err(Trouble::Unfit("it does not send ranges"))),
            (307, "", "", Err(Trouble::Unfit("it leads elsewhere"))),
            (403, "", "", Err(Trouble::Refused)),
            (400, "", "", Err(Trouble::Refused)),
            (404, "", "", Err(Trouble::Missing)),
            (412, "", "", changed.clone()),
            (416, "", "", changed.clone()),
            (429, "", "", Err(Trouble::Unavailable("it is busy"))),
            (503, "", "", Err(Trouble::Unavailable("it fails"))),
        ] {
            let answer = Response::builder().status(status).header(CONTENT_RANGE, range).header(ETAG, tag).body(()).expect("an answer");
            assert_eq!(accepted(&answer, &(10..20), 100, Some("\"a\"")), want, "{status} {range} {tag}");
        }
    }

    #[test]
    fn urls_are_not_shown() {
        let stores = Stores { allowed: vec![Endpoint::parse("https://host").expect("an endpoint")], ..plain() };
        let url = stores.url("https://host/k?X-Amz-Signature=abc").expect("a URL");
        assert!(!format!("{url:?}").contains("abc"));
    }

    fn plain() -> Stores {
        Arc::into_inner(Stores::new(&[], None).expect("a client")).expect("one owner")
    }
}
