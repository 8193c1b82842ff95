//! The scheduler of a Gatehouse cluster: Ballista's, as a library, and in front of it the one service that gateways use.
//!
//! It holds no key that could sign a task and no credential of a storage. What it could do if it were not honest: lose statements, and
//! see results of those that run. It cannot make an executor read a file, or show a row or value, that a gateway did not sign.

mod commands;
mod config;
#[cfg(test)]
mod fakes;
mod graph;
mod jobs;
mod planner;
mod replan;
mod shared;
mod shares;
mod sizes;
mod statement;
mod submission;
mod submission_server;
mod watch;
mod work;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ballista_core::config::TaskSchedulingPolicy;
use ballista_core::serde::BallistaPhysicalExtensionCodec;
use ballista_core::serde::protobuf::scheduler_grpc_server::SchedulerGrpcServer;
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::{SchedulerConfig, TaskDistributionPolicy};
use ballista_scheduler::scheduler_process::create_scheduler;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use governed::codec::GovernedCodec;
use tokio::net::TcpListener;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{ClientTlsConfig, Endpoint, Server};

use commands::Commands;
use config::{Config, Failure};
use shares::Shares;
use submission::Service;
use submission_server::generated::SubmissionServer;
use work::{Bell, Work};

/// The largest message: a plan holds its task groups.
const MAX_MESSAGE: u32 = 128 << 20;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let path = std::env::args().nth(1).ok_or("usage: gatehouse-scheduler CONFIG.json")?;
    let config = Config::read(Path::new(&path))?;
    governed::process::start();
    let bell = Bell::default();
    let scheduler = Arc::new(engine(&config, bell.clone())?);
    let cluster = BallistaCluster::new_from_config(&scheduler).await?;
    let jobs = cluster.job_state();
    let server = create_scheduler::<LogicalPlanNode, PhysicalPlanNode>(cluster, scheduler).await?;

    let for_executors = TcpListener::bind(&config.cluster).await?;
    let for_gateways = TcpListener::bind(&config.submit).await?;
    // The first line tells the ports to whoever started the process.
    println!(r#"{{"submit":{},"cluster":{}}}"#, for_gateways.local_addr()?.port(), for_executors.local_addr()?.port());

    let executors = SchedulerGrpcServer::new(Work::new(server.clone(), bell))
        .max_decoding_message_size(MAX_MESSAGE as usize)
        .max_encoding_message_size(MAX_MESSAGE as usize);
    let gateways = SubmissionServer::new(Service::new(server, jobs, config.shuffles(), Commands::new(config.executor_tls()?)))
        .max_decoding_message_size(MAX_MESSAGE as usize)
        .max_encoding_message_size(MAX_MESSAGE as usize);
    tokio::select! {
        done = server_builder()
            .tls_config(config.cluster_tls()?)?
            .add_service(executors)
            .serve_with_incoming(incoming(for_executors)) => done?,
        done = server_builder()
            .tls_config(config.submit_tls()?)?
            .add_service(gateways)
            .serve_with_incoming(incoming(for_gateways)) => done?,
        () = governed::process::stopped() => {}
    }
    Ok(())
}

/// Who does not answer for as long as this is gone, although its connection does not say so.
const SILENCE: Duration = Duration::from_secs(20);

fn server_builder() -> Server {
    // A statement keeps a call open until its result has been read.
    Server::builder().http2_keepalive_interval(Some(SILENCE)).http2_keepalive_timeout(Some(SILENCE)).max_concurrent_streams(4096)
}

/// Ballista asks for plain connections to executors; these are the same with TLS.
fn secure(plain: &Endpoint, tls: ClientTlsConfig) -> Result<Endpoint, Failure> {
    let address = plain.uri().authority().ok_or("an executor without address")?;
    Ok(Endpoint::from_shared(format!("https://{address}"))?
        .tls_config(tls)?
        .tcp_nodelay(true)
        .connect_timeout(Duration::from_secs(5))
        .timeout(Duration::from_secs(20)))
}

fn engine(config: &Config, bell: Bell) -> Result<SchedulerConfig, Failure> {
    let tls = config.executor_tls()?;
    Ok(SchedulerConfig {
        scheduling_policy: TaskSchedulingPolicy::PullStaged,
        task_distribution: TaskDistributionPolicy::Custom(Arc::new(Shares)),
        grpc_server_max_decoding_message_size: MAX_MESSAGE,
        grpc_server_max_encoding_message_size: MAX_MESSAGE,
        grpc_client_max_message_size: MAX_MESSAGE,
        executor_timeout_seconds: config.executor_timeout,
        no_executors_grace_period_seconds: config.executor_timeout,
        expire_dead_executor_interval_seconds: 2,
        // Jobs are ended one by one; this is for those of which no end is told.
        finished_job_data_clean_up_interval_seconds: 2 * 3600,
        finished_job_state_clean_up_interval_seconds: 300,
        override_physical_codec: Some(Arc::new(GovernedCodec::new(Arc::new(BallistaPhysicalExtensionCodec::default())))),
        override_create_grpc_client_endpoint: Some(Arc::new(move |endpoint: Endpoint| secure(&endpoint, tls.clone()))),
        use_tls: true,
        on_work_available: Some(Arc::new(move |_| bell.ring())),
        job_id_generator: Some(Arc::new(jobs::Random)),
        ..SchedulerConfig::default()
    })
}

/// What comes in at a port, without waiting for more to send: small messages would take 40 ms each.
fn incoming(listener: TcpListener) -> TcpIncoming {
    TcpIncoming::from(listener).with_nodelay(Some(true))
}
