//! What executors may ask the scheduler: for work, and nothing else.
//!
//! An executor without work does not ask again and again: its question waits here until there is some, so that a stage starts when its
//! input is ready.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use ballista_core::JobId;
use ballista_core::serde::protobuf::scheduler_grpc_server::SchedulerGrpc;
use ballista_core::serde::protobuf::{
    CancelJobParams, CancelJobResult, CleanJobDataParams, CleanJobDataResult, CreateUpdateSessionParams, CreateUpdateSessionResult,
    ExecuteQueryParams, ExecuteQueryResult, ExecutorStoppedParams, ExecutorStoppedResult, GetJobMetricsParams, GetJobMetricsResult,
    GetJobStatusParams, GetJobStatusResult, HeartBeatParams, HeartBeatResult, PollWorkParams, PollWorkResult, RegisterExecutorParams,
    RegisterExecutorResult, RemoveSessionParams, RemoveSessionResult, UpdateTaskStatusParams, UpdateTaskStatusResult,
};
use ballista_core::serde::scheduler::ExecutorSpecification;
use ballista_scheduler::scheduler_server::SchedulerServer;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::{Request, Response, Status};
use uuid::Uuid;

/// How long a question waits. The answer that there is nothing is also the executor's sign of life.
const PATIENCE: Duration = Duration::from_secs(1);

/// How long it waits while the executor has tasks, whose ends it can tell in a question only.
const PATIENCE_AT_WORK: Duration = Duration::from_millis(5);

type Scheduler = SchedulerServer<LogicalPlanNode, PhysicalPlanNode>;

/// Is told when a job begins, and when a stage can.
#[derive(Clone, Default)]
pub struct Bell(Arc<Notify>);

impl Bell {
    /// Wakes all that wait.
    pub fn ring(&self) {
        self.0.notify_waiters();
    }
}

/// How often a job is looked at whose tasks have ended, and how many times. Ballista calls back when a job begins, but not for each of its
/// stages, and works off what executors tell in its own time.
const LOOK: Duration = Duration::from_millis(2);
const LOOKS: usize = 500;

/// The jobs that are looked at, each with the looks that are left.
#[derive(Clone, Default)]
struct Watched(Arc<Mutex<HashMap<JobId, usize>>>);

impl Watched {
    /// Rings the bell once a job has tasks to give away.
    fn watch(&self, scheduler: &Scheduler, jobs: &HashSet<JobId>, bell: &Bell) {
        let mut watched = self.lock();
        let idle = watched.is_empty();
        watched.extend(jobs.iter().map(|job| (job.clone(), LOOKS)));
        if idle && !watched.is_empty() {
            tokio::spawn(self.clone().look(scheduler.clone(), bell.clone()));
        }
    }

    /// Looks at all watched jobs until there is none.
    async fn look(self, scheduler: Scheduler, bell: Bell) {
        loop {
            let jobs: Vec<JobId> = self.lock().keys().cloned().collect();
            let running = scheduler.state.task_manager.get_running_job_cache();
            let mut ready = HashSet::new();
            for job in jobs {
                if let Some(info) = running.get(&job) {
                    let mut graph = info.execution_graph.write().await;
                    graph.revive(); // a stage whose input is there has tasks from then on
                    if graph.available_tasks() > 0 {
                        ready.insert(job);
                    }
                }
            }
            let left = {
                let mut watched = self.lock();
                watched.retain(|job, looks| {
                    *looks -= 1;
                    *looks > 0 && running.contains_key(job) && !ready.contains(job)
                });
                !watched.is_empty()
            };
            if !ready.is_empty() {
                bell.ring();
            }
            if !left {
                return;
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<JobId, usize>> {
        self.0.lock().expect("watched jobs")
    }
}

/// Serves executors.
pub struct Work {
    scheduler: Scheduler,
    bell: Bell,
    watched: Watched,
    registrations: Mutex<HashMap<String, MetadataValue<Ascii>>>,
}

/// The header of answers that names the registration of the executor that they go to: another one where it has been taken for lost meanwhile.
const REGISTRATION: &str = "gatehouse-registration";

impl Work {
    /// Returns the service of a scheduler that rings the bell.
    pub fn new(scheduler: Scheduler, bell: Bell) -> Self {
        Self { scheduler, bell, watched: Watched::default(), registrations: Mutex::default() }
    }

    /// Names the registration of an executor that asks for work now.
    async fn registration(&self, executor: &str) -> MetadataValue<Ascii> {
        let known = self.scheduler.state.executor_manager.get_executor_metadata(executor).await.is_ok();
        let fresh = || Uuid::new_v4().to_string().parse().expect("a UUID is ASCII");
        let mut registrations = self.registrations.lock().expect("registrations");
        if !known {
            registrations.remove(executor);
        }
        registrations.entry(executor.to_owned()).or_insert_with(fresh).clone()
    }
}

/// How long a question of an executor with this many of its cores free may wait.
fn patience(free: u32, cores: u32) -> Duration {
    match free {
        0 => Duration::ZERO,
        _ if free < cores => PATIENCE_AT_WORK,
        _ => PATIENCE,
    }
}

fn refused<T>() -> Result<T, Status> {
    Err(Status::permission_denied("executors ask for work"))
}

#[tonic::async_trait]
impl SchedulerGrpc for Work {
    type ExecuteQueryPushStream = tokio_stream::Empty<Result<GetJobStatusResult, Status>>;

    async fn poll_work(&self, request: Request<PollWorkParams>) -> Result<Response<PollWorkResult>, Status> {
        let mut question = request.into_inner();
        let said = question.metadata.as_ref().filter(|m| m.host.is_some() && m.os_info.is_some());
        let Some((id, specification)) = said.and_then(|m| Some((m.id.clone(), m.specification.clone()?))) else {
            return Err(Status::invalid_argument("an executor that does not say what it is"));
        };
        let specification: ExecutorSpecification = specification.into();
        let registration = self.registration(&id).await;
        let until = Instant::now() + patience(question.num_free_vcores, specification.vcores);
        let jobs: HashSet<JobId> = question.task_status.iter().map(|s| s.job_id.clone().into()).collect();
        loop {
            let rung = self.bell.0.notified();
            tokio::pin!(rung);
            // From here on no ring is missed.
            rung.as_mut().enable();
            let mut answer = self.scheduler.poll_work(Request::new(question.clone())).await?;
            answer.metadata_mut().insert(REGISTRATION, registration.clone());
            if !question.task_status.is_empty() {
                self.watched.watch(&self.scheduler, &jobs, &self.bell);
                question.task_status.clear();
            }
            let said = answer.get_ref();
            if !said.tasks.is_empty() || !said.jobs_to_clean.is_empty() || timeout_at(until, rung).await.is_err() {
                return Ok(answer);
            }
        }
    }

    async fn register_executor(&self, _: Request<RegisterExecutorParams>) -> Result<Response<RegisterExecutorResult>, Status> {
        refused()
    }

    async fn heart_beat_from_executor(&self, _: Request<HeartBeatParams>) -> Result<Response<HeartBeatResult>, Status> {
        refused()
    }

    async fn update_task_status(&self, _: Request<UpdateTaskStatusParams>) -> Result<Response<UpdateTaskStatusResult>, Status> {
        refused()
    }

    async fn create_update_session(&self, _: Request<CreateUpdateSessionParams>) -> Result<Response<CreateUpdateSessionResult>, Status> {
        refused()
    }

    async fn remove_session(&self, _: Request<RemoveSessionParams>) -> Result<Response<RemoveSessionResult>, Status> {
        refused()
    }

    async fn execute_query_push(&self, _: Request<ExecuteQueryParams>) -> Result<Response<Self::ExecuteQueryPushStream>, Status> {
        refused()
    }

    async fn execute_query(&self, _: Request<ExecuteQueryParams>) -> Result<Response<ExecuteQueryResult>, Status> {
        refused()
    }

    async fn get_job_status(&self, _: Request<GetJobStatusParams>) -> Result<Response<GetJobStatusResult>, Status> {
        refused()
    }

    async fn get_job_metrics(&self, _: Request<GetJobMetricsParams>) -> Result<Response<GetJobMetricsResult>, Status> {
        refused()
    }

    async fn executor_stopped(&self, _: Request<ExecutorStoppedParams>) -> Result<Response<ExecutorStoppedResult>, Status> {
        refused()
    }

    async fn cancel_job(&self, _: Request<CancelJobParams>) -> Result<Response<CancelJobResult>, Status> {
        refused()
    }

    async fn clean_job_data(&self, _: Request<CleanJobDataParams>) -> Result<Response<CleanJobDataResult>, Status> {
        refused()
    }
}
