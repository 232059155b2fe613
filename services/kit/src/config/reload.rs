//! Reloads the configuration file while a process runs.
//!
//! The callers decide which settings follow a change. An invalid file is logged once and changes nothing.

use tokio::task::JoinHandle;

use super::{ConfigFile, LayeredConfig};
use crate::watched_file;

impl LayeredConfig {
    /// Calls `apply` with the whole configuration after each change of its file, until the process ends or the task is
    /// aborted. If `apply` returns an error, it must keep its former settings. Returns `None` without a file.
    pub fn watch_file(
        &self,
        apply: impl Fn(&LayeredConfig) -> Result<(), String> + Send + 'static,
    ) -> Option<JoinHandle<()>> {
        let ConfigFile { path, content } = self.file.clone()?;
        let flags = self.flags.clone();
        let file = path.display().to_string();
        let changed = move |_: &[String]| {
            let applied = LayeredConfig::load(flags.clone())
                .map_err(|error| error.to_string())
                .and_then(|loaded| apply(&loaded));
            match applied {
                Ok(()) => tracing::info!(
                    file,
                    "configuration reloaded; settings that cannot be reloaded require a restart"
                ),
                Err(error) => tracing::error!(
                    file,
                    error,
                    "the changed configuration is invalid; the former one stays active"
                ),
            }
        };
        Some(tokio::spawn(watched_file::follow(
            vec![path],
            vec![content],
            changed,
        )))
    }
}
