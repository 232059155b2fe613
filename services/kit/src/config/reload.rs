//! Following the configuration file while a process runs.
//!
//! The file's content is looked at now and then: that works on every platform and file system, and where a file is
//! replaced by another (editors, mounted ConfigMaps). What a change means is for the parts that follow it; a file that
//! cannot be used is said so once and changes nothing.

use std::path::PathBuf;
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval};

use super::{ConfigFlags, Loaded};

/// How often the file is looked at.
const INTERVAL: Duration = Duration::from_secs(1);

impl Loaded {
    /// Calls `apply` with the whole configuration whenever its file has changed, until the process ends or the task is
    /// aborted. What `apply` cannot use it says in words, and goes on as it was. Nothing to follow without a file.
    pub fn follow(
        &self,
        apply: impl Fn(&Loaded) -> Result<(), String> + Send + 'static,
    ) -> Option<JoinHandle<()>> {
        let (path, flags) = (self.file.clone()?, self.flags.clone());
        Some(tokio::spawn(follow(path, flags, apply)))
    }
}

async fn follow(
    path: PathBuf,
    flags: ConfigFlags,
    apply: impl Fn(&Loaded) -> Result<(), String> + Send + 'static,
) {
    let mut ticks = interval(INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut known = tokio::fs::read(&path).await.ok();
    loop {
        ticks.tick().await;
        let now = tokio::fs::read(&path).await.ok();
        if now == known {
            continue;
        }
        known = now;
        let file = path.display();
        let applied = Loaded::load(flags.clone())
            .map_err(|error| error.to_string())
            .and_then(|loaded| apply(&loaded));
        match applied {
            Ok(()) => tracing::info!(%file, "the configuration has changed and is in force"),
            Err(error) => tracing::error!(
                %file,
                error,
                "the configuration has changed and cannot be used; the former one stays in force"
            ),
        }
    }
}
