//! Names of jobs.

use ballista_scheduler::scheduler_server::JobIdGenerator;
use uuid::Uuid;

/// Names jobs so that nobody can guess one: a job's name is what it takes, beside a certificate, to fetch its files.
pub struct Random;

#[async_trait::async_trait]
impl JobIdGenerator for Random {
    async fn next_id(&self) -> String {
        Uuid::new_v4().to_string()
    }
}
