//! Stores for tasks and blobs, and the audit log: the section `[store]`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use motorium_kit::config::MASK;
use motorium_kit::config::Section;
use motorium_store::audit::AuditLog;
use motorium_store::{
    BlobStore, Durability, Error, OpenedStore, StoreFiles, TaskNotifier, TaskStore,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::instance::Instance;

/// Settings of the section `[store]`, as written: storage of tasks and blobs.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// URL of the task store: `sqlite:///folder/file`, or `postgres://user:password@host/database` for several
    /// orchestrators. Several hosts, separated by commas, are a primary and its standbys. Defaults to a file in the data
    /// folder.
    #[schemars(example = &"postgres://motorium@db.example.com/motorium")]
    pub tasks: Option<StoreUrl>,
    /// URL of the blob store: `file:///folder`. Defaults to a folder in the data folder.
    #[schemars(example = &"file:///var/lib/motorium/blobs")]
    pub blobs: Option<String>,
    /// Waits for every commit to reach the disk. When false, a power failure may lose the last commits; a crash of the
    /// process loses none.
    pub sync: bool,
}

impl Section for Settings {
    const NAME: &'static str = "store";
}

/// Returns the folder of the audit log: the configured one, or one in the data folder.
#[must_use]
pub fn audit_folder(configured: Option<&Path>, data: &Path) -> PathBuf {
    configured.map_or_else(|| data.join("audit"), Path::to_owned)
}

/// URL of a store. Its password is masked when printed.
#[derive(Clone, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct StoreUrl(String);

impl From<String> for StoreUrl {
    fn from(address: String) -> Self {
        Self(address)
    }
}

impl StoreUrl {
    fn masked(&self) -> String {
        // A password may also be among the query parameters.
        let (address, parameters) = match self.0.split_once('?') {
            Some((address, _)) => (address, "?…"),
            None => (self.0.as_str(), ""),
        };
        let hidden = address.split_once("://").and_then(|(scheme, rest)| {
            let (user, place) = rest.rsplit_once('@')?;
            let (user, _) = user.split_once(':')?;
            Some(format!("{scheme}://{user}:{MASK}@{place}"))
        });
        hidden.unwrap_or_else(|| address.to_owned()) + parameters
    }
}

impl std::fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.masked())
    }
}

impl Serialize for StoreUrl {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.masked())
    }
}

/// The stores of an orchestrator, its audit log, and its name among those that share the stores.
#[derive(Clone)]
pub struct Storage {
    pub tasks: Arc<dyn TaskStore>,
    pub blobs: BlobStore,
    /// Notifies watchers and runners of new events.
    pub notifier: TaskNotifier,
    /// Records calls, actions and approvals.
    pub audit: AuditLog,
    /// Owns the tasks that this process runs. `None`: the configured name does, which no other process may have then.
    pub instance: Option<Arc<Instance>>,
}

impl std::fmt::Debug for Storage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Storage").finish_non_exhaustive()
    }
}

impl Settings {
    /// Opens the audit log, in the data folder unless a folder is configured. With `sync`, each record reaches the disk.
    ///
    /// # Errors
    /// If the folder cannot be used, or its last file is damaged.
    pub fn open_audit(&self, configured: Option<&Path>, data: &Path) -> Result<AuditLog, Error> {
        AuditLog::open(&audit_folder(configured, data), self.durability())
    }

    fn durability(&self) -> Durability {
        if self.sync {
            Durability::Full
        } else {
            Durability::Normal
        }
    }

    /// Returns the URLs of both stores. `data` is the folder for stores without a configured URL.
    fn urls(&self, data: &Path) -> (String, String) {
        // Store URLs need absolute paths, wherever the process was started.
        let data = std::path::absolute(data).unwrap_or_else(|_| data.to_owned());
        let tasks = self.tasks.as_ref().map(|address| address.0.clone());
        let tasks =
            tasks.unwrap_or_else(|| format!("sqlite://{}", data.join("tasks.db").display()));
        let blobs = self.blobs.clone();
        let blobs = blobs.unwrap_or_else(|| format!("file://{}", data.join("blobs").display()));
        (tasks, blobs)
    }

    /// Returns the files of both stores; `None` if one of them is not in files.
    #[must_use]
    pub fn files(&self, data: &Path) -> Option<StoreFiles> {
        let (tasks, blobs) = self.urls(data);
        let path = |url: &str, scheme: &str| {
            let path = url.strip_prefix(scheme)?;
            path.starts_with('/').then(|| PathBuf::from(path))
        };
        Some(StoreFiles {
            database: path(&tasks, "sqlite://")?,
            blobs: path(&blobs, "file://")?,
        })
    }

    /// Opens both stores. `data` is the folder for stores without a configured URL.
    ///
    /// # Errors
    /// If a URL is invalid, or a file or folder cannot be used.
    pub async fn open(self, data: &Path, audit: AuditLog) -> Result<Storage, Error> {
        let (tasks, blobs) = self.urls(data);
        let durability = self.durability();
        let blobs = BlobStore::open(&blobs, durability)?;
        let OpenedStore { tasks, notifier } = motorium_store::open(&tasks, durability).await?;
        Ok(Storage {
            tasks,
            blobs,
            notifier,
            audit,
            instance: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_an_address_is_not_shown() {
        let check = |address: &str, shown: &str| {
            let address = StoreUrl(address.to_owned());
            assert_eq!(format!("{address:?}"), shown);
            let printed = serde_json::to_value(&address).unwrap();
            assert_eq!(printed, shown);
        };
        check("sqlite:///data/tasks.db", "sqlite:///data/tasks.db");
        check("postgres://localhost/m", "postgres://localhost/m");
        check("postgres://host/m?password=p", "postgres://host/m?…");
        check(
            "postgres://me:p@one:1,other:2/m",
            "postgres://me:<secret>@one:1,other:2/m",
        );
        check("postgres://me@localhost/m", "postgres://me@localhost/m");
        check(
            "postgres://me:p@ss:w@host/m",
            "postgres://me:<secret>@host/m",
        );
    }
}
