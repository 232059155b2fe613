//! Where tasks and blobs are kept: the section `[store]`.

use std::path::Path;
use std::sync::Arc;

use motorium_kit::config::Section;
use motorium_store::{BlobStore, Durability, Error, TaskStore};
use serde::{Deserialize, Serialize};

/// The section `[store]`, as written.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// `sqlite:///folder/file`. Without it, a file in the data folder.
    pub tasks: Option<String>,
    /// `file:///folder`. Without it, a folder in the data folder.
    pub blobs: Option<String>,
    /// Wait until every commit has reached the disk. Without it, a loss of power may cost the last commits, and a
    /// crash of the process none.
    pub sync: bool,
}

impl Section for Settings {
    const NAME: &'static str = "store";
}

/// What an orchestrator keeps.
#[derive(Clone)]
pub struct Storage {
    pub tasks: Arc<dyn TaskStore>,
    pub blobs: BlobStore,
}

impl std::fmt::Debug for Storage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Storage").finish_non_exhaustive()
    }
}

impl Settings {
    /// Opens both stores; `data` is the folder for what the settings leave open.
    ///
    /// # Errors
    /// If an address is not understood, or a file or folder cannot be used.
    pub async fn open(self, data: &Path) -> Result<Storage, Error> {
        // The addresses are absolute, wherever the process was started.
        let data = std::path::absolute(data).unwrap_or_else(|_| data.to_owned());
        let durability = if self.sync {
            Durability::Full
        } else {
            Durability::Normal
        };
        let tasks = self
            .tasks
            .unwrap_or_else(|| format!("sqlite://{}", data.join("tasks.db").display()));
        let blobs = self
            .blobs
            .unwrap_or_else(|| format!("file://{}", data.join("blobs").display()));
        Ok(Storage {
            tasks: motorium_store::open(&tasks, durability).await?,
            blobs: BlobStore::open(&blobs, durability)?,
        })
    }
}
