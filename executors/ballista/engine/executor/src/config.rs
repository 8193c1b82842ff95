//! An executor's configuration, one JSON file.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::thread::available_parallelism;

use serde::Deserialize;
use tonic::transport::{Certificate, ClientTlsConfig, Identity, ServerTlsConfig};

use crate::memory;

/// What the file says. Names of files in it are relative to its folder.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Where results and shuffles are fetched, address and port; port 0: any.
    pub listen: String,
    /// Where the scheduler sends its commands, address and port; default: any port of the address of listen.
    pub command: Option<String>,
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
    /// The executors' keys, which open what gateways seal for them, see `governed::seal`; without it only local files are read.
    pub seal: Option<PathBuf>,
    /// The object stores that may be called: "https://host", "https://*.host" where buckets stand in front, "http://host:port". Default: none.
    #[serde(default)]
    pub stores: Vec<String>,
    /// The authorities that sign certificates of stores, PEM; default: those that the system trusts.
    pub store_authorities: Option<PathBuf>,
    /// The folder for shuffles, results and spills. It is emptied at start and at the end.
    pub work: PathBuf,
    /// How many tasks run at once; default: as many as there are processors for this process.
    #[serde(default)]
    pub cores: usize,
    /// Bytes of memory for all tasks together; default: seven tenths of what this process may use.
    #[serde(default)]
    pub memory: usize,
}

/// Any error, for main.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

impl Config {
    /// Reads the file.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let text = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
        let mut config: Self = serde_json::from_slice(&text).map_err(|e| format!("{}: {e}", path.display()))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        for file in [
            &mut config.certificate,
            &mut config.key,
            &mut config.cluster_authority,
            &mut config.gateway_authority,
            &mut config.keys,
            &mut config.work,
        ]
        .into_iter()
        .chain(&mut config.seal)
        .chain(&mut config.store_authorities)
        {
            *file = folder.join(&*file);
        }
        if config.cores == 0 {
            config.cores = available_parallelism().map_or(1, NonZero::get);
        }
        if config.memory == 0 {
            config.memory = memory::for_tasks().ok_or("nothing tells how much memory there is: set memory")?;
        }
        Ok(config)
    }

    fn identity(&self) -> Result<Identity, Failure> {
        Ok(Identity::from_pem(read(&self.certificate)?, read(&self.key)?))
    }

    /// For the port of results and shuffles, which gateways and executors use.
    pub fn data_tls(&self) -> Result<ServerTlsConfig, Failure> {
        let mut both = read(&self.cluster_authority)?;
        both.extend(read(&self.gateway_authority)?);
        Ok(ServerTlsConfig::new().identity(self.identity()?).client_ca_root(Certificate::from_pem(both)))
    }

    /// For the port of the scheduler's commands.
    pub fn command_tls(&self) -> Result<ServerTlsConfig, Failure> {
        Ok(ServerTlsConfig::new().identity(self.identity()?).client_ca_root(Certificate::from_pem(read(&self.cluster_authority)?)))
    }

    /// For calls to a process of the cluster, by the name in its certificate.
    pub fn client_tls(&self, name: &str) -> Result<ClientTlsConfig, Failure> {
        Ok(ClientTlsConfig::new().identity(self.identity()?).ca_certificate(Certificate::from_pem(read(&self.cluster_authority)?)).domain_name(name))
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    Ok(std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?)
}
