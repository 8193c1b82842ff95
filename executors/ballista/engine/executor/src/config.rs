//! An executor's configuration, one JSON file.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use tonic::transport::{Certificate, ClientTlsConfig, Identity, ServerTlsConfig};

/// What the file says.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Where results and shuffles are fetched, address and port; port 0: any.
    pub listen: String,
    /// The name or address by which others reach this process.
    pub host: String,
    /// The scheduler's port for executors, host and port.
    pub scheduler: String,
    /// PEM files of the executor's own certificate and key.
    pub certificate: PathBuf,
    /// See certificate.
    pub key: PathBuf,
    /// The authority that signs certificates of scheduler and executors, PEM.
    pub cluster_authority: PathBuf,
    /// The authority that signs certificates of gateways, PEM.
    pub gateway_authority: PathBuf,
    /// The gateway's public keys for task credentials, see `governed::guard`.
    pub keys: PathBuf,
    /// The folder for shuffles and spills. It is emptied at start and at the end.
    pub work: PathBuf,
    /// How many tasks run at once.
    pub cores: usize,
    /// Bytes of memory for all tasks together.
    pub memory: usize,
}

/// Any error, for main.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

impl Config {
    /// Reads the file.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let config: Self = serde_json::from_slice(&std::fs::read(path)?)?;
        if config.cores == 0 || config.memory == 0 {
            return Err("an executor needs cores and memory".into());
        }
        Ok(config)
    }

    fn identity(&self) -> Result<Identity, Failure> {
        Ok(Identity::from_pem(std::fs::read(&self.certificate)?, std::fs::read(&self.key)?))
    }

    /// For the port of results and shuffles, which gateways and executors use.
    pub fn data_tls(&self) -> Result<ServerTlsConfig, Failure> {
        let mut both = std::fs::read(&self.cluster_authority)?;
        both.extend(std::fs::read(&self.gateway_authority)?);
        Ok(ServerTlsConfig::new().identity(self.identity()?).client_ca_root(Certificate::from_pem(both)))
    }

    /// For the port of the scheduler's commands.
    pub fn command_tls(&self) -> Result<ServerTlsConfig, Failure> {
        Ok(ServerTlsConfig::new().identity(self.identity()?).client_ca_root(Certificate::from_pem(std::fs::read(&self.cluster_authority)?)))
    }

    /// For calls to a process of the cluster, by the name in its certificate.
    pub fn client_tls(&self, name: &str) -> Result<ClientTlsConfig, Failure> {
        Ok(ClientTlsConfig::new()
            .identity(self.identity()?)
            .ca_certificate(Certificate::from_pem(std::fs::read(&self.cluster_authority)?))
            .domain_name(name))
    }
}
