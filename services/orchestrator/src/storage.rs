//! Where tasks and blobs are kept: the section `[store]`.

use std::path::Path;
use std::sync::Arc;

use motorium_kit::config::MASK;
use motorium_kit::config::Section;
use motorium_store::{BlobStore, Doorbell, Durability, Error, Opened, TaskStore};
use serde::{Deserialize, Serialize};

/// The section `[store]`, as written.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// `sqlite:///folder/file`, or `postgres://user:password@host/database` for several orchestrators. Without it, a
    /// file in the data folder.
    pub tasks: Option<Address>,
    /// `file:///folder`. Without it, a folder in the data folder.
    pub blobs: Option<String>,
    /// Wait until every commit has reached the disk. Without it, a loss of power may cost the last commits, and a
    /// crash of the process none.
    pub sync: bool,
}

impl Section for Settings {
    const NAME: &'static str = "store";
}

/// The address of a store. Its password is not shown.
#[derive(Clone, Deserialize)]
#[serde(transparent)]
pub struct Address(String);

impl From<String> for Address {
    fn from(address: String) -> Self {
        Self(address)
    }
}

impl Address {
    fn masked(&self) -> String {
        // A password may also stand among the parameters.
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

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.masked())
    }
}

impl Serialize for Address {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.masked())
    }
}

/// What an orchestrator keeps.
#[derive(Clone)]
pub struct Storage {
    pub tasks: Arc<dyn TaskStore>,
    pub blobs: BlobStore,
    /// Heard by everybody who uses the tasks.
    pub doorbell: Doorbell,
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
            .map(|address| address.0)
            .unwrap_or_else(|| format!("sqlite://{}", data.join("tasks.db").display()));
        let blobs = self
            .blobs
            .unwrap_or_else(|| format!("file://{}", data.join("blobs").display()));
        let blobs = BlobStore::open(&blobs, durability)?;
        let Opened { tasks, doorbell } = motorium_store::open(&tasks, durability).await?;
        Ok(Storage {
            tasks,
            blobs,
            doorbell,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_an_address_is_not_shown() {
        let check = |address: &str, shown: &str| {
            let address = Address(address.to_owned());
            assert_eq!(format!("{address:?}"), shown);
            let printed = serde_json::to_value(&address).unwrap();
            assert_eq!(printed, shown);
        };
        check("sqlite:///data/tasks.db", "sqlite:///data/tasks.db");
        check("postgres://localhost/m", "postgres://localhost/m");
        check("postgres://host/m?password=p", "postgres://host/m?…");
        check("postgres://me@localhost/m", "postgres://me@localhost/m");
        check(
            "postgres://me:p@ss:w@host/m",
            "postgres://me:<secret>@host/m",
        );
    }
}
