//! Overhead of a decision, without the model's own time: `cargo bench --package motorium-planner --bench overhead`.
//!
//! The model is an in-process server that answers 150 ms after the last byte of a request. That time is subtracted, so
//! the result is our own work: decoding, resizing, annotating and encoding images, rendering prompts, writing and sending
//! the request, parsing the response. Work done while the model thinks is not counted. A step has one 1920×1080 frame (a
//! captured desktop, or a drawn one full of strokes) with 40 elements, and the three earlier steps with one image each.
//! All but the newest of those were shown before.
//!
//! Prints for each dialect the median and the 95th percentile of sequential decisions. For 100 concurrent decisions,
//! which are answered only after all requests have arrived, it prints the peak memory above the baseline, in total and
//! per decision.
//!
//! `OVERHEAD_ROUNDS` (60), `OVERHEAD_AT_ONCE` (100). Linux only: memory is read from `/proc`.

#![expect(clippy::print_stdout, reason = "the figures are the output")]

mod provider;
mod task;

use std::sync::Arc;
use std::time::Duration;

use mimalloc::MiMalloc;
use motorium_planner::backends::claude_som::ClaudeSom;
use motorium_planner::backends::dialect::Dialect;
use motorium_planner::backends::model::{ModelBackend, ModelBackendParts};
use motorium_planner::backends::opencua::OpenCua;
use motorium_planner::backends::qwen_vl::QwenVl;
use motorium_planner::backends::{Backend, CallContext};
use motorium_planner::models::ModelTable;
use motorium_planner::prompt::Prompts;
use provider::{Provider, ThinkingTime};
use task::Look;
use tokio::time::Instant;

/// The allocator that the program uses.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Warm-up rounds, which are not counted: caches are filled and threads started in them.
const WARM_UP: usize = 5;

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let rounds = number("OVERHEAD_ROUNDS", 60)?;
    let at_once = number("OVERHEAD_AT_ONCE", 100)?;
    let ways: [(&str, Arc<dyn Dialect>, Look); 4] = [
        (
            "claude-opus-4-6",
            Arc::new(ClaudeSom::default()),
            Look::Desktop,
        ),
        (
            "claude-opus-4-6",
            Arc::new(ClaudeSom::default()),
            Look::Dense,
        ),
        ("opencua-7b", Arc::new(OpenCua::default()), Look::Desktop),
        ("qwen3-vl-plus", Arc::new(QwenVl), Look::Desktop),
    ];
    println!(
        "{:<12}{:<10}{:>10}{:>10}{:>20}{:>12}",
        "backend",
        "screen",
        "median",
        "p95",
        format!("memory, {at_once} at once"),
        "each"
    );
    for (model, dialect, look) in ways {
        let (quick, thought) = backend(model, &dialect, 1).await?;
        let times = times(&quick, &thought, look, rounds).await?;
        let (crowded, _) = backend(model, &dialect, at_once).await?;
        let memory = memory(crowded, look, at_once).await?;
        println!(
            "{:<12}{:<10}{:>7.1} ms{:>7.1} ms{:>16} MiB{:>8.1} MiB",
            dialect.name(),
            format!("{look:?}").to_lowercase(),
            milliseconds(percentile(&times, 50)),
            milliseconds(percentile(&times, 95)),
            memory >> 20,
            memory as f64 / at_once as f64 / f64::from(1 << 20),
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
    at_once: usize,
) -> anyhow::Result<(Arc<ModelBackend>, ThinkingTime)> {
    let api = dialect.api();
    let provider = Provider::start(api, at_once).await?;
    let backend = Arc::new(ModelBackend::new(ModelBackendParts {
        name: dialect.name().to_owned(),
        dialect: Arc::clone(dialect),
        model: ModelTable::default().get(model, api),
        endpoint: Ok(provider.endpoint()?),
        prompts: Arc::new(Prompts::built_in()?),
    }));
    Ok((backend, provider.thought()))
}

/// Returns the duration of each decision without the model's time, shortest first.
async fn times(
    backend: &ModelBackend,
    thought: &ThinkingTime,
    look: Look,
    rounds: usize,
) -> anyhow::Result<Vec<Duration>> {
    let mut times = Vec::new();
    for round in 0..WARM_UP + rounds {
        let request = task::request(round, look);
        let (began, thought_before) = (Instant::now(), thought.so_far());
        backend.plan(&request, &CallContext::default()).await?;
        if round >= WARM_UP {
            times.push(began.elapsed() - (thought.so_far() - thought_before));
        }
    }
    times.sort();
    Ok(times)
}

fn percentile(times: &[Duration], percent: usize) -> Duration {
    times[(times.len() * percent / 100).min(times.len() - 1)]
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1000.0
}

/// Returns the peak memory, in bytes above the baseline, of `at_once` concurrent decisions, each with its own request.
async fn memory(backend: Arc<ModelBackend>, look: Look, at_once: usize) -> anyhow::Result<usize> {
    forget_peak()?;
    let before = in_memory("VmRSS:")?;
    let decisions = (0..at_once).map(|step| {
        let (backend, request) = (Arc::clone(&backend), task::request(step, look));
        tokio::spawn(async move { backend.plan(&request, &CallContext::default()).await })
    });
    for decision in decisions.collect::<Vec<_>>() {
        decision.await??;
    }
    Ok(in_memory("VmHWM:")?.saturating_sub(before))
}

/// Resets the process's peak-memory counter.
fn forget_peak() -> anyhow::Result<()> {
    Ok(std::fs::write("/proc/self/clear_refs", "5")?)
}

/// Returns a memory value of this process from `/proc`, in bytes.
fn in_memory(what: &str) -> anyhow::Result<usize> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(what));
    let kibibytes = line.and_then(|line| line.split_whitespace().next());
    let kibibytes = kibibytes.ok_or_else(|| anyhow::anyhow!("the system does not say {what}"))?;
    Ok(kibibytes.parse::<usize>()? << 10)
}
