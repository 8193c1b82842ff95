//! Connections between executors, kept for a while.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ballista_core::client::BallistaClient;
use ballista_core::client_pool::{BallistaClientPool, PooledClient};
use ballista_core::error::Result;
use ballista_core::extension::BallistaConfigGrpcEndpoint;
use ballista_core::utils::GrpcClientConfig;

/// How long an idle connection is kept.
const IDLE: Duration = Duration::from_secs(30);

type Idle = HashMap<(String, u16), Vec<(BallistaClient, Instant)>>;

/// A pool of connections. All have one configuration: an executor's own.
#[derive(Clone, Default)]
pub struct Connections {
    idle: Arc<Mutex<Idle>>,
}

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connections")
    }
}

#[async_trait::async_trait]
impl BallistaClientPool for Connections {
    async fn acquire(
        &self,
        host: &str,
        port: u16,
        config: &GrpcClientConfig,
        customize: Option<Arc<BallistaConfigGrpcEndpoint>>,
    ) -> Result<PooledClient> {
        let key = (host.to_owned(), port);
        self.evict_idle().await;
        let kept = self.idle.lock().expect("idle").get_mut(&key).and_then(Vec::pop);
        let client = match kept {
            Some((client, _)) => client,
            None => {
                BallistaClient::try_new(
                    host,
                    port,
                    config.max_message_size,
                    config.use_tls,
                    customize,
                    config.io_retries_times,
                    config.io_retry_wait_time_ms,
                    config.initial_connection_window_size,
                    config.initial_stream_window_size,
                )
                .await?
            }
        };
        let idle = Arc::clone(&self.idle);
        Ok(PooledClient::new(client, Box::new(move |client| idle.lock().expect("idle").entry(key).or_default().push((client, Instant::now())))))
    }

    async fn evict_idle(&self) {
        self.idle.lock().expect("idle").retain(|_, clients| {
            clients.retain(|(_, since)| since.elapsed() < IDLE);
            !clients.is_empty()
        });
    }
}
