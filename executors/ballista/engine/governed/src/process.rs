//! What the processes have in common: a plain log on standard error, and the signal to stop.

use log::{LevelFilter, Log, Metadata, Record};

struct Plain;

impl Log for Plain {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn log(&self, r: &Record<'_>) {
        if r.level() <= log::max_level() {
            eprintln!("{} {}: {}", r.level(), r.target(), r.args());
        }
    }

    fn flush(&self) {}
}

/// Starts the log. GATEHOUSE_LOG says from which level on; without it, warnings. Plans are printed from debug on, and plans hold the
/// literals of statements.
pub fn start() {
    let level = std::env::var("GATEHOUSE_LOG").ok().and_then(|l| l.parse().ok()).unwrap_or(LevelFilter::Warn);
    if log::set_logger(&Plain).is_ok() {
        log::set_max_level(level.min(LevelFilter::Debug));
    }
}

/// Waits for SIGTERM or SIGINT, or, if a parent started this process, for the end of standard input, which comes when the parent ends.
pub async fn stopped() {
    use tokio::signal::unix::{SignalKind, signal};
    let (Ok(mut term), Ok(mut int)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) else {
        return std::future::pending().await;
    };
    tokio::select! {
        _ = term.recv() => {}
        _ = int.recv() => {}
        () = parent() => {}
    }
}

async fn parent() {
    if std::env::var_os("GATEHOUSE_PARENT").is_none() {
        return std::future::pending().await;
    }
    let (gone, waits) = tokio::sync::oneshot::channel::<()>();
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        drop(gone);
    });
    let _ = waits.await;
}
