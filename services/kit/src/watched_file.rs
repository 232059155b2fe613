//! Follows the content of files while a process runs.
//!
//! Files are polled, and a new content is applied once two polls have read the same. Polling works on every platform and file
//! system, and also if a file is replaced (editors, mounted ConfigMaps and secrets).
//!
//! It does not parse contents: what an invalid one means is decided by its callers.

use std::path::PathBuf;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

/// Interval between polls.
// Reading a small file once a second costs nothing; with two equal polls, a change is applied within about 2 s.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Calls `apply` after each change of the files, with the contents of all of them, in this order. `known`: the contents that
/// were applied last. Runs until it is dropped.
pub async fn follow(files: Vec<PathBuf>, mut known: Vec<String>, mut apply: impl FnMut(&[String])) {
    let mut ticks = interval(POLL_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut seen = known.clone();
    loop {
        ticks.tick().await;
        // A missing file is about to be replaced; one that has just changed may be half written.
        let Some(now) = read(&files).await else {
            continue;
        };
        let is_whole = now == seen;
        seen = now;
        if !is_whole || seen == known {
            continue;
        }
        known.clone_from(&seen);
        apply(&known);
    }
}

async fn read(files: &[PathBuf]) -> Option<Vec<String>> {
    let mut contents = Vec::with_capacity(files.len());
    for file in files {
        contents.push(tokio::fs::read_to_string(file).await.ok()?);
    }
    Some(contents)
}
