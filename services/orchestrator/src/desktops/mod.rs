//! The pool of desktops: which there are, which is free, and the services behind each.
//!
//! The pool is in memory: desktops come from the configuration, or register themselves; those are kept in the store
//! and come back after a restart. Who may act on a desktop is decided by its Executor's lease, not here; this only spares tasks the way to
//! one that is taken.

pub mod heartbeat;

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use motorium_proto::domain::desktop::Desktop;
use motorium_proto::domain::id::{DesktopName, TaskName};
use motorium_proto::error::FieldError;
use motorium_proto::limits::MAX_PAGE_SIZE;
use motorium_proto::v1::common;
use motorium_store::{Collection, Error, ListResources, ResourceRow, TaskStore};
use prost::Message as _;
use tokio::time::{Duration, Instant};

use crate::run::Ports;
use crate::task::spec::DesktopSelector;

/// Makes the services of a desktop that was registered with endpoints.
pub type Connector = dyn Fn(&Desktop) -> Result<Ports, FieldError> + Send + Sync;

/// A desktop of the pool.
#[derive(Debug, Clone)]
pub struct Entry {
    pub desktop: Desktop,
    pub ports: Ports,
    /// The task that is carried out on it.
    pub task: Option<TaskName>,
    pub draining: bool,
    /// It answered when it was asked last.
    pub reachable: bool,
    pub created_at: SystemTime,
    /// It gets no task before then.
    rests_until: Option<Instant>,
}

impl Entry {
    fn is_free(&self, work: Work) -> bool {
        let rested = self.rests_until.is_none_or(|until| until <= Instant::now());
        let open = work == Work::Begun || !self.draining;
        self.task.is_none() && open && rested && self.reachable
    }
}

/// What a desktop is wanted for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Work {
    /// A task that nobody has carried out yet.
    New,
    /// A task that has begun on its desktop. One that is told to drain still finishes it.
    Begun,
}

/// The pool. Clones are the same pool.
#[derive(Clone)]
pub struct Desktops {
    entries: Arc<Mutex<BTreeMap<DesktopName, Entry>>>,
    connector: Arc<Connector>,
}

impl std::fmt::Debug for Desktops {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desktops").finish_non_exhaustive()
    }
}

/// A desktop taken for a task; given back when it is dropped.
#[derive(Debug)]
pub struct Taken {
    pub desktop: Desktop,
    pub ports: Ports,
    pool: Desktops,
}

impl Taken {
    /// Lets the desktop rest for so long before it gets another task.
    pub fn rest(&self, duration: Duration) {
        self.pool.with(|entries| {
            if let Some(entry) = entries.get_mut(&self.desktop.name) {
                entry.rests_until = Some(Instant::now() + duration);
            }
        });
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.pool.with(|entries| {
            if let Some(entry) = entries.get_mut(&self.desktop.name) {
                entry.task = None;
            }
        });
    }
}

impl Desktops {
    /// An empty pool.
    pub fn new(connector: Arc<Connector>) -> Self {
        Self {
            entries: Arc::default(),
            connector,
        }
    }

    fn with<T>(&self, work: impl FnOnce(&mut BTreeMap<DesktopName, Entry>) -> T) -> T {
        // Nothing panics while it holds the lock; if something did, the map is still whole.
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        work(&mut entries)
    }

    /// Adds a desktop, or replaces what is known of it.
    ///
    /// # Errors
    /// If its endpoints cannot be used.
    pub fn register(&self, desktop: Desktop) -> Result<Entry, FieldError> {
        let ports = self.connect(&desktop)?;
        Ok(self.admit(desktop, ports))
    }

    /// The services of a desktop, which need not be in the pool. They are not called yet.
    ///
    /// # Errors
    /// If its endpoints cannot be used.
    pub fn connect(&self, desktop: &Desktop) -> Result<Ports, FieldError> {
        (self.connector)(desktop)
    }

    /// Adds a desktop with its services, or replaces what is known of it.
    pub fn admit(&self, desktop: Desktop, ports: Ports) -> Entry {
        self.with(|entries| {
            let known = entries.get(&desktop.name);
            let entry = Entry {
                ports,
                task: known.and_then(|entry| entry.task.clone()),
                draining: false,
                reachable: true,
                created_at: known.map_or_else(SystemTime::now, |entry| entry.created_at),
                rests_until: None,
                desktop,
            };
            entries.insert(entry.desktop.name.clone(), entry.clone());
            entry
        })
    }

    /// Brings back the desktops that had registered themselves before the process ended, and lets those rest that
    /// were told to drain. What the configuration says of a desktop stays.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn restore(&self, store: &dyn TaskStore) -> Result<(), Error> {
        let mut page_token = None;
        loop {
            let list = ListResources {
                collection: Collection::Desktops,
                page_size: MAX_PAGE_SIZE.unsigned_abs(),
                page_token,
                labels: BTreeMap::new(),
            };
            let page = store.list_resources(list).await?;
            for row in page.items {
                let name = row.name.clone();
                if let Err(problem) = self.bring_back(row) {
                    tracing::warn!(name, problem, "a registered desktop is not brought back");
                }
            }
            page_token = page.next;
            if page_token.is_none() {
                return Ok(());
            }
        }
    }

    fn bring_back(&self, row: ResourceRow) -> Result<(), String> {
        let message = common::Desktop::decode(row.body).map_err(|error| error.to_string())?;
        let draining = message.state() == common::desktop::State::Draining;
        let desktop = Desktop::try_from(message).map_err(|error| error.to_string())?;
        let name = desktop.name.clone();
        if self.get(&name).is_none() {
            self.register(desktop).map_err(|error| error.to_string())?;
        }
        if draining {
            self.drain(&name);
        }
        Ok(())
    }

    /// A desktop of the pool.
    #[must_use]
    pub fn get(&self, name: &DesktopName) -> Option<Entry> {
        self.with(|entries| entries.get(name).cloned())
    }

    /// Lets a desktop finish its task and gives it no other. `None` if there is no such desktop.
    pub fn drain(&self, name: &DesktopName) -> Option<Entry> {
        self.with(|entries| {
            let entry = entries.get_mut(name)?;
            entry.draining = true;
            Some(entry.clone())
        })
    }

    /// Notes whether a desktop answered; gives back whether that is news. Of one that has got a task or other
    /// endpoints since it was asked, the answer says nothing.
    pub fn heard(&self, asked: &Entry, reachable: bool) -> bool {
        self.with(|entries| {
            let entry = entries.get_mut(&asked.desktop.name);
            let Some(entry) =
                entry.filter(|now| now.task.is_none() && now.desktop == asked.desktop)
            else {
                return false;
            };
            std::mem::replace(&mut entry.reachable, reachable) != reachable
        })
    }

    /// All desktops, by name.
    #[must_use]
    pub fn list(&self) -> Vec<Entry> {
        self.with(|entries| entries.values().cloned().collect())
    }

    /// The tasks that are carried out.
    #[must_use]
    pub fn tasks(&self) -> HashSet<TaskName> {
        self.with(|entries| {
            entries
                .values()
                .filter_map(|entry| entry.task.clone())
                .collect()
        })
    }

    /// Whether any desktop can take a task now.
    #[must_use]
    pub fn has_free(&self, work: Work) -> bool {
        self.with(|entries| entries.values().any(|entry| entry.is_free(work)))
    }

    /// Takes a free desktop that the selector allows.
    #[must_use]
    pub fn take(&self, task: &TaskName, selector: &DesktopSelector, work: Work) -> Option<Taken> {
        self.with(|entries| {
            let free = |entry: &&mut Entry| entry.is_free(work) && fits(&entry.desktop, selector);
            let entry = entries.values_mut().find(free)?;
            entry.task = Some(task.clone());
            Some(Taken {
                desktop: entry.desktop.clone(),
                ports: entry.ports.clone(),
                pool: self.clone(),
            })
        })
    }

    /// Whether any desktop, free or not, will ever do.
    #[must_use]
    pub fn could_serve(&self, selector: &DesktopSelector) -> bool {
        self.with(|entries| entries.values().any(|entry| fits(&entry.desktop, selector)))
    }
}

fn fits(desktop: &Desktop, selector: &DesktopSelector) -> bool {
    let named = selector
        .desktop
        .as_ref()
        .is_none_or(|name| *name == desktop.name);
    named
        && selector
            .labels
            .iter()
            .all(|(key, value)| desktop.labels.get(key) == Some(value))
}
