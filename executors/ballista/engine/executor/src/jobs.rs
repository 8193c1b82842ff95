//! What this executor knows of jobs: what runs of each, and when each has to end.
//!
//! A job ends here when the scheduler says so, at the deadline of its statement, or when the scheduler turns out not to know it any more: its
//! tasks stop, and its files go once the last of them has stopped.

use std::collections::HashMap;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use ballista_core::error::BallistaError;
use datafusion::error::DataFusionError;
use governed::exec::Ends;
use governed::failure::failure;
use governed::wire::Class;
use tokio::sync::{Notify, watch};

/// How long the end of a job is remembered: work of it that was on its way does not begin, and what a
/// thread of it still writes is removed, too.
const REMEMBERED: Duration = Duration::from_secs(60);

/// How often deadlines are looked at, and what jobs that have ended left behind.
const LOOK: Duration = Duration::from_millis(250);

struct Job {
    deadline: Instant,
    ended: Option<Instant>,
    over: watch::Sender<bool>,
    tasks: HashMap<u64, Arc<Notify>>,
}

impl Job {
    fn new(deadline: Instant) -> Self {
        Self { deadline, ended: None, over: watch::Sender::new(false), tasks: HashMap::new() }
    }
}

#[derive(Default)]
struct Table {
    jobs: HashMap<String, Job>,
    next: u64,
}

/// The jobs of an executor whose files are below a folder.
pub struct Jobs {
    work: PathBuf,
    table: Mutex<Table>,
}

impl Jobs {
    /// Returns an executor's table of jobs.
    pub fn new(work: PathBuf) -> Arc<Self> {
        Arc::new(Self { work, table: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().expect("jobs")
    }

    /// Runs a task of a job until the task's end, the job's, or the deadline.
    pub async fn run<T>(
        self: &Arc<Self>,
        job: &str,
        deadline: Instant,
        task: impl Future<Output = Result<T, DataFusionError>>,
    ) -> Result<T, DataFusionError> {
        let running = self.begin(job, deadline)?;
        tokio::select! {
            biased;
            () = running.ended.notified() => Err(cancelled()),
            () = tokio::time::sleep_until(deadline.into()) => Err(failure(Class::Cancelled, "the statement's deadline has passed")),
            outcome = task => outcome,
        }
    }

    fn begin(self: &Arc<Self>, job: &str, deadline: Instant) -> Result<Running, DataFusionError> {
        let mut table = self.lock();
        table.next += 1;
        let number = table.next;
        let entry = table.jobs.entry(job.to_owned()).or_insert_with(|| Job::new(deadline));
        if entry.ended.is_some() {
            return Err(cancelled());
        }
        let ended = Arc::new(Notify::new());
        entry.tasks.insert(number, Arc::clone(&ended));
        Ok(Running { jobs: Arc::clone(self), job: job.to_owned(), number, ended })
    }

    /// Ends a job: its tasks stop, and then its files go.
    pub fn end(&self, job: &str) {
        let now = Instant::now();
        let idle = {
            let mut table = self.lock();
            let entry = table.jobs.entry(job.to_owned()).or_insert_with(|| Job::new(now));
            entry.ended.get_or_insert(now);
            entry.over.send_replace(true);
            entry.tasks.values().for_each(|t| t.notify_one());
            entry.tasks.is_empty()
        };
        if idle {
            self.remove(job);
        }
    }

    /// Ends all jobs that have tasks here. Those that have none may be done, and their results be fetched.
    pub fn end_running(&self) {
        let running: Vec<String> = self.lock().jobs.iter().filter(|(_, j)| !j.tasks.is_empty()).map(|(id, _)| id.clone()).collect();
        running.iter().for_each(|job| self.end(job));
    }

    /// Ends jobs at their deadlines, for ever.
    pub async fn watch(&self) {
        loop {
            tokio::time::sleep(LOOK).await;
            let now = Instant::now();
            let late: Vec<String> = {
                let table = self.lock();
                table.jobs.iter().filter(|(_, j)| j.ended.is_none() && j.deadline <= now).map(|(id, _)| id.clone()).collect()
            };
            late.iter().for_each(|job| self.end(job));
            let ended: Vec<(String, bool)> = {
                let table = self.lock();
                let idle = table.jobs.iter().filter(|(_, j)| j.tasks.is_empty());
                idle.filter_map(|(id, j)| Some((id.clone(), j.ended? + REMEMBERED <= now))).collect()
            };
            for (job, old) in ended {
                self.remove(&job);
                if old {
                    self.lock().jobs.remove(&job);
                }
            }
        }
    }

    /// Removes a job's files. What a thread of it still writes is removed later.
    fn remove(&self, job: &str) {
        let _ = std::fs::remove_dir_all(self.work.join(job));
    }
}

impl Ends for Jobs {
    fn ended(&self, job: &str) -> Pin<Box<dyn Future<Output = ()> + Send>> {
        let Some(mut over) = self.lock().jobs.get(job).map(|j| j.over.subscribe()) else {
            return Box::pin(std::future::ready(())); // it has been forgotten
        };
        Box::pin(async move {
            let _ = over.wait_for(|over| *over).await;
        })
    }
}

/// A task that somebody ended: the scheduler that did it knows, and any other may have it run again.
fn cancelled() -> DataFusionError {
    BallistaError::Cancelled.into_datafusion()
}

/// A task that runs.
struct Running {
    jobs: Arc<Jobs>,
    job: String,
    number: u64,
    ended: Arc<Notify>,
}

impl Drop for Running {
    fn drop(&mut self) {
        let last = {
            let mut table = self.jobs.lock();
            table.jobs.get_mut(&self.job).is_some_and(|j| {
                j.tasks.remove(&self.number);
                j.tasks.is_empty() && j.ended.is_some()
            })
        };
        if last {
            self.jobs.remove(&self.job);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(name: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("gatehouse-jobs-{}-{name}", std::process::id()));
        std::fs::create_dir_all(path.join("job")).expect("a folder");
        path
    }

    fn later() -> Instant {
        Instant::now() + Duration::from_secs(3600)
    }

    #[tokio::test]
    async fn the_end_stops_tasks_and_then_the_files_go() {
        let work = work("end");
        let jobs = Jobs::new(work.clone());
        let task = tokio::spawn({
            let jobs = Arc::clone(&jobs);
            async move { jobs.run::<()>("job", later(), std::future::pending()).await }
        });
        while jobs.lock().jobs.is_empty() {
            tokio::task::yield_now().await;
        }
        assert!(work.join("job").exists());
        let mut ended = jobs.ended("job");
        tokio::select! {
            biased;
            () = &mut ended => panic!("it has not ended"),
            () = std::future::ready(()) => {}
        }
        jobs.end("job");
        ended.await;
        jobs.ended("none").await;
        assert!(task.await.expect("no panic").is_err());
        assert!(!work.join("job").exists());
        // What was on its way does not begin; another job does.
        assert!(jobs.run("job", later(), async { Ok(()) }).await.is_err());
        assert!(jobs.run("other", later(), async { Ok(()) }).await.is_ok());
        std::fs::remove_dir_all(work).expect("a folder");
    }

    #[tokio::test]
    async fn a_job_without_tasks_outlives_its_scheduler_until_the_deadline() {
        let work = work("scheduler");
        let jobs = Jobs::new(work.clone());
        jobs.run("job", later(), async { Ok(()) }).await.expect("it runs");
        jobs.end_running();
        assert!(work.join("job").exists());
        assert!(jobs.run::<()>("late", Instant::now(), std::future::pending()).await.is_err());
        jobs.lock().jobs.get_mut("job").expect("it is known").deadline = Instant::now();
        tokio::select! {
            () = jobs.watch() => {}
            () = async { while work.join("job").exists() { tokio::time::sleep(Duration::from_millis(10)).await } } => {}
        }
        std::fs::remove_dir_all(work).expect("a folder");
    }
}
