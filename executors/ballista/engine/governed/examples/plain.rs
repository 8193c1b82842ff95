//! Plain DataFusion, for comparison: `plain THREADS NAME=FILE.parquet...` reads statements from standard input, one a line, and answers each
//! with a line of the seconds it took and the length of what follows: an Arrow stream with the result, or an error's text after "error".

use std::io::{BufRead, Write};
use std::time::Instant;

use datafusion::arrow::ipc::writer::StreamWriter;
use datafusion::error::{DataFusionError, Result};
use datafusion::prelude::{ParquetReadOptions, SessionConfig, SessionContext};

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let threads = args.next().and_then(|a| a.parse().ok()).ok_or_else(|| DataFusionError::Configuration("how many threads?".to_owned()))?;
    tokio::runtime::Builder::new_multi_thread().worker_threads(threads).enable_all().build()?.block_on(serve(threads, args))
}

async fn serve(threads: usize, tables: impl Iterator<Item = String>) -> Result<()> {
    let mut config = SessionConfig::new().with_target_partitions(threads);
    config.options_mut().sql_parser.parse_float_as_decimal = true; // 0.06 + 0.01 is 0.07
    let context = SessionContext::new_with_config(config);
    for t in tables {
        let (name, file) = t.split_once('=').ok_or_else(|| DataFusionError::Configuration(format!("no table: {t}")))?;
        context.register_parquet(name, file, ParquetReadOptions::default()).await?;
    }
    let mut out = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let started = Instant::now();
        let answer = run(&context, &line?).await;
        let took = started.elapsed().as_secs_f64();
        let (kind, body) = match answer {
            Ok(body) => ("rows", body),
            Err(e) => ("error", e.to_string().into_bytes()),
        };
        writeln!(out, "{kind} {took} {}", body.len())?;
        out.write_all(&body)?;
        out.flush()?;
    }
    Ok(())
}

async fn run(context: &SessionContext, text: &str) -> Result<Vec<u8>> {
    let frame = context.sql(text).await?;
    let mut stream = StreamWriter::try_new(Vec::new(), frame.schema().as_arrow())?;
    for batch in frame.collect().await? {
        stream.write(&batch)?;
    }
    Ok(stream.into_inner()?)
}
