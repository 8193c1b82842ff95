//! What the scheduler tells executors by itself: that a job has ended.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ballista_core::JobId;
use ballista_core::serde::protobuf::RemoveJobDataParams;
use ballista_core::serde::protobuf::executor_grpc_client::ExecutorGrpcClient;
use ballista_core::serde::scheduler::ExecutorMetadata;
use tonic::transport::{Channel, ClientTlsConfig, Endpoint};

use crate::config::Failure;

/// How long an executor may take to hear it. One that does not finds out by itself at the statement's deadline.
const PATIENCE: Duration = Duration::from_secs(10);

/// Tells executors.
#[derive(Clone)]
pub struct Commands {
    tls: ClientTlsConfig,
    channels: Arc<Mutex<HashMap<String, Channel>>>,
}

impl Commands {
    /// Returns commands for executors that have the certificates of a configuration.
    pub fn new(tls: ClientTlsConfig) -> Self {
        Self { tls, channels: Arc::default() }
    }

    /// Tells all these executors at once that a job has ended, and waits for none of them.
    pub fn end(&self, executors: Vec<ExecutorMetadata>, job: &JobId) {
        self.channels.lock().expect("channels").retain(|id, _| executors.iter().any(|e| e.id == *id));
        for executor in executors {
            let (commands, job) = (self.clone(), job.to_string());
            tokio::spawn(async move {
                if let Err(e) = commands.tell(&executor, job.clone()).await {
                    log::warn!("executor {} does not hear of the end of job {job}: {e}", executor.id);
                }
            });
        }
    }

    async fn tell(&self, executor: &ExecutorMetadata, job_id: String) -> Result<(), Failure> {
        let channel = self.channel(executor)?;
        ExecutorGrpcClient::new(channel).remove_job_data(RemoveJobDataParams { job_id, remove_stage_ids: Vec::new() }).await?;
        Ok(())
    }

    /// The connection to an executor, which is kept while the executor is there.
    fn channel(&self, executor: &ExecutorMetadata) -> Result<Channel, Failure> {
        let mut channels = self.channels.lock().expect("channels");
        if let Some(channel) = channels.get(&executor.id) {
            return Ok(channel.clone());
        }
        let channel = Endpoint::from_shared(format!("https://{}:{}", executor.host, executor.grpc_port))?
            .tls_config(self.tls.clone())?
            .tcp_nodelay(true)
            .connect_timeout(PATIENCE)
            .timeout(PATIENCE)
            .connect_lazy();
        channels.insert(executor.id.clone(), channel.clone());
        Ok(channel)
    }
}
