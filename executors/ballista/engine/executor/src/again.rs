//! Asking the scheduler for work without a pause: it answers when there is some.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tokio::sync::Notify;
use tonic::codegen::Service;
use tonic::codegen::http::{Request, Response};
use tonic::transport::Channel;

/// A connection that tells of each answer. It does not tell of errors, after which the loop that asks is to pause.
#[derive(Clone)]
pub struct Again {
    channel: Channel,
    answered: Arc<Notify>,
}

impl Again {
    /// Returns a connection over a channel.
    pub fn new(channel: Channel, answered: Arc<Notify>) -> Self {
        Self { channel, answered }
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
        let call = self.channel.call(request);
        Box::pin(async move {
            let answer = call.await?;
            // A refusal has its status in the headers.
            if !answer.headers().contains_key(tonic::Status::GRPC_STATUS) {
                answered.notify_one();
            }
            Ok(answer)
        })
    }
}
