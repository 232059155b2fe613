//! What a decision costs beside the time that the model takes: `cargo bench --package motorium-planner --bench overhead`.
//!
//! The model is a server in this process that answers at once (for memory: after a second), so that what is left is ours:
//! pictures decoded, resized, marked and encoded, prompts rendered, the request written and sent, the answer read. A frame
//! of 1920×1080 with 40 elements, and the three steps before it with a picture each, one of which was not shown before. Printed: median and 95th percentile of
//! decisions one after the other, and for 100 at once the most memory that the process took beyond what it had before.
//!
//! `OVERHEAD_ROUNDS` (60), `OVERHEAD_AT_ONCE` (100).

#![expect(clippy::print_stdout, reason = "the figures are the output")]

mod provider;
mod task;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use motorium_planner::backends::Backend;
use motorium_planner::backends::claude_som::ClaudeSom;
use motorium_planner::backends::dialect::Dialect;
use motorium_planner::backends::model::{ModelBackend, Parts};
use motorium_planner::backends::opencua::OpenCua;
use motorium_planner::backends::qwen_vl::QwenVl;
use motorium_planner::models::Models;
use motorium_planner::prompt::Prompts;
use provider::Provider;
use tokio::time::Instant;

/// Rounds at the beginning that do not count.
const WARM_UP: usize = 5;
/// How long the model thinks while memory is measured: all requests are under way at once.
const THINKING: Duration = Duration::from_secs(1);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let rounds = number("OVERHEAD_ROUNDS", 60)?;
    let at_once = number("OVERHEAD_AT_ONCE", 100)?;
    let ways: [(&str, Arc<dyn Dialect>); 3] = [
        ("claude-opus-4-6", Arc::new(ClaudeSom::default())),
        ("opencua-7b", Arc::new(OpenCua::default())),
        ("qwen3-vl-plus", Arc::new(QwenVl)),
    ];
    println!("backend      median     p95   beyond the start, {at_once} at once");
    for (model, dialect) in ways {
        let quick = backend(model, &dialect, Duration::ZERO).await?;
        let times = times(&quick, rounds).await?;
        let slow = backend(model, &dialect, THINKING).await?;
        let memory = memory(slow, at_once).await?;
        println!(
            "{:<10} {:>5} ms {:>5} ms {memory:>10} MiB",
            dialect.name(),
            percentile(&times, 50).as_millis(),
            percentile(&times, 95).as_millis(),
        );
    }
    Ok(())
}

fn number(variable: &str, usual: usize) -> anyhow::Result<usize> {
    Ok(std::env::var(variable).map_or(Ok(usual), |text| text.parse())?)
}

async fn backend(
    model: &str,
    dialect: &Arc<dyn Dialect>,
    thinking: Duration,
) -> anyhow::Result<Arc<ModelBackend>> {
    let api = dialect.api();
    let provider = Provider::start(api, thinking).await?;
    Ok(Arc::new(ModelBackend::new(Parts {
        name: dialect.name().to_owned(),
        dialect: Arc::clone(dialect),
        model: Models::default().get(model, api),
        endpoint: Ok(provider.endpoint()?),
        prompts: Arc::new(Prompts::built_in()?),
    })))
}

/// How long each decision takes, the shortest first.
async fn times(backend: &ModelBackend, rounds: usize) -> anyhow::Result<Vec<Duration>> {
    let mut times = Vec::new();
    for round in 0..WARM_UP + rounds {
        let request = task::request(round);
        let began = Instant::now();
        backend.plan(&request).await?;
        if round >= WARM_UP {
            times.push(began.elapsed());
        }
    }
    times.sort();
    Ok(times)
}

fn percentile(times: &[Duration], percent: usize) -> Duration {
    times[(times.len() * percent / 100).min(times.len() - 1)]
}

/// The most memory, in MiB, beyond that before: so many decisions at once, each with a request of its own.
async fn memory(backend: Arc<ModelBackend>, at_once: usize) -> anyhow::Result<usize> {
    let before = resident()?;
    let over = Arc::new(AtomicBool::new(false));
    let watcher = tokio::spawn(watch(Arc::clone(&over)));
    let decisions = (0..at_once).map(|step| {
        let (backend, request) = (Arc::clone(&backend), task::request(step));
        tokio::spawn(async move { backend.plan(&request).await })
    });
    for decision in decisions.collect::<Vec<_>>() {
        decision.await??;
    }
    over.store(true, Ordering::Relaxed);
    let most = watcher.await??;
    Ok(most.saturating_sub(before) >> 20)
}

async fn watch(over: Arc<AtomicBool>) -> anyhow::Result<usize> {
    let mut most = 0;
    while !over.load(Ordering::Relaxed) {
        most = most.max(resident()?);
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    Ok(most)
}

/// Memory that this process has at the moment, in bytes.
fn resident() -> anyhow::Result<usize> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|line| line.split_whitespace().next());
    Ok(kibibytes.unwrap_or_default().parse::<usize>()? << 10)
}
