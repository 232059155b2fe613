//! Reloads the configuration file while a process runs.
//!
//! The file is polled, and a new content is applied once two polls have read the same. Polling works on every platform
//! and file system, and also if the file is replaced (editors, mounted ConfigMaps). The callers decide which settings
//! follow a change. An invalid file is logged once and changes nothing.

use std::path::PathBuf;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use super::{ConfigFile, ConfigFlags, LayeredConfig};

/// Interval between polls of the file.
// Reading a small file once a second costs nothing; with two equal polls, a change is applied within about 2 s.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

impl LayeredConfig {
    /// Calls `apply` with the whole configuration after each change of its file, until the process ends or the task is
    /// aborted. If `apply` returns an error, it must keep its former settings. Returns `None` without a file.
    pub fn watch_file(
        &self,
        apply: impl Fn(&LayeredConfig) -> Result<(), String> + Send + 'static,
    ) -> Option<JoinHandle<()>> {
        let ConfigFile { path, content } = self.file.clone()?;
        Some(tokio::spawn(follow(
            path,
            content,
            self.flags.clone(),
            apply,
        )))
    }
}

async fn follow(
    path: PathBuf,
    current: String,
    flags: ConfigFlags,
    apply: impl Fn(&LayeredConfig) -> Result<(), String> + Send + 'static,
) {
    let mut ticks = interval(POLL_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut known = current;
    let mut seen = known.clone();
    loop {
        ticks.tick().await;
        // A missing file is about to be replaced; one that has just changed may be half written.
        let Ok(now) = tokio::fs::read_to_string(&path).await else {
            continue;
        };
        let is_whole = now == seen;
        seen = now;
        if !is_whole || seen == known {
            continue;
        }
        known.clone_from(&seen);
        let file = path.display();
        let applied = LayeredConfig::load(flags.clone())
            .map_err(|error| error.to_string())
            .and_then(|loaded| apply(&loaded));
        match applied {
            Ok(()) => tracing::info!(
                %file,
                "configuration reloaded; settings that cannot be reloaded require a restart"
            ),
            Err(error) => tracing::error!(
                %file,
                error,
                "the changed configuration is invalid; the former one stays active"
            ),
        }
    }
}
