//! An executor of a Gatehouse cluster: Ballista's, as a library, whose tasks read governed relations and nothing else.
//!
//! It can sign nothing, and has no credential of a storage and no list of tables. What it reads is in task groups that a gateway signed, and,
//! where that lies in an object store, by URLs in them that end with the statement.

mod again;
mod commands;
mod config;
mod connections;
mod ending;
mod engine;
mod fault;
mod jobs;
mod memory;
mod stage;
mod work;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use arrow_flight::flight_service_server::FlightServiceServer;
use ballista_core::extension::SessionConfigExt;
use ballista_core::registry::BallistaFunctionRegistry;
use ballista_core::serde::protobuf::ExecutorRegistration;
use ballista_core::serde::protobuf::executor_grpc_server::ExecutorGrpcServer;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use ballista_core::serde::scheduler::{ExecutorOperatingSystemSpecification, ExecutorSpecification};
use ballista_core::serde::{BallistaCodec, BallistaLogicalExtensionCodec, BallistaPhysicalExtensionCodec};
use ballista_core::{BALLISTA_PROTOCOL_VERSION, ConfigProducer, RuntimeProducer};
use ballista_executor::execution_engine::DefaultExecutionEngine;
use ballista_executor::execution_loop::poll_loop;
use ballista_executor::executor::Executor;
use ballista_executor::flight_service::BallistaFlightService;
use ballista_executor::health::ExecutorHealth;
use ballista_executor::metrics::LoggingMetricsCollector;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::SessionConfig;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use governed::codec::GovernedCodec;
use governed::exec::{Ends, Runner};
use governed::guard::Guard;
use governed::seal::Vault;
use governed::stores::Stores;
use governed::{session, skipping};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Endpoint, Server};

use again::Again;
use commands::Commands;
use config::{Config, Failure};
use connections::Connections;
use engine::Engine;
use jobs::Jobs;
use stage::Stages;

/// The largest message: a plan holds its task groups.
const MAX_MESSAGE: usize = 128 << 20;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let path = std::env::args().nth(1).ok_or("usage: gatehouse-executor CONFIG.json")?;
    let config = Config::read(Path::new(&path))?;
    governed::process::start();
    work::prepare(&config.work)?;
    let work = config.work.to_str().ok_or("the work folder's name is no text")?.to_owned();
    let jobs = Jobs::new(config.work.clone());
    let data = TcpListener::bind(&config.listen).await?;
    let command = match &config.command {
        Some(address) => TcpListener::bind(address).await?,
        None => TcpListener::bind((data.local_addr()?.ip(), 0)).await?,
    };
    let executor = Arc::new(executor(&config, &work, data.local_addr()?.port(), command.local_addr()?.port(), &jobs)?);
    // The first line tells the port and the memory to whoever started the process.
    println!(r#"{{"data":{},"memory":{}}}"#, data.local_addr()?.port(), config.memory);

    let flight = FlightServiceServer::new(BallistaFlightService::new(work.clone()))
        .max_decoding_message_size(MAX_MESSAGE)
        .max_encoding_message_size(MAX_MESSAGE);
    let scheduler = Endpoint::from_shared(format!("https://{}", config.scheduler))?
        .tls_config(config.client_tls("scheduler.gatehouse")?)?
        .tcp_nodelay(true)
        .connect_timeout(Duration::from_secs(5))
        .timeout(Duration::from_secs(20))
        .connect_lazy();
    let answered = Arc::new(Notify::new());
    let scheduler = SchedulerGrpcClient::new(Again::new(scheduler, Arc::clone(&answered), Arc::clone(&jobs)))
        .max_decoding_message_size(MAX_MESSAGE)
        .max_encoding_message_size(MAX_MESSAGE);
    let codec: BallistaCodec<LogicalPlanNode, PhysicalPlanNode> = BallistaCodec::new(
        Arc::new(BallistaLogicalExtensionCodec::default()),
        Arc::new(GovernedCodec::new(Arc::new(BallistaPhysicalExtensionCodec::default()))),
    );
    let outcome: Result<(), Failure> = tokio::select! {
        done = Server::builder()
            .tls_config(config.data_tls()?)?
            .add_service(flight)
            .serve_with_incoming(incoming(data)) => done.map_err(Into::into),
        done = Server::builder()
            .tls_config(config.command_tls()?)?
            .add_service(ExecutorGrpcServer::new(Commands::new(Arc::clone(&executor), Arc::clone(&jobs))))
            .serve_with_incoming(incoming(command)) => done.map_err(Into::into),
        done = poll_loop(scheduler, executor, codec, Some(answered), None, ExecutorHealth::new()) => done.map_err(Into::into),
        () = jobs.watch() => Ok(()),
        () = governed::process::stopped() => Ok(()),
    };
    work::empty(&config.work)?;
    outcome?;
    // Tasks that still run have nobody to tell.
    std::process::exit(0)
}

fn executor(config: &Config, work: &str, port: u16, grpc_port: u16, jobs: &Arc<Jobs>) -> Result<Executor, Failure> {
    let registration = ExecutorRegistration {
        id: uuid::Uuid::new_v4().to_string(),
        host: Some(config.host.clone()),
        port: u32::from(port),
        grpc_port: u32::from(grpc_port),
        specification: Some(ExecutorSpecification::default().with_vcores(config.cores as u32).into()),
        os_info: Some(machine().into()),
        ballista_protocol_version: BALLISTA_PROTOCOL_VERSION,
    };
    let vault = config.seal.as_deref().map(Vault::open).transpose()?;
    let runner = Arc::new(Runner {
        guard: Guard::open(&config.keys, vault)?,
        state: session::builder(session::configure(SessionConfig::new())).build(),
        stores: Stores::new(&config.stores, config.store_authorities.as_deref())?,
        ends: Arc::clone(jobs) as Arc<dyn Ends>,
    });
    let tls = config.client_tls("executor.gatehouse")?;
    let base = session::configure(SessionConfig::new_with_ballista())
        .with_option_extension(session::Run::default())
        .with_extension(runner)
        .with_ballista_use_tls(true)
        .with_ballista_override_create_grpc_client_endpoint(Arc::new(move |endpoint: Endpoint| Ok(endpoint.tls_config(tls.clone())?)));
    let configs: ConfigProducer = Arc::new(move || base.clone());
    // One pool of memory for all tasks: who needs more may have it as long as the others need less.
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(FairSpillPool::new(config.memory)))
        .with_temp_file_path(Path::new(work).join(work::SPILL))
        .build_arc()?;
    let runtimes: RuntimeProducer = Arc::new(move |_| Ok(Arc::clone(&runtime)));
    let mut functions = BallistaFunctionRegistry::default();
    functions.scalar_functions.extend(session::scalar_functions().into_iter().map(|f| (f.name().to_owned(), f)));
    functions.window_functions.extend(skipping::all().into_iter().map(|f| (f.name().to_owned(), f)));
    functions.aggregate_functions.extend(session::aggregate_functions().into_iter().map(|f| (f.name().to_owned(), f)));
    Ok(Executor::new(
        registration,
        work,
        runtimes,
        configs,
        Arc::new(functions),
        Arc::new(LoggingMetricsCollector::default()),
        config.cores,
        Arc::new(Engine::new(
            Stages::new(DefaultExecutionEngine::with_client_pool(Arc::new(Connections::default())), Arc::clone(jobs) as _),
            Arc::clone(jobs),
        )),
    ))
}

/// What is known of the machine; the rest is empty, not guessed.
fn machine() -> ExecutorOperatingSystemSpecification {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    ExecutorOperatingSystemSpecification {
        system_name: std::env::consts::OS.to_owned(),
        kernel_ver: std::fs::read_to_string("/proc/sys/kernel/osrelease").map_or_else(|_| String::new(), |v| v.trim().to_owned()),
        os_ver: String::new(),
        os_ver_long: String::new(),
        physical_cores: cores as u32,
        num_disks: 0,
        total_disk_space: 0,
        total_available_disk_space: 0,
        open_files_limit: 0,
    }
}

/// What comes in at a port, without waiting for more to send: small messages would take 40 ms each.
fn incoming(listener: TcpListener) -> TcpIncoming {
    TcpIncoming::from(listener).with_nodelay(Some(true))
}
