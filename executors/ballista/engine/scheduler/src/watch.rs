//! How far jobs are, in names of operators and numbers. Expressions, literals, paths and texts of errors stay here.

use std::collections::BTreeSet;

use ballista_core::execution_plans::{RangeShuffleReaderExec, ShuffleReaderExec, UnresolvedShuffleExec};
use ballista_core::serde::protobuf::failed_task::FailedReason;
use ballista_core::serde::protobuf::job_status::Status as Progress;
use ballista_core::serde::protobuf::task_status::Status as Outcome;
use ballista_core::serde::scheduler::PartitionLocation;
use ballista_scheduler::state::execution_graph::ExecutionGraph;
use ballista_scheduler::state::execution_stage::{ExecutionStage, TaskInfo};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::MetricsSet;
use governed::exec::GovernedExec;
use governed::failure;
use governed::planned::{NothingExec, RootExec, SharedExec};
use governed::wire;

/// What a job's graph tells.
pub fn progress(graph: &dyn ExecutionGraph) -> wire::Progress {
    let mut stages: Vec<wire::Stage> = graph.stages().iter().map(|(id, s)| stage(*id, s)).collect();
    stages.sort_by_key(|s| s.id);
    let told = status(graph.status().status.as_ref());
    wire::Progress { started: graph.start_time() as i64, ended: graph.end_time() as i64, stages, ..told }
}

/// What a job's status alone tells.
pub fn status(s: Option<&Progress>) -> wire::Progress {
    let mut out = wire::Progress::default();
    let state = match s {
        None => wire::State::Unknown,
        Some(Progress::Queued(_)) => wire::State::Queued,
        Some(Progress::Running(r)) => {
            out.started = r.started_at as i64;
            wire::State::Running
        }
        Some(Progress::Successful(s)) => {
            (out.started, out.ended) = (s.started_at as i64, s.ended_at as i64);
            out.parts = s.partition_location.len() as i64;
            out.rows = s.partition_location.iter().filter_map(|p| p.partition_stats.as_ref()).map(|s| s.num_rows.max(0)).sum();
            wire::State::Successful
        }
        Some(Progress::Failed(f)) => {
            (out.started, out.ended) = (f.started_at as i64, f.ended_at as i64);
            out.failure = Some(wire::Failure { class: failure::class_of(&f.error) as i32, hint: String::new(), cause: String::new() });
            wire::State::Failed
        }
    };
    out.set_state(state);
    out
}

/// Whether a job has ended, and nothing more will be known of it. One that has just ended is for a moment in neither list that has its stages.
pub fn ended(p: &wire::Progress) -> bool {
    p.state() == wire::State::Failed || p.state() == wire::State::Successful && !p.stages.is_empty()
}

/// A stage that is planned.
pub fn planned(id: usize, partitions: usize, plan: &dyn ExecutionPlan) -> wire::Stage {
    let mut operators = Vec::new();
    describe(plan, 0, &mut operators);
    wire::Stage { id: id as i32, partitions: partitions as i32, operators, ..wire::Stage::default() }
}

fn stage(id: usize, s: &ExecutionStage) -> wire::Stage {
    let none = &[][..];
    let (state, attempt, partitions, metrics): (_, _, _, &[MetricsSet]) = match s {
        ExecutionStage::UnResolved(s) => (wire::StageState::StageUnresolved, s.stage_attempt_num, 0, none),
        ExecutionStage::Resolved(s) => (wire::StageState::StageResolved, s.stage_attempt_num, s.partitions, none),
        ExecutionStage::Running(s) => (wire::StageState::StageRunning, s.stage_attempt_num, s.partitions, s.stage_metrics.as_deref().unwrap_or(none)),
        ExecutionStage::Successful(s) => (wire::StageState::StageSuccessful, s.stage_attempt_num, s.partitions, &s.stage_metrics),
        ExecutionStage::Failed(s) => (wire::StageState::StageFailed, s.stage_attempt_num, s.partitions, s.stage_metrics.as_deref().unwrap_or(none)),
    };
    let mut out = planned(id, partitions, s.plan());
    out.set_state(state);
    out.attempt = attempt as i32;
    let slots = Slots::of(s.plan());
    (out.input_rows, out.output_rows) = slots.rows(metrics, None);
    out.read_bytes = metrics.iter().map(|m| sum(m, "bytes_scanned", None)).sum();
    // Ballista's writers have another name for it than DataFusion's operators.
    out.spilled_bytes = metrics.iter().map(|m| sum(m, "spilled_bytes", None) + sum(m, "spill_bytes", None)).sum();
    for info in s.task_infos().unwrap_or_default() {
        out.shuffled_bytes += written(info);
        out.tasks.push(task(info, metrics, &slots));
    }
    if state == wire::StageState::StageFailed {
        give_up(&mut out.tasks);
    }
    out
}

/// Of a stage that failed, a task that was to be run again and was not has failed for good.
fn give_up(tasks: &mut [wire::Task]) {
    for i in 0..tasks.len() {
        let (task, later) = tasks[i..].split_first_mut().expect("a task");
        let taken_over = later.iter().any(|t| t.partitions.iter().any(|p| task.partitions.contains(p)));
        if task.state() == wire::TaskState::TaskRetried && !taken_over {
            task.set_state(wire::TaskState::TaskFailed);
        }
    }
}

fn task(t: &TaskInfo, metrics: &[MetricsSet], slots: &Slots) -> wire::Task {
    let (state, executor) = outcome(&t.task_status);
    let mut out = wire::Task {
        id: t.task_id as i32,
        partitions: t.global_input_partition_ids.iter().map(|p| *p as i32).collect(),
        executor,
        scheduled: t.scheduled_time as i64,
        launched: t.launch_time as i64,
        started: t.start_exec_time as i64,
        ended: t.end_exec_time as i64,
        finished: t.finish_time as i64,
        ..wire::Task::default()
    };
    (out.input_rows, out.output_rows) = slots.rows(metrics, Some(&t.global_input_partition_ids));
    out.set_state(state);
    out
}

fn outcome(s: &Outcome) -> (wire::TaskState, String) {
    match s {
        Outcome::Running(r) => (wire::TaskState::TaskRunning, r.executor_id.clone()),
        Outcome::Successful(s) => (wire::TaskState::TaskSuccessful, s.executor_id.clone()),
        Outcome::Failed(f) if f.retryable => (wire::TaskState::TaskRetried, String::new()),
        Outcome::Failed(f) if matches!(f.failed_reason, Some(FailedReason::TaskKilled(_))) => (wire::TaskState::TaskKilled, String::new()),
        Outcome::Failed(_) => (wire::TaskState::TaskFailed, String::new()),
    }
}

/// The bytes of the files that a task has left.
fn written(t: &TaskInfo) -> i64 {
    match &t.task_status {
        Outcome::Successful(s) => s.partitions.iter().map(|p| p.num_bytes as i64).sum(),
        _ => 0,
    }
}

fn describe(plan: &dyn ExecutionPlan, depth: i32, out: &mut Vec<wire::Operator>) {
    if plan.is::<RootExec>() || plan.is::<SharedExec>() {
        return plan.children().into_iter().for_each(|input| describe(input.as_ref(), depth, out)); // no operators
    }
    let mut operator = wire::Operator { name: plan.name().to_owned(), depth, ..wire::Operator::default() };
    operator.stages = sources(plan).into_iter().collect();
    if let Some(scan) = plan.downcast_ref::<GovernedExec>() {
        operator.relation = scan.scan().relation.clone();
        return out.push(operator); // below it are signed payloads
    }
    out.push(operator);
    if plan.is::<NothingExec>() {
        return; // below it is nothing
    }
    for child in plan.children() {
        describe(child.as_ref(), depth + 1, out);
    }
}

/// The stages whose files an operator reads.
fn sources(plan: &dyn ExecutionPlan) -> BTreeSet<i32> {
    let of = |stage: usize, parts: &[Vec<PartitionLocation>]| {
        let located = parts.iter().flatten().map(|p| p.partition_id.stage_id);
        located.chain([stage]).map(|s| s as i32).collect()
    };
    if let Some(reader) = plan.downcast_ref::<ShuffleReaderExec>() {
        return of(reader.stage_id, &reader.partition);
    }
    if let Some(reader) = plan.downcast_ref::<RangeShuffleReaderExec>() {
        return of(reader.stage_id, &reader.partition);
    }
    plan.downcast_ref::<UnresolvedShuffleExec>().map(|reader| reader.stage_id as i32).into_iter().collect()
}

/// Where the rows of a stage's end and of its beginnings stand in the list of metrics that executors send: one for each operator that has
/// some, each after the one that reads it.
struct Slots {
    root: Option<usize>,
    leaves: Vec<usize>,
    count: usize,
}

impl Slots {
    fn of(plan: &dyn ExecutionPlan) -> Self {
        let mut slots = Self { root: None, leaves: Vec::new(), count: 0 };
        slots.visit(plan, true, false);
        slots
    }

    /// What is below a governed scan are its task groups, not rows.
    fn visit(&mut self, plan: &dyn ExecutionPlan, root: bool, below: bool) {
        let scan = plan.downcast_ref::<GovernedExec>().is_some();
        if plan.metrics().is_some() {
            if root {
                self.root = Some(self.count);
            }
            if !below && (scan || plan.children().is_empty()) {
                self.leaves.push(self.count);
            }
            self.count += 1;
        }
        for child in plan.children() {
            self.visit(child.as_ref(), false, below || scan);
        }
    }

    /// Rows that came in and went out, of some partitions or of all. Where tasks have other operators than the plan, as a part of a UNION that is a
    /// constant is read as two, nothing is known of what came in.
    fn rows(&self, metrics: &[MetricsSet], partitions: Option<&[usize]>) -> (i64, i64) {
        let of = |slot: usize| metrics.get(slot).map_or(0, |m| sum(m, "output_rows", partitions));
        if metrics.len() != self.count {
            return (0, self.root.map_or(0, of));
        }
        (self.leaves.iter().map(|s| of(*s)).sum(), self.root.map_or(0, of))
    }
}

fn sum(metrics: &MetricsSet, name: &str, partitions: Option<&[usize]>) -> i64 {
    let counts = |m: &Option<usize>| partitions.is_none_or(|all| m.is_some_and(|p| all.contains(&p)));
    metrics.iter().filter(|m| m.value().name() == name && counts(&m.partition())).map(|m| m.value().as_usize() as i64).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_have_stages() {
        let told = |state: wire::State, stages| wire::Progress { state: state as i32, stages, ..wire::Progress::default() };
        assert!(!ended(&told(wire::State::Running, vec![wire::Stage::default()])));
        assert!(!ended(&told(wire::State::Successful, Vec::new())), "they are still to come");
        assert!(ended(&told(wire::State::Successful, vec![wire::Stage::default()])));
        assert!(ended(&told(wire::State::Failed, Vec::new())), "one that was never planned");
    }
}
