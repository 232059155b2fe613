//! Following the configuration file while a process runs.
//!
//! The file's content is looked at now and then, and counts once it has been the same twice: that works on every platform
//! and file system, and where a file is replaced by another (editors, mounted ConfigMaps). What a change means is for the
//! parts that follow it; a file that cannot be used is said so once and changes nothing.

use std::path::PathBuf;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use super::{ConfigFlags, File, Loaded};

/// How often the file is looked at.
const INTERVAL: Duration = Duration::from_secs(1);

impl Loaded {
    /// Calls `apply` with the whole configuration whenever its file has changed, until the process ends or the task is
    /// aborted. What `apply` cannot use it says in words, and goes on as it was. Nothing to follow without a file.
    pub fn follow(
        &self,
        apply: impl Fn(&Loaded) -> Result<(), String> + Send + 'static,
    ) -> Option<JoinHandle<()>> {
        let File { path, content } = self.file.clone()?;
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
    in_force: String,
    flags: ConfigFlags,
    apply: impl Fn(&Loaded) -> Result<(), String> + Send + 'static,
) {
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut known = in_force;
    let mut seen = known.clone();
    loop {
        ticks.tick().await;
        // A file that is gone is about to be replaced; one that has just changed may be half written.
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
        let applied = Loaded::load(flags.clone())
            .map_err(|error| error.to_string())
            .and_then(|loaded| apply(&loaded));
        match applied {
            Ok(()) => tracing::info!(
                %file,
                "what follows the configuration has changed with it; other settings need a restart"
            ),
            Err(error) => tracing::error!(
                %file,
                error,
                "the configuration has changed and cannot be used; the former one stays in force"
            ),
        }
    }
}
