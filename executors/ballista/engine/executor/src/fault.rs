//! What becomes of a task that failed.

use std::error::Error;
use std::io;

use ballista_core::error::BallistaError;
use datafusion::arrow::error::ArrowError;
use datafusion::error::DataFusionError;
use governed::failure::{class_of, failure};
use governed::wire::Class;

/// The kinds of failures. Each is reported so that Ballista does with the task what is said here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The statement's own, or its data's, or its right to read: it would fail so everywhere. The statement fails, at once.
    Statement,
    /// There is not as much memory or disk as it needs. The statement fails, at once: to try again would take as much once more.
    Exhausted,
    /// A file system or a connection that may be well again. The task is run again, a few times.
    Passing,
    /// What another executor wrote is gone. It is made again, a few times.
    Lost,
    /// Somebody ended the task. If its job has not ended, it is run again.
    Ended,
}

impl Fault {
    /// The kind of an error.
    pub fn of(e: &DataFusionError) -> Self {
        let mut io = None;
        let mut next: Option<&(dyn Error + 'static)> = Some(e);
        while let Some(e) = next {
            match e.downcast_ref::<BallistaError>() {
                Some(BallistaError::FetchFailed(..)) => return Self::Lost,
                Some(BallistaError::Cancelled) => return Self::Ended,
                Some(BallistaError::IoError(e)) => io = Some(e.kind()),
                _ => {}
            }
            match e.downcast_ref::<DataFusionError>() {
                Some(DataFusionError::ResourcesExhausted(_)) => return Self::Exhausted,
                Some(DataFusionError::IoError(e)) => io = Some(e.kind()),
                Some(DataFusionError::Execution(text)) => io = told(text).or(io),
                _ => {}
            }
            if let Some(ArrowError::IoError(_, e)) = e.downcast_ref::<ArrowError>() {
                io = Some(e.kind());
            }
            if let Some(e) = e.downcast_ref::<io::Error>() {
                io = Some(e.kind());
            }
            next = inner(e);
        }
        match io {
            Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge | io::ErrorKind::OutOfMemory) => {
                Self::Exhausted
            }
            Some(_) => Self::Passing,
            // Where the engine made a text of what happened.
            None if class_of(&e.to_string()) == Class::Memory => Self::Exhausted,
            None => Self::Statement,
        }
    }

    /// The error that has Ballista do what is to be done.
    pub fn report(self, e: DataFusionError) -> DataFusionError {
        match self {
            Self::Exhausted => failure(Class::Memory, e),
            Self::Passing => BallistaError::IoError(io::Error::other(e.to_string())).into_datafusion(),
            Self::Statement | Self::Lost | Self::Ended => e,
        }
    }
}

/// What Ballista's writers of shuffles say of a file system, of whose error they make a text.
fn told(text: &str) -> Option<io::ErrorKind> {
    let (code, _) = text.strip_prefix("IoError(Os { code: ")?.split_once(',')?;
    Some(io::Error::from_raw_os_error(code.parse().ok()?).kind())
}

/// What an error says that it comes from. Some do not say it.
fn inner<'a>(e: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match e.downcast_ref::<BallistaError>() {
        Some(BallistaError::DataFusionError(e)) => return Some(&**e),
        Some(BallistaError::ArrowError(e)) => return Some(&**e),
        _ => {}
    }
    match e.downcast_ref::<ArrowError>() {
        Some(ArrowError::ExternalError(e)) => Some(&**e),
        _ => e.source(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ballista_core::serde::protobuf::FailedTask;
    use ballista_core::serde::protobuf::failed_task::FailedReason;

    use super::*;

    fn io(kind: io::ErrorKind) -> io::Error {
        io::Error::new(kind, "of a test")
    }

    /// Each kind, through the wrappers that errors come in, with what Ballista makes of the report.
    #[test]
    fn ballista_does_what_the_kind_says() {
        let lost = || BallistaError::FetchFailed("e".to_owned(), 1, 2, "gone".to_owned()).into_datafusion();
        let text = |code| DataFusionError::Execution(format!("{:?}", BallistaError::IoError(io::Error::from_raw_os_error(code))));
        let full = || DataFusionError::IoError(io(io::ErrorKind::StorageFull));
        for (what, error, fault, retryable, counts) in [
            ("a value", failure(Class::Conversion, "x"), Fault::Statement, false, false),
            ("a credential", failure(Class::Credential, "x").context("a stage"), Fault::Statement, false, false),
            ("a data file", failure(Class::Data, "x"), Fault::Statement, false, false),
            ("what nobody knows", DataFusionError::Internal("x".to_owned()), Fault::Statement, false, false),
            ("memory", DataFusionError::ResourcesExhausted("x".to_owned()), Fault::Exhausted, false, false),
            (
                "memory of a build side",
                DataFusionError::Shared(Arc::new(DataFusionError::ResourcesExhausted("x".to_owned()))),
                Fault::Exhausted,
                false,
                false,
            ),
            ("a full disk", full(), Fault::Exhausted, false, false),
            (
                "a full disk below arrow",
                DataFusionError::from(ArrowError::IoError("x".to_owned(), io(io::ErrorKind::StorageFull))),
                Fault::Exhausted,
                false,
                false,
            ),
            ("a full disk below ballista", BallistaError::DataFusionError(Box::new(full())).into_datafusion(), Fault::Exhausted, false, false),
            ("a full disk as text", DataFusionError::Execution("spill: No space left on device".to_owned()), Fault::Exhausted, false, false),
            ("a quota", DataFusionError::IoError(io(io::ErrorKind::QuotaExceeded)).context("a spill"), Fault::Exhausted, false, false),
            ("a size limit", DataFusionError::IoError(io(io::ErrorKind::FileTooLarge)), Fault::Exhausted, false, false),
            ("a full disk of a writer", text(28), Fault::Exhausted, false, false),
            ("a quota of a writer", text(122), Fault::Exhausted, false, false),
            ("a folder of a writer", text(20), Fault::Passing, true, true),
            ("a value like it", DataFusionError::Execution("a IoError(Os { code: 20, x".to_owned()), Fault::Statement, false, false),
            ("a connection", DataFusionError::IoError(io(io::ErrorKind::ConnectionReset)), Fault::Passing, true, true),
            (
                "a connection below arrow",
                DataFusionError::from(ArrowError::from_external_error(Box::new(io(io::ErrorKind::TimedOut)))),
                Fault::Passing,
                true,
                true,
            ),
            ("a shuffle", lost(), Fault::Lost, false, false),
            ("a shuffle below context", lost().context("a stage"), Fault::Lost, false, false),
            ("an end", BallistaError::Cancelled.into_datafusion(), Fault::Ended, true, false),
        ] {
            let got = Fault::of(&error);
            assert_eq!(got, fault, "{what}");
            let task = FailedTask::from(BallistaError::from(got.report(error)));
            assert_eq!((task.retryable, task.count_to_failures), (retryable, counts), "{what}: {}", task.error);
            let reason = task.failed_reason.expect("a reason");
            let fits = match fault {
                Fault::Statement | Fault::Exhausted => matches!(reason, FailedReason::ExecutionError(_)),
                Fault::Passing => matches!(reason, FailedReason::IoError(_)),
                Fault::Lost => matches!(reason, FailedReason::FetchPartitionError(_)),
                Fault::Ended => matches!(reason, FailedReason::TaskKilled(_)),
            };
            assert!(fits, "{what}: {reason:?}");
            if fault == Fault::Exhausted {
                assert_eq!(class_of(&task.error), Class::Memory, "{what}");
            }
        }
    }
}
