//! Asking the desktops of the pool whether they are there.
//!
//! One that does not answer gets no task until it does again, so that tasks wait for it in the queue and not on it. A
//! desktop that carries a task out is not asked: the task notices by itself, and has more patience.

use std::time::Duration;

use futures::StreamExt as _;
use motorium_kit::shutdown::Shutdown;
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::{Desktops, Entry};
use crate::run::is_transient;

/// An answer that takes longer is none.
const PATIENCE: Duration = Duration::from_secs(3);
/// So many desktops are asked at once.
const AT_ONCE: usize = 16;

/// Asks all desktops again and again, until the process ends. `news` is told when one is there again.
pub async fn run(desktops: Desktops, pace: Duration, news: impl Fn(), shutdown: Shutdown) {
    let mut beats = interval(pace);
    beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
    // The first beat is at once; until there was one, a desktop counts as there.
    loop {
        tokio::select! {
            () = shutdown.draining() => return,
            _ = beats.tick() => {}
        }
        let idle = desktops
            .list()
            .into_iter()
            .filter(|entry| entry.task.is_none());
        let asked = futures::stream::iter(idle.map(ask)).buffer_unordered(AT_ONCE);
        let answers: Vec<_> = tokio::select! {
            () = shutdown.draining() => return,
            answers = asked.collect() => answers,
        };
        for (entry, answer) in answers {
            let name = &entry.desktop.name;
            match (desktops.heard(&entry, answer.is_ok()), answer) {
                (true, Ok(())) => {
                    tracing::info!(desktop = %name, "the desktop answers again");
                    news();
                }
                (true, Err(problem)) => {
                    tracing::warn!(desktop = %name, problem, "the desktop does not answer and gets no task");
                }
                (false, _) => {}
            }
        }
    }
}

/// Whether eyes and hands of a desktop answer, and reach its display.
async fn ask(entry: Entry) -> (Entry, Result<(), String>) {
    let (perception, executor) = (entry.ports.perception.clone(), entry.ports.executor.clone());
    let display = entry.desktop.display.clone();
    let both =
        async { tokio::try_join!(perception.list_displays(), executor.get_pointer(display)) };
    let answer = match timeout(PATIENCE, both).await {
        Ok(Ok(_)) => Ok(()),
        // Whoever refuses is there; why is told to the task that is refused.
        Ok(Err(report)) if is_transient(&report) => Err(report.to_string()),
        Ok(Err(_)) => Ok(()),
        Err(_) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
    };
    (entry, answer)
}
