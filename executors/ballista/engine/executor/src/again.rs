//! Asking the scheduler for work without a pause: it answers when there is some.
//!
//! Each answer tells which registration of this executor it goes to. A scheduler that has taken the executor for lost, or that has started
//! since, knows none of its jobs, and registers it anew.

use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use tokio::sync::Notify;
use tonic::codegen::Service;
use tonic::codegen::http::{Request, Response};
use tonic::transport::Channel;

use crate::jobs::Jobs;

/// The header of answers that names the registration.
const REGISTRATION: &str = "gatehouse-registration";

/// A connection that tells of each answer. It does not tell of errors, after which the loop that asks is to pause.
#[derive(Clone)]
pub struct Again {
    channel: Channel,
    answered: Arc<Notify>,
    jobs: Arc<Jobs>,
    registration: Arc<Mutex<Vec<u8>>>,
}

impl Again {
    /// Returns a connection over a channel.
    pub fn new(channel: Channel, answered: Arc<Notify>, jobs: Arc<Jobs>) -> Self {
        Self { channel, answered, jobs, registration: Arc::default() }
    }
}

type Body = tonic::body::Body;
type Answer = Result<Response<Body>, tonic::transport::Error>;

impl Service<Request<Body>> for Again {
    type Response = Response<Body>;
    type Error = tonic::transport::Error;
    type Future = Pin<Box<dyn Future<Output = Answer> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.channel.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let answered = Arc::clone(&self.answered);
        let jobs = Arc::clone(&self.jobs);
        let registration = Arc::clone(&self.registration);
        let call = self.channel.call(request);
        Box::pin(async move {
            let answer = call.await?;
            // A refusal has its status in the headers.
            if !answer.headers().contains_key(tonic::Status::GRPC_STATUS) {
                answered.notify_one();
            }
            if let Some(told) = answer.headers().get(REGISTRATION) {
                let mut known = registration.lock().expect("registration");
                if known.as_slice() != told.as_bytes() {
                    *known = told.as_bytes().to_vec();
                    jobs.end_running();
                }
            }
            Ok(answer)
        })
    }
}
