//! Who gets the next free core: every user an equal share, and of a user's statements each. And who is planned: of each user a few statements at
//! once, so that those of others do not wait for all of them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use ballista_core::JobId;
use ballista_core::serde::protobuf::AvailableVcores;
use ballista_core::serde::scheduler::{ExecutorData, ExecutorMetadata, ExecutorOperatingSystemSpecification, ExecutorSpecification};
use ballista_scheduler::cluster::memory::InMemoryClusterState;
use ballista_scheduler::cluster::{BoundTask, ClusterState, DistributionPolicy};
use ballista_scheduler::config::TaskDistributionPolicy;
use ballista_scheduler::state::task_manager::JobInfoCache;
use datafusion::error::{DataFusionError, Result};
use governed::session::Run;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::graph;

/// Gives a core to the user who has the fewest, and among that user's statements to the one that has the fewest, then to the oldest.
#[derive(Debug)]
pub struct Shares;

/// A job that could use a core.
struct Waiting {
    job: JobId,
    user: String,
    since: u64,
    tasks: usize,
    running: usize,
}

#[async_trait::async_trait]
impl DistributionPolicy for Shares {
    async fn bind_tasks(&self, budgets: Vec<&mut AvailableVcores>, jobs: Arc<HashMap<JobId, JobInfoCache>>) -> Result<Vec<BoundTask>> {
        let mut bound = Vec::new();
        if budgets.iter().all(|b| b.vcores == 0) {
            return Ok(bound);
        }
        let (mut waiting, mut users) = look(&jobs).await;
        for budget in budgets {
            while budget.vcores > 0 {
                let Some(next) = next(&mut waiting, &users) else { return Ok(bound) };
                let Some(task) = bind(&budget.executor_id, &next.job, &jobs).await? else {
                    next.tasks = 0;
                    continue;
                };
                budget.vcores -= task.1.vcores_consumed.min(budget.vcores);
                next.tasks = next.tasks.saturating_sub(task.1.global_input_partition_ids.len());
                next.running += 1;
                *users.entry(next.user.clone()).or_default() += 1;
                bound.push(task);
            }
        }
        Ok(bound)
    }

    fn name(&self) -> &str {
        "shares"
    }
}

/// The jobs that wait for a core, and how many tasks of each user run.
async fn look(jobs: &HashMap<JobId, JobInfoCache>) -> (Vec<Waiting>, HashMap<String, usize>) {
    let mut waiting = Vec::new();
    let mut users: HashMap<String, usize> = HashMap::new();
    for (job, info) in jobs {
        graph::watch(&info.execution_graph).await; // before it has its first task
        let graph = info.execution_graph.read().await;
        let running = graph.running_tasks().len();
        let user = graph.session_config().options().extensions.get::<Run>().map(|r| r.share.clone()).unwrap_or_default();
        *users.entry(user.clone()).or_default() += running;
        let tasks = graph.available_tasks();
        if tasks > 0 {
            waiting.push(Waiting { job: job.clone(), user, since: graph.start_time(), tasks, running });
        }
    }
    (waiting, users)
}

/// Whose turn it is.
fn next<'a>(waiting: &'a mut [Waiting], users: &HashMap<String, usize>) -> Option<&'a mut Waiting> {
    let order = |w: &Waiting| (users.get(&w.user).copied().unwrap_or_default(), w.running, w.since);
    waiting.iter_mut().filter(|w| w.tasks > 0).min_by(|a, b| order(a).cmp(&order(b)).then_with(|| a.job.cmp(&b.job)))
}

/// Has Ballista bind one task of a job: it is asked as if there were no other job, and one core.
async fn bind(executor: &str, job: &JobId, jobs: &HashMap<JobId, JobInfoCache>) -> Result<Option<BoundTask>> {
    let Some(info) = jobs.get(job) else { return Ok(None) };
    let failed = |e| DataFusionError::External(Box::new(e));
    let one = InMemoryClusterState::default();
    let metadata = ExecutorMetadata {
        id: executor.to_owned(),
        host: String::new(),
        port: 0,
        grpc_port: 0,
        specification: ExecutorSpecification::default().with_vcores(1),
        os_info: ExecutorOperatingSystemSpecification::default(),
    };
    one.register_executor(metadata, ExecutorData { executor_id: executor.to_owned(), total_vcores: 1, available_vcores: 1 }).await.map_err(failed)?;
    let alone = Arc::new(HashMap::from([(job.clone(), info.clone())]));
    let tasks = one.bind_schedulable_tasks(TaskDistributionPolicy::RoundRobin, alone, None).await.map_err(failed)?;
    Ok(tasks.into_iter().next())
}

/// How many statements of a user are planned and run at once, at least.
const AT_ONCE: usize = 8;

/// What a statement has while it is planned and runs; taken away when it only waits for its rows to be fetched.
pub type Turn = Option<OwnedSemaphorePermit>;

/// Whose statement is planned next. The statements of one user wait for each other in the order in which they came.
pub struct Turns {
    at_once: usize,
    users: Mutex<HashMap<String, Arc<Semaphore>>>,
}

impl Turns {
    /// Returns turns for a cluster with this many cores.
    pub fn new(cores: usize) -> Self {
        Self { at_once: cores.max(AT_ONCE), users: Mutex::default() }
    }

    /// Waits for the turn of a statement of a user.
    pub async fn wait(&self, user: &str) -> Turn {
        let turns = {
            let mut users = self.users.lock().expect("users");
            // Who has nothing here needs no entry.
            users.retain(|_, s| Arc::strong_count(s) > 1 || s.available_permits() < self.at_once);
            Arc::clone(users.entry(user.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(self.at_once))))
        };
        turns.acquire_owned().await.ok()
    }
}
