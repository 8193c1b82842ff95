//! Jobs as Ballista keeps them, but for their end: a job ends with its last stage.
//!
//! Ballista 55 plans a job again after each of its stages, and after the last one as well. What comes of that may have stages that the plan
//! did not have before. It runs these too, and takes the rows of whichever ends last for the result: rows of a table, where its aggregate
//! was asked for.
//!
//! Each new plan has the stages in it that have run. Where it has one of them in another number of parts than that stage wrote, the next one would
//! read some of them and no more. And some jobs would not end at all. The joins of a plan keep their sides, and `replan` keeps plans from what else is
//! known to lead there; what is left is refused here, before its first row: a part that had run and is another now; a plan that has exchanges of
//! nothing, again and again; a job that is taken for done although its last stage never ran; and one for which a task's news was not taken, of which
//! Ballista only writes in its log.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use ballista_core::JobId;
use ballista_core::error::{BallistaError, Result};
use ballista_core::serde::protobuf::job_status::Status;
use ballista_core::serde::protobuf::task_status::Status as Outcome;
use ballista_core::serde::protobuf::{JobStatus, SuccessfulJob, TaskStatus};
use ballista_core::serde::scheduler::{ExecutorMetadata, PartitionId, PartitionLocation, PartitionStats};
use ballista_scheduler::scheduler_server::event::QueryStageSchedulerEvent as Event;
use ballista_scheduler::scheduler_server::timestamp_millis;
use ballista_scheduler::state::execution_graph::{ExecutionGraph, ExecutionGraphBox, RunningTaskInfo};
use ballista_scheduler::state::execution_stage::{ExecutionStage, RunningStage, SuccessfulStage};
use datafusion::error::DataFusionError;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::{ExecutionPlan, displayable};
use datafusion::prelude::SessionConfig;
use governed::failure;
use governed::wire::Class;
use tokio::sync::RwLock;

use crate::replan::Exchange;

/// How many stages may exchange nothing: more than any statement has joins and windows that end this by themselves, as other stages end.
const LAPS: usize = 32;

/// What a statement is refused with then.
const ROUND: &str = "a plan that its planner goes round in";
const GIVEN_UP: &str = "a plan that its planner gave up";
const CHANGED: &str = "a plan of which its planner changed a part that had run";

/// Why a statement is to be sent again whose rows of a stage went with an executor while they were read.
const GONE: &str = "rows of a stage are gone that were to be read";

/// Puts a job under an end of ours, if it is not yet.
pub async fn watch(job: &RwLock<ExecutionGraphBox>) {
    // Nobody asks for a logical plan, and ours tell none.
    if job.read().await.logical_plan().is_some() {
        let mut graph = job.write().await;
        if graph.logical_plan().is_some() {
            *graph = Box::new(Graph { beneath: graph.cloned(), executors: HashMap::new(), end: None });
        }
    }
}

/// A job that ends with its last stage.
#[derive(Debug)]
struct Graph {
    beneath: ExecutionGraphBox,
    executors: HashMap<String, ExecutorMetadata>, // by id: all that have told something
    end: Option<End>,
}

/// What is known of a job once its last stage has ended.
#[derive(Debug, Clone)]
struct End {
    stages: HashMap<usize, ExecutionStage>, // that were run to their ends
    locations: Vec<PartitionLocation>,
    status: JobStatus,
    time: u64,
}

impl Graph {
    /// What is known of the job's end, if its last stage has ended.
    fn ended(&self) -> Result<Option<End>> {
        let stages: HashMap<_, _> =
            self.beneath.stages().iter().filter(|(_, s)| matches!(s, ExecutionStage::Successful(_))).map(|(id, s)| (*id, s.clone())).collect();
        let last = last_stage(self.beneath.physical_plan().as_ref()).and_then(|id| stages.get(&id));
        let queued_at = match &self.beneath.status().status {
            Some(Status::Running(r)) => r.queued_at,
            Some(Status::Successful(s)) => s.queued_at,
            _ => return Ok(None), // it has failed
        };
        let Some(ExecutionStage::Successful(last)) = last else { return Ok(None) };
        let (locations, time) = (self.locations(last)?, timestamp_millis());
        let partition_location = locations.iter().cloned().map(TryInto::try_into).collect::<Result<_>>()?;
        let status = Status::Successful(SuccessfulJob { partition_location, queued_at, started_at: self.start_time(), ended_at: time });
        Ok(Some(End { stages, locations, status: JobStatus { status: Some(status), ..self.beneath.status().clone() }, time }))
    }

    /// Why a job will not end, or not as it should, if it will not.
    fn stuck(&self) -> Option<DataFusionError> {
        let nothing = |s: &&ExecutionStage| s.plan().children().first().is_some_and(|input| nothing(input.as_ref()));
        match &self.end {
            Some(_) => None,
            None if self.beneath.is_successful() => Some(failure::unsupported(GIVEN_UP)),
            None if self.beneath.stages().values().filter(nothing).count() > LAPS => Some(failure::unsupported(ROUND)),
            None => changed(&self.beneath.physical_plan(), self.beneath.stages()),
        }
    }

    /// Ends a job without a result.
    fn refuse(&mut self, why: &DataFusionError) -> Vec<Event> {
        let (message, now) = (why.to_string(), timestamp_millis());
        self.beneath.fail_job(message.clone());
        vec![Event::JobRunningFailed { job_id: self.job_id().clone(), fail_message: message, queued_at: now, failed_at: now }]
    }

    /// Where a stage's rows are, in the order of its partitions.
    fn locations(&self, stage: &SuccessfulStage) -> Result<Vec<PartitionLocation>> {
        let mut out = Vec::new();
        for task in &stage.task_infos {
            let Outcome::Successful(done) = &task.task_status else { continue };
            let executor = self.executors.get(&done.executor_id).ok_or_else(|| BallistaError::Internal("a task of nobody".to_owned()))?;
            out.extend(done.partitions.iter().map(|p| PartitionLocation {
                map_partition_id: task.task_id,
                partition_id: PartitionId { job_id: self.job_id().clone(), stage_id: stage.stage_id, partition_id: p.partition_id as usize },
                executor_meta: executor.clone(),
                partition_stats: PartitionStats::new(Some(p.num_rows), Some(p.num_batches), Some(p.num_bytes)),
                file_id: p.file_id,
                is_sort_shuffle: p.is_sort_shuffle,
            }));
        }
        out.sort_by_key(|l| l.partition_id.partition_id);
        Ok(out)
    }
}

/// Whether a plan has no rows from anywhere.
fn nothing(plan: &dyn ExecutionPlan) -> bool {
    plan.downcast_ref::<EmptyExec>().is_some() || plan.downcast_ref::<RepartitionExec>().is_some_and(|r| nothing(r.input().as_ref()))
}

/// What is wrong with the stages of a plan that have run: one is there in another number of parts than it was run in, that cannot be known, or it is run
/// again.
fn changed(plan: &Arc<dyn ExecutionPlan>, stages: &HashMap<usize, ExecutionStage>) -> Option<DataFusionError> {
    match Exchange::of(plan) {
        Some(e) if e.resolved => match e.stage.and_then(|id| stages.get(&id)) {
            Some(ExecutionStage::Successful(s)) => {
                let other = e.parts_of_input && s.partitions != plan.properties().partitioning.partition_count();
                other.then(|| failure::unsupported(CHANGED))
            }
            Some(_) => Some(failure::failure(Class::Lost, GONE)),
            None => Some(failure::unsupported(CHANGED)),
        },
        None if Exchange::is(plan) => Some(failure::unsupported(CHANGED)),
        _ => plan.children().into_iter().find_map(|input| changed(input, stages)),
    }
}

/// The last stage of a plan, once it has ended. Ballista keeps the type of a plan's root to itself, and says this of it in words alone.
fn last_stage(plan: &dyn ExecutionPlan) -> Option<usize> {
    let words = displayable(plan).one_line().to_string();
    let rest = words.trim_end().strip_suffix(", stage_resolved=true")?;
    rest.strip_prefix("AdaptiveDatafusionExec: ")?.rsplit_once("stage_id=")?.1.parse().ok()
}

impl ExecutionGraph for Graph {
    fn update_task_status(
        &mut self,
        executor: &ExecutorMetadata,
        told: Vec<TaskStatus>,
        task_failures: usize,
        stage_failures: usize,
    ) -> Result<Vec<Event>> {
        if self.end.is_some() {
            return Ok(Vec::new());
        }
        self.executors.insert(executor.id.clone(), executor.clone());
        let mut events = match self.beneath.update_task_status(executor, told, task_failures, stage_failures) {
            Ok(events) => events,
            Err(e) => {
                log::info!("a job cannot go on: {e}");
                return Ok(self.refuse(&failure::unsupported(GIVEN_UP)));
            }
        };
        self.end = self.ended()?;
        if let Some(why) = self.stuck() {
            events = self.refuse(&why);
        }
        if let Some(end) = &self.end {
            events.retain(|e| matches!(e, Event::CancelTasks(_)));
            events.push(Event::JobFinished { job_id: self.job_id().clone(), queued_at: queued(&end.status), completed_at: end.time });
        }
        Ok(events)
    }

    fn is_successful(&self) -> bool {
        self.end.is_some() || self.beneath.is_successful()
    }

    fn status(&self) -> &JobStatus {
        self.end.as_ref().map_or_else(|| self.beneath.status(), |e| &e.status)
    }

    fn stages(&self) -> &HashMap<usize, ExecutionStage> {
        self.end.as_ref().map_or_else(|| self.beneath.stages(), |e| &e.stages)
    }

    fn output_locations(&self) -> Vec<PartitionLocation> {
        self.end.as_ref().map_or_else(|| self.beneath.output_locations(), |e| e.locations.clone())
    }

    fn end_time(&self) -> u64 {
        self.end.as_ref().map_or_else(|| self.beneath.end_time(), |e| e.time)
    }

    fn stage_count(&self) -> usize {
        self.stages().len()
    }

    fn completed_stages(&self) -> usize {
        self.end.as_ref().map_or_else(|| self.beneath.completed_stages(), |e| e.stages.len())
    }

    fn revive(&mut self) -> bool {
        self.end.is_none() && self.beneath.revive()
    }

    fn available_tasks(&self) -> usize {
        if self.end.is_some() { 0 } else { self.beneath.available_tasks() }
    }

    fn fetch_running_stage(&mut self, black_list: &[usize]) -> Option<&mut RunningStage> {
        if self.end.is_some() { None } else { self.beneath.fetch_running_stage(black_list) }
    }

    fn succeed_job(&mut self) -> Result<()> {
        if self.end.is_some() { Ok(()) } else { self.beneath.succeed_job() }
    }

    fn fail_job(&mut self, error: String) {
        self.end = None;
        self.beneath.fail_job(error);
    }

    fn update_status(&mut self, status: JobStatus) {
        self.end = None;
        self.beneath.update_status(status);
    }

    fn cloned(&self) -> ExecutionGraphBox {
        Box::new(Self { beneath: self.beneath.cloned(), executors: self.executors.clone(), end: self.end.clone() })
    }

    fn logical_plan(&self) -> Option<&str> {
        None
    }

    fn job_id(&self) -> &JobId {
        self.beneath.job_id()
    }

    fn job_name(&self) -> &str {
        self.beneath.job_name()
    }

    fn session_id(&self) -> &str {
        self.beneath.session_id()
    }

    fn scheduler_id(&self) -> Option<&str> {
        self.beneath.scheduler_id()
    }

    fn session_config(&self) -> Arc<SessionConfig> {
        self.beneath.session_config()
    }

    fn physical_plan(&self) -> Arc<dyn ExecutionPlan> {
        self.beneath.physical_plan()
    }

    fn start_time(&self) -> u64 {
        self.beneath.start_time()
    }

    fn running_stages(&self) -> Vec<usize> {
        self.beneath.running_stages()
    }

    fn running_tasks(&self) -> Vec<RunningTaskInfo> {
        self.beneath.running_tasks()
    }

    fn reset_stages_on_lost_executor(&mut self, executor: &str) -> Result<(HashSet<usize>, Vec<RunningTaskInfo>)> {
        self.beneath.reset_stages_on_lost_executor(executor)
    }

    fn resolve_stage(&mut self, stage: usize) -> Result<bool> {
        self.beneath.resolve_stage(stage)
    }

    fn succeed_stage(&mut self, stage: usize) -> bool {
        self.beneath.succeed_stage(stage)
    }

    fn fail_stage(&mut self, stage: usize, error: String) -> bool {
        self.beneath.fail_stage(stage, error)
    }

    fn rollback_running_stage(&mut self, stage: usize, reasons: HashSet<String>) -> Result<Vec<RunningTaskInfo>> {
        self.beneath.rollback_running_stage(stage, reasons)
    }

    fn rollback_resolved_stage(&mut self, stage: usize) -> Result<bool> {
        self.beneath.rollback_resolved_stage(stage)
    }

    fn rerun_successful_stage(&mut self, stage: usize) -> bool {
        self.beneath.rerun_successful_stage(stage)
    }
}

fn queued(status: &JobStatus) -> u64 {
    if let Some(Status::Successful(s)) = &status.status { s.queued_at } else { 0 }
}
