//! Probes whether the idle desktops of the pool are reachable.
//!
//! An unreachable desktop gets no task, so that tasks wait in the queue rather than on it. A desktop that runs a task
//! is not probed: the task itself retries calls, for longer than a probe does.

use std::time::Duration;

use futures::StreamExt as _;
use motorium_kit::shutdown::Shutdown;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::{DesktopPool, PooledDesktop};
use crate::error::is_transient;

/// Timeout of one probe.
// Both calls take milliseconds on a healthy desktop; 3 s allows for a loaded machine and stays below the probe
// interval.
const PROBE_TIMEOUT: Duration = Duration::from_secs(3);
/// Maximum number of concurrent probes.
// Bounds the load of one round: even unreachable desktops time out 16 at a time.
const MAX_CONCURRENT_PROBES: usize = 16;

/// Probes all idle desktops periodically until shutdown. Calls `on_recovery` when one becomes reachable again.
pub async fn run(
    desktops: DesktopPool,
    every: Duration,
    on_recovery: impl Fn(),
    shutdown: Shutdown,
) {
    let mut ticks = interval(every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The first probe runs immediately; until then a desktop counts as reachable.
    loop {
        tokio::select! {
            () = shutdown.draining() => return,
            _ = ticks.tick() => {}
        }
        let idle = desktops
            .list()
            .into_iter()
            .filter(|entry| entry.task.is_none());
        let asked = futures::stream::iter(idle.map(probe)).buffer_unordered(MAX_CONCURRENT_PROBES);
        let answers: Vec<_> = tokio::select! {
            () = shutdown.draining() => return,
            answers = asked.collect() => answers,
        };
        for (entry, answer) in answers {
            let name = &entry.desktop.name;
            match (desktops.record_probe(&entry, answer.is_ok()), answer) {
                (true, Ok(())) => {
                    tracing::info!(desktop = %name, "desktop is reachable again");
                    on_recovery();
                }
                (true, Err(problem)) => {
                    tracing::warn!(desktop = %name, problem, "desktop is unreachable and gets no tasks");
                }
                (false, _) => {}
            }
        }
    }
}

/// Checks that the Perception and the Executor of a desktop answer and reach its display.
async fn probe(entry: PooledDesktop) -> (PooledDesktop, Result<(), String>) {
    let (perception, executor) = (entry.ports.perception.clone(), entry.ports.executor.clone());
    let display = entry.desktop.display.clone();
    let both =
        async { tokio::try_join!(perception.list_displays(), executor.get_pointer(display)) };
    let answer = match timeout(PROBE_TIMEOUT, both).await {
        Ok(Ok(_)) => Ok(()),
        // A refusal is an answer too. Its reason is reported by the task that is refused.
        Ok(Err(report)) if is_transient(&report) => Err(report.to_string()),
        Ok(Err(_)) => Ok(()),
        Err(_) => Err(format!("no answer within {} s", PROBE_TIMEOUT.as_secs())),
    };
    (entry, answer)
}
