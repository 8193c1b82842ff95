//! The scheduler's commands. Work is not among them: an executor asks for it.

use std::path::{Component, Path};
use std::sync::Arc;

use ballista_core::serde::protobuf::executor_grpc_server::ExecutorGrpc;
use ballista_core::serde::protobuf::{
    CancelTasksParams, CancelTasksResult, LaunchMultiTaskParams, LaunchMultiTaskResult, LaunchTaskParams, LaunchTaskResult, RemoveJobDataParams,
    RemoveJobDataResult, StopExecutorParams, StopExecutorResult,
};
use ballista_executor::executor::Executor;
use tonic::{Request, Response, Status};

use crate::jobs::Jobs;

/// Carries the commands out.
pub struct Commands {
    executor: Arc<Executor>,
    jobs: Arc<Jobs>,
}

impl Commands {
    /// Returns the service of an executor.
    pub fn new(executor: Arc<Executor>, jobs: Arc<Jobs>) -> Self {
        Self { executor, jobs }
    }
}

#[tonic::async_trait]
impl ExecutorGrpc for Commands {
    async fn launch_task(&self, _: Request<LaunchTaskParams>) -> Result<Response<LaunchTaskResult>, Status> {
        Err(Status::unimplemented("executors ask for work"))
    }

    async fn launch_multi_task(&self, _: Request<LaunchMultiTaskParams>) -> Result<Response<LaunchMultiTaskResult>, Status> {
        Err(Status::unimplemented("executors ask for work"))
    }

    async fn stop_executor(&self, _: Request<StopExecutorParams>) -> Result<Response<StopExecutorResult>, Status> {
        Err(Status::unimplemented("an executor stops by a signal"))
    }

    async fn cancel_tasks(&self, request: Request<CancelTasksParams>) -> Result<Response<CancelTasksResult>, Status> {
        let mut cancelled = true;
        for t in request.into_inner().task_infos {
            let done = self.executor.cancel_task(t.job_id.into(), t.stage_id as usize, t.task_id as usize).await;
            cancelled &= done.unwrap_or(false);
        }
        Ok(Response::new(CancelTasksResult { cancelled }))
    }

    async fn remove_job_data(&self, request: Request<RemoveJobDataParams>) -> Result<Response<RemoveJobDataResult>, Status> {
        let params = request.into_inner();
        let mut components = Path::new(&params.job_id).components();
        let (Some(Component::Normal(job)), None) = (components.next(), components.next()) else {
            return Err(Status::invalid_argument("no name of a job"));
        };
        let Some(job) = job.to_str().filter(|_| params.remove_stage_ids.is_empty()) else {
            return Err(Status::unimplemented("a job's files go all at once"));
        };
        self.jobs.end(job);
        Ok(Response::new(RemoveJobDataResult {}))
    }
}
