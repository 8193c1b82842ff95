//! The scheduler's configuration, one JSON file.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use tonic::transport::{Certificate, ClientTlsConfig, Identity, ServerTlsConfig};

/// What the file says. Names of files in it are relative to its folder.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Where the gateway submits, address and port; port 0: any.
    pub submit: String,
    /// Where executors ask for work.
    pub cluster: String,
    /// PEM files of the scheduler's own certificate and key.
    pub certificate: PathBuf,
    /// See certificate.
    pub key: PathBuf,
    /// The authority that signs certificates of executors, PEM.
    pub cluster_authority: PathBuf,
    /// The authority that signs certificates of gateways, PEM.
    pub gateway_authority: PathBuf,
    /// How many partitions a shuffle has; about the number of cores of all executors.
    #[serde(default = "partitions")]
    pub partitions: usize,
    /// How what goes between executors is compressed.
    #[serde(default)]
    pub compression: Compression,
    /// How many bytes the side of a join may have that goes whole to each task of the other side; by the size of a statement's tables, if it is not there.
    #[serde(default)]
    pub copied: Option<usize>,
    /// Seconds without a word after which an executor counts as lost.
    #[serde(default = "patience")]
    pub executor_timeout: u64,
}

/// How shuffles are compressed.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// Not at all: best where executors are on one machine, or where their network is faster than their processors.
    #[default]
    None,
    /// Fast.
    Lz4,
    /// Small.
    Zstd,
}

impl Compression {
    /// The engine's name for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }
}

fn partitions() -> usize {
    4
}

fn patience() -> u64 {
    20
}

/// Any error, for main.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// What goes between the stages of a statement.
#[derive(Debug, Clone, Copy)]
pub struct Shuffles {
    /// How many partitions each has.
    pub partitions: usize,
    /// How they are compressed.
    pub compression: Compression,
    /// How many bytes the side of a join may have that is copied.
    pub copied: Option<usize>,
}

impl Config {
    /// What the file says of shuffles.
    pub fn shuffles(&self) -> Shuffles {
        Shuffles { partitions: self.partitions, compression: self.compression, copied: self.copied }
    }

    /// Reads the file.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let mut config: Self = serde_json::from_slice(&read(path)?).map_err(|e| format!("{}: {e}", path.display()))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        for file in [&mut config.certificate, &mut config.key, &mut config.cluster_authority, &mut config.gateway_authority] {
            *file = folder.join(&*file);
        }
        Ok(config)
    }

    fn identity(&self) -> Result<Identity, Failure> {
        Ok(Identity::from_pem(read(&self.certificate)?, read(&self.key)?))
    }

    /// The port for gateways trusts their authority only.
    pub fn submit_tls(&self) -> Result<ServerTlsConfig, Failure> {
        Ok(ServerTlsConfig::new().identity(self.identity()?).client_ca_root(authority(&self.gateway_authority)?))
    }

    /// The port for executors trusts theirs only.
    pub fn cluster_tls(&self) -> Result<ServerTlsConfig, Failure> {
        Ok(ServerTlsConfig::new().identity(self.identity()?).client_ca_root(authority(&self.cluster_authority)?))
    }

    /// For calls to executors.
    pub fn executor_tls(&self) -> Result<ClientTlsConfig, Failure> {
        Ok(ClientTlsConfig::new().identity(self.identity()?).ca_certificate(authority(&self.cluster_authority)?).domain_name("executor.gatehouse"))
    }
}

fn authority(path: &Path) -> Result<Certificate, Failure> {
    Ok(Certificate::from_pem(read(path)?))
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    Ok(std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?)
}
