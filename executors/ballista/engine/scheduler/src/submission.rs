//! The service for gateways.

use std::collections::HashSet;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ballista_core::JobId;
use ballista_core::serde::protobuf::job_status::Status as Progress;
use ballista_core::serde::protobuf::scheduler_grpc_server::SchedulerGrpc;
use ballista_core::serde::protobuf::{self, CleanJobDataParams, JobStatus, PartitionLocation};
use ballista_core::serde::scheduler::{Action, ShuffleFileKind};
use ballista_scheduler::cluster::{ClusterStateEvent, JobState};
use ballista_scheduler::scheduler_server::SchedulerServer;
use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::SessionContext;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use futures::{Stream, StreamExt};
use governed::wire::{self, event};
use prost::Message;
use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status};

use crate::commands::Commands;
use crate::config::Shuffles;
use crate::shares::{Turn, Turns};
use crate::submission_server::generated::Submission;
use crate::{statement, watch};

type Scheduler = SchedulerServer<LogicalPlanNode, PhysicalPlanNode>;

/// How often a job's state is looked up: what it tells by itself may get lost.
const LOOK: Duration = Duration::from_millis(200);

/// How long a gateway that asks may wait for a job's end.
const LAST_WORDS: Duration = Duration::from_secs(4);

/// Serves gateways.
pub struct Service {
    scheduler: Scheduler,
    jobs: Arc<dyn JobState>,
    shuffles: Shuffles,
    commands: Commands,
    turns: Turns,
}

impl Service {
    /// Returns the service of a scheduler.
    pub fn new(scheduler: Scheduler, jobs: Arc<dyn JobState>, shuffles: Shuffles, commands: Commands) -> Self {
        Self { scheduler, jobs, shuffles, commands, turns: Turns::new(shuffles.partitions) }
    }

    /// How far a job is. One that has ended is known for some minutes.
    async fn progress(&self, id: &JobId) -> wire::Progress {
        if let Some(job) = self.scheduler.state.task_manager.get_running_job_cache().get(id) {
            return watch::progress(job.execution_graph.read().await.as_ref());
        }
        if let Ok(Some(graph)) = self.jobs.get_execution_graph(id).await {
            return watch::progress(graph.as_ref());
        }
        let told = self.scheduler.state.task_manager.get_job_status(id).await.ok().flatten();
        watch::status(told.and_then(|s| s.status).as_ref())
    }
}

type Events = Pin<Box<dyn Stream<Item = Result<wire::Event, Status>> + Send>>;

#[tonic::async_trait]
impl Submission for Service {
    type SubmitStream = Events;

    async fn describe(&self, request: Request<wire::Statement>) -> Result<Response<wire::Description>, Status> {
        let s = request.into_inner();
        let described = async {
            statement::check_policies(&s)?;
            let (context, plan) = statement::plan(s, self.shuffles).await?;
            statement::describe(&context, &plan)
        };
        Ok(Response::new(match described.await {
            Ok(schema) => wire::Description { schema, failure: None },
            Err(e) => wire::Description { schema: Vec::new(), failure: Some(statement::failed(&e.to_string())) },
        }))
    }

    async fn submit(&self, request: Request<wire::Statement>) -> Result<Response<Self::SubmitStream>, Status> {
        let s = request.into_inner();
        let turn = self.turns.wait(&statement::share(&s)).await;
        let (events, stream) = mpsc::channel(4);
        let job = Job { scheduler: self.scheduler.clone(), commands: self.commands.clone(), deadline: s.deadline, events, turn };
        match statement::plan(s, self.shuffles).await {
            Ok((context, plan)) => {
                tokio::spawn(job.run(context, plan));
            }
            Err(e) => job.send(event::Event::Failed(statement::failed(&e.to_string()))).await,
        }
        Ok(Response::new(Box::pin(ReceiverStream::new(stream))))
    }

    async fn outline(&self, request: Request<wire::Statement>) -> Result<Response<wire::Progress>, Status> {
        let outlined = async {
            let (context, plan) = statement::plan(request.into_inner(), self.shuffles).await?;
            statement::outline(&context, &plan).await
        };
        Ok(Response::new(match outlined.await {
            Ok(stages) => wire::Progress { stages, ..wire::Progress::default() },
            Err(e) => wire::Progress { failure: Some(statement::failed(&e.to_string())), ..wire::Progress::default() },
        }))
    }

    async fn watch(&self, request: Request<wire::Watching>) -> Result<Response<wire::Progress>, Status> {
        let asked = request.into_inner();
        let (id, until) = (asked.id.into(), tokio::time::Instant::now() + LAST_WORDS);
        loop {
            let progress = self.progress(&id).await;
            if !asked.end || watch::ended(&progress) || tokio::time::Instant::now() > until {
                return Ok(Response::new(progress));
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn cluster(&self, _: Request<wire::Done>) -> Result<Response<wire::Members>, Status> {
        let all = self.scheduler.state.executor_manager.get_executors_state().await;
        let mut executors: Vec<wire::Member> = all
            .map_err(|_| Status::unavailable("executors are not known"))?
            .into_iter()
            .map(|(e, seen, _)| wire::Member {
                id: e.id,
                host: e.host,
                port: i32::from(e.port),
                seen: seen.map_or(0, |s| s.as_millis() as i64),
                cores: e.specification.vcores as i32,
                system: e.os_info.system_name,
                kernel: e.os_info.kernel_ver,
                physical_cores: e.os_info.physical_cores as i32,
            })
            .collect();
        executors.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(Response::new(wire::Members { executors }))
    }
}

/// Ends a job, and has its files removed.
async fn end(scheduler: &Scheduler, commands: &Commands, id: JobId, running: bool) {
    let executors = scheduler.state.executor_manager.get_executors_state().await.unwrap_or_default();
    commands.end(executors.into_iter().map(|(e, ..)| e).collect(), &id);
    if running && let Err(e) = scheduler.cancel_job(id.clone()).await {
        log::warn!("job {id} cannot be cancelled: {e}");
    }
    let clean = CleanJobDataParams { job_id: id.to_string(), remove_stage_ids: Vec::new() };
    if let Err(e) = SchedulerGrpc::clean_job_data(scheduler, Request::new(clean)).await {
        log::warn!("the files of job {id} cannot be removed: {e}");
    }
}

/// One statement that runs.
struct Job {
    scheduler: Scheduler,
    commands: Commands,
    deadline: i64,
    events: mpsc::Sender<Result<wire::Event, Status>>,
    turn: Turn,
}

impl Job {
    async fn send(&self, e: event::Event) {
        // Nobody listens any more: the job has been cancelled for that.
        let _ = self.events.send(Ok(wire::Event { event: Some(e) })).await;
    }

    async fn run(mut self, context: Arc<SessionContext>, plan: LogicalPlan) {
        let (progress, mut told) = mpsc::channel(64);
        let removed = match self.scheduler.cluster_state_events().await {
            Ok(events) => events.filter_map(|e| {
                std::future::ready(if let ClusterStateEvent::RemovedExecutor { executor_id } = e { Some(executor_id) } else { None })
            }),
            Err(e) => return self.send(event::Event::Failed(statement::failed(&e.to_string()))).await,
        };
        // Files of shuffles are kept by the job's name: it is never empty, and never another's.
        let name = format!("{}-{}", context.session_id(), uuid::Uuid::new_v4());
        let id = match self.scheduler.submit_job(&name, context, &plan, Some(progress)).await {
            Ok(id) => id,
            Err(e) => return self.send(event::Event::Failed(statement::failed(&e.to_string()))).await,
        };
        self.send(event::Event::Accepted(wire::Job { id: id.to_string() })).await;
        let left = self.left();
        let outcome = tokio::select! {
            biased;
            // Ballista 55 runs the tasks of a lost executor again, and takes the rows of both runs where it was only late.
            () = self.loss(removed) => Err(wire::Failure { class: wire::Class::Lost as i32, hint: String::new(), cause: "an executor went away".to_owned() }),
            outcome = self.outcome(&id, &mut told) => outcome,
            () = tokio::time::sleep(left) => {
                Err(wire::Failure { class: wire::Class::Cancelled as i32, hint: String::new(), cause: "the deadline has passed".to_owned() })
            }
            () = self.events.closed() => {
                log::info!("job {id}: its gateway went away");
                return end(&self.scheduler, &self.commands, id, true).await;
            }
        };
        match outcome {
            Ok(parts) => {
                drop(self.turn.take());
                self.send(event::Event::Ready(wire::Ready { parts })).await;
                // The result is there for as long as the gateway keeps the call.
                tokio::select! {
                    () = self.events.closed() => {}
                    () = tokio::time::sleep(self.left()) => {}
                }
                end(&self.scheduler, &self.commands, id, false).await;
            }
            Err(failure) => {
                end(&self.scheduler, &self.commands, id, [wire::Class::Cancelled as i32, wire::Class::Lost as i32].contains(&failure.class)).await;
                self.send(event::Event::Failed(failure)).await;
            }
        }
    }

    /// Returns when an executor is gone that has asked for work since this second began, and so may have had some of this job.
    async fn loss(&self, removed: impl Stream<Item = String>) {
        let mut removed = std::pin::pin!(removed);
        let started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
        let mut busy = HashSet::new();
        loop {
            let executors = self.scheduler.state.executor_manager.get_executors_state().await.unwrap_or_default();
            busy.extend(executors.into_iter().filter(|(_, seen, _)| seen.is_some_and(|s| s.as_secs() >= started)).map(|(e, ..)| e.id));
            tokio::select! {
                id = removed.next() => match id {
                    Some(id) if busy.contains(&id) => return,
                    Some(_) => {}
                    None => std::future::pending().await,
                },
                () = tokio::time::sleep(LOOK) => {}
            }
        }
    }

    fn left(&self) -> Duration {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_millis() as i64);
        Duration::from_millis(self.deadline.saturating_sub(now).max(0) as u64)
    }

    async fn outcome(&self, id: &JobId, told: &mut mpsc::Receiver<JobStatus>) -> Result<Vec<wire::Part>, wire::Failure> {
        let mut tells = true;
        loop {
            let status = tokio::select! {
                s = told.recv(), if tells => {
                    tells = s.is_some();
                    s
                }
                () = tokio::time::sleep(LOOK) => self.scheduler.state.task_manager.get_job_status(id).await.ok().flatten(),
            };
            match status.and_then(|s| s.status) {
                Some(Progress::Successful(s)) => {
                    return s.partition_location.iter().map(part).collect::<Result<_, _>>().map_err(|e| statement::failed(&e));
                }
                Some(Progress::Failed(f)) => return Err(statement::failed(&f.error)),
                _ => {}
            }
        }
    }
}

/// Where a partition of the result is, with the ticket for it.
fn part(l: &PartitionLocation) -> Result<wire::Part, String> {
    let (Some(id), Some(at)) = (&l.partition_id, &l.executor_meta) else {
        return Err("a partition of the result without a place".to_owned());
    };
    let action = Action::FetchPartition {
        job_id: id.job_id.clone().into(),
        stage_id: id.stage_id as usize,
        partition_id: id.partition_id as usize,
        host: at.host.clone(),
        port: at.port as u16,
        file_id: l.file_id,
        layout: l.layout(),
        file_kind: ShuffleFileKind::Data,
        byte_ranges: Vec::new(),
    };
    let ticket: protobuf::Action = action.try_into().map_err(|e| format!("{e:?}"))?;
    Ok(wire::Part { host: at.host.clone(), port: at.port as i32, ticket: ticket.encode_to_vec() })
}
