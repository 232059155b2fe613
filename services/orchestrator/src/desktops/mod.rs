//! The pool of desktops: which exist, which are free, and the services behind each.
//!
//! The pool is in memory. Desktops come from the configuration or are registered by callers; registered ones and what is
//! draining are stored, and read again every second and for every call about desktops, because other orchestrators on the same
//! store change them too. The lease at a desktop's Executor decides who may act on it; the pool only keeps tasks from
//! trying desktops that are taken.
//!
//! Invariant: the services of a registered desktop are called without the token unless the operator listed their addresses.

pub mod probe;
pub mod registration;
pub mod task_files;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
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

use motorium_recording::ports::Ports;
use motorium_task::DesktopHold;
use motorium_task::spec::DesktopSelector;
use registration::RegistrationRules;

/// Connects to the services of a desktop.
pub type Connector = dyn Fn(&Desktop, DesktopSource) -> Result<Ports, FieldError> + Send + Sync;

/// Origin of a desktop and its addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DesktopSource {
    /// The operator, who trusts its addresses with the token. It cannot be replaced.
    Configured,
    /// A caller of `RegisterDesktop`.
    Registered,
}

/// A desktop of the pool.
#[derive(Debug, Clone)]
pub struct PooledDesktop {
    pub desktop: Desktop,
    pub ports: Ports,
    pub source: DesktopSource,
    /// The task that runs on it.
    pub task: Option<TaskName>,
    /// Tenant of that task.
    pub tenant: Option<String>,
    /// The task that has started on it, at any orchestrator, and has neither ended nor released it.
    started: Option<StartedTask>,
    pub draining: bool,
    /// True if it answered the last probe.
    pub reachable: bool,
    pub created_at: SystemTime,
    /// Gets no new task before this time.
    cooldown_until: Option<Instant>,
}

impl PooledDesktop {
    fn is_free(&self, work: WorkKind) -> bool {
        let rested = self
            .cooldown_until
            .is_none_or(|until| until <= Instant::now());
        let open = work == WorkKind::Resumed || (!self.draining && self.started.is_none());
        self.task.is_none() && open && rested && self.reachable
    }

    /// Returns the task that has the desktop, and its tenant.
    fn holder(&self) -> Option<(&TaskName, Option<&str>)> {
        let started = || {
            let started = self.started.as_ref()?;
            Some((&started.task, Some(started.tenant.as_str())))
        };
        let runs_here = self.task.as_ref();
        runs_here
            .map(|task| (task, self.tenant.as_deref()))
            .or_else(started)
    }

    /// Returns what keeps the desktop from taking a new task of a tenant, or `None` if it takes one. A cooldown ends in a
    /// moment. Tasks of other tenants are not named.
    fn hold(&self, tenant: &str) -> Option<DesktopHold> {
        let holder = self.holder();
        let is_held = holder.is_some() || self.draining || !self.reachable;
        let shown = |(task, holder): (&TaskName, Option<&str>)| match holder {
            Some(holder) if holder != tenant => DesktopHold::HIDDEN_TASK.to_owned(),
            _ => task.to_string(),
        };
        is_held.then(|| DesktopHold {
            desktop: self.desktop.name.clone(),
            holder: holder.map(shown),
        })
    }
}

/// A task that has started on a desktop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartedTask {
    pub task: TaskName,
    pub tenant: String,
}

/// Kind of work that a desktop is requested for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkKind {
    /// A task that has not been started.
    New,
    /// A task that was started on this desktop. A draining desktop still finishes it.
    Resumed,
}

/// Pool of desktops. Clones share the same state.
#[derive(Clone)]
pub struct DesktopPool {
    entries: Arc<Mutex<BTreeMap<DesktopName, PooledDesktop>>>,
    /// Number of changes that callers of this process have made.
    changes: Arc<AtomicU64>,
    /// The problem of each registered desktop that cannot be used.
    problems: Arc<Mutex<HashMap<String, String>>>,
    connector: Arc<Connector>,
}

impl std::fmt::Debug for DesktopPool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Desktops").finish_non_exhaustive()
    }
}

/// A desktop reserved for a task. It is released on drop.
#[derive(Debug)]
pub struct DesktopReservation {
    pub desktop: Desktop,
    pub ports: Ports,
    pool: DesktopPool,
}

impl DesktopReservation {
    /// Keeps the desktop from getting another task for this duration.
    pub fn cool_down(&self, duration: Duration) {
        self.pool.with_entries(|entries| {
            if let Some(entry) = entries.get_mut(&self.desktop.name) {
                entry.cooldown_until = Some(Instant::now() + duration);
            }
        });
    }
}

impl Drop for DesktopReservation {
    fn drop(&mut self) {
        self.pool.with_entries(|entries| {
            if let Some(entry) = entries.get_mut(&self.desktop.name) {
                entry.task = None;
                entry.tenant = None;
            }
        });
    }
}

impl DesktopPool {
    /// Creates an empty pool.
    pub fn new(connector: Arc<Connector>) -> Self {
        Self {
            entries: Arc::default(),
            changes: Arc::default(),
            problems: Arc::default(),
            connector,
        }
    }

    fn with_entries<T>(
        &self,
        work: impl FnOnce(&mut BTreeMap<DesktopName, PooledDesktop>) -> T,
    ) -> T {
        // No code panics while it holds the lock. Even if it did, the map would be consistent.
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        work(&mut entries)
    }

    /// Adds a desktop of the configuration.
    ///
    /// # Errors
    /// If its endpoints cannot be used.
    pub fn register(&self, desktop: Desktop) -> Result<PooledDesktop, FieldError> {
        let ports = self.connect(&desktop, DesktopSource::Configured)?;
        Ok(self.insert(desktop, ports))
    }

    /// Connects to the services of a desktop, which need not be in the pool. Sends no request yet.
    ///
    /// # Errors
    /// If its endpoints cannot be used.
    pub fn connect(&self, desktop: &Desktop, source: DesktopSource) -> Result<Ports, FieldError> {
        (self.connector)(desktop, source)
    }

    /// Adds a desktop of the configuration, or of this process, with its services.
    pub fn insert(&self, desktop: Desktop, ports: Ports) -> PooledDesktop {
        self.put(desktop, ports, DesktopSource::Configured)
    }

    /// Adds a desktop with its services, or replaces the entry of the same name. It is no longer draining.
    pub(crate) fn put(
        &self,
        desktop: Desktop,
        ports: Ports,
        source: DesktopSource,
    ) -> PooledDesktop {
        self.changes.fetch_add(1, Ordering::SeqCst);
        self.replace(desktop, ports, source)
    }

    fn replace(&self, desktop: Desktop, ports: Ports, source: DesktopSource) -> PooledDesktop {
        self.with_entries(|entries| {
            let known = entries.get(&desktop.name);
            let entry = PooledDesktop {
                ports,
                source,
                task: known.and_then(|entry| entry.task.clone()),
                tenant: known.and_then(|entry| entry.tenant.clone()),
                started: known.and_then(|entry| entry.started.clone()),
                draining: false,
                reachable: true,
                created_at: known.map_or_else(SystemTime::now, |entry| entry.created_at),
                cooldown_until: None,
                desktop,
            };
            entries.insert(entry.desktop.name.clone(), entry.clone());
            entry
        })
    }

    /// Takes over the registered desktops and the draining state of all from the store, as any orchestrator has left them.
    /// Desktops that the configuration defines keep the configured endpoints. Those that the rules do not allow, such as
    /// desktops that were registered under other rules, are left out. One that was removed while a task runs on it is
    /// removed here when the task has ended.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub async fn sync_with_store(
        &self,
        store: &dyn TaskStore,
        rules: &RegistrationRules,
    ) -> Result<(), Error> {
        let changes = self.changes.load(Ordering::SeqCst);
        let mut stored = HashMap::new();
        let mut page_token = None;
        loop {
            let list = ListResources {
                collection: Collection::Desktops,
                tenant: None,
                page_size: MAX_PAGE_SIZE.unsigned_abs(),
                page_token,
                labels: BTreeMap::new(),
            };
            let page = store.list_resources(list).await?;
            for row in page.items {
                let name = row.name.clone();
                match StoredDesktop::try_from(row) {
                    Ok(desktop) => drop(stored.insert(desktop.desktop.name.clone(), desktop)),
                    Err(problem) => self.warn_once(&name, problem),
                }
            }
            page_token = page.next;
            if page_token.is_none() {
                break;
            }
        }
        // What this process has stored meanwhile is newer than what was read.
        if self.changes.load(Ordering::SeqCst) != changes {
            return Ok(());
        }
        self.remove_unless(|name| stored.contains_key(name));
        for desktop in stored.into_values() {
            let name = desktop.desktop.name.to_string();
            if let Err(problem) = self.sync_desktop(desktop, rules) {
                self.warn_once(&name, problem);
            }
        }
        Ok(())
    }

    fn sync_desktop(&self, stored: StoredDesktop, rules: &RegistrationRules) -> Result<(), String> {
        let StoredDesktop { desktop, draining } = stored;
        let name = desktop.name.clone();
        let known = self.get(&name);
        let is_current = known.is_some_and(|entry| {
            entry.source == DesktopSource::Configured || entry.desktop == desktop
        });
        if !is_current {
            rules.check(&desktop).map_err(|error| error.to_string())?;
            let source = DesktopSource::Registered;
            let ports = self.connect(&desktop, source);
            let ports = ports.map_err(|error| error.to_string())?;
            self.replace(desktop, ports, source);
        }
        self.with_entries(|entries| {
            if let Some(entry) = entries.get_mut(&name) {
                entry.draining = draining;
            }
        });
        Ok(())
    }

    /// Removes registered desktops that are not kept. One with a task gets no other, and is removed later.
    fn remove_unless(&self, is_kept: impl Fn(&DesktopName) -> bool) {
        self.with_entries(|entries| {
            entries.retain(|name, entry| {
                let is_gone = entry.source == DesktopSource::Registered && !is_kept(name);
                entry.draining |= is_gone;
                !is_gone || entry.task.is_some()
            });
        });
    }

    /// Logs a problem of a registered desktop once: the store is read every second.
    fn warn_once(&self, name: &str, problem: String) {
        let mut known = self.problems.lock().unwrap_or_else(PoisonError::into_inner);
        if known.get(name) != Some(&problem) {
            tracing::warn!(name, problem, "a registered desktop cannot be used");
            known.insert(name.to_owned(), problem);
        }
    }

    /// A desktop of the pool.
    #[must_use]
    pub fn get(&self, name: &DesktopName) -> Option<PooledDesktop> {
        self.with_entries(|entries| entries.get(name).cloned())
    }

    /// Marks a desktop as draining: it finishes its task and gets no other. Returns `None` if it does not exist.
    pub fn drain(&self, name: &DesktopName) -> Option<PooledDesktop> {
        self.changes.fetch_add(1, Ordering::SeqCst);
        self.with_entries(|entries| {
            let entry = entries.get_mut(name)?;
            entry.draining = true;
            Some(entry.clone())
        })
    }

    /// Records the result of a probe and returns whether reachability changed. Ignored if the desktop got a task or
    /// other endpoints after the probe started.
    pub fn record_probe(&self, asked: &PooledDesktop, reachable: bool) -> bool {
        self.with_entries(|entries| {
            let entry = entries.get_mut(&asked.desktop.name);
            let Some(entry) =
                entry.filter(|now| now.task.is_none() && now.desktop == asked.desktop)
            else {
                return false;
            };
            std::mem::replace(&mut entry.reachable, reachable) != reachable
        })
    }

    /// Returns all desktops, sorted by name.
    #[must_use]
    pub fn list(&self) -> Vec<PooledDesktop> {
        self.with_entries(|entries| entries.values().cloned().collect())
    }

    /// Returns the tasks that run on any desktop.
    #[must_use]
    pub fn running_tasks(&self) -> HashSet<TaskName> {
        self.with_entries(|entries| {
            entries
                .values()
                .filter_map(|entry| entry.task.clone())
                .collect()
        })
    }

    /// Returns whether any desktop is free for this kind of work.
    #[must_use]
    pub fn has_free(&self, work: WorkKind) -> bool {
        self.with_entries(|entries| entries.values().any(|entry| entry.is_free(work)))
    }

    /// Records which desktops have a task of any orchestrator that has started and has neither ended nor released it. They
    /// get no new task.
    pub fn record_started(&self, mut started: HashMap<DesktopName, StartedTask>) {
        self.with_entries(|entries| {
            for (name, entry) in entries {
                entry.started = started.remove(name);
            }
        });
    }

    /// Reserves a free desktop that matches the selector for a task of this tenant.
    #[must_use]
    pub fn take(
        &self,
        task: &TaskName,
        tenant: &str,
        selector: &DesktopSelector,
        work: WorkKind,
    ) -> Option<DesktopReservation> {
        self.with_entries(|entries| {
            let free = |entry: &&mut PooledDesktop| {
                // A task that has started there goes on, whatever was changed since.
                let admits = work == WorkKind::Resumed || entry.desktop.admits(tenant);
                entry.is_free(work) && admits && matches_selector(&entry.desktop, selector)
            };
            let entry = entries.values_mut().find(free)?;
            entry.task = Some(task.clone());
            entry.tenant = Some(tenant.to_owned());
            Some(DesktopReservation {
                desktop: entry.desktop.clone(),
                ports: entry.ports.clone(),
                pool: self.clone(),
            })
        })
    }

    /// Returns what keeps each desktop that matches the selector from taking a new task of this tenant. `None` if one of
    /// them takes it now, or in a moment.
    #[must_use]
    pub fn holds(&self, selector: &DesktopSelector, tenant: &str) -> Option<Vec<DesktopHold>> {
        self.with_entries(|entries| {
            let matching = entries.values();
            let matching = matching.filter(|entry| {
                entry.desktop.admits(tenant) && matches_selector(&entry.desktop, selector)
            });
            matching.map(|entry| entry.hold(tenant)).collect()
        })
    }

    /// Returns whether a desktop that matches the selector takes new tasks of this tenant, now or once it is free.
    #[must_use]
    pub fn takes_tasks(&self, selector: &DesktopSelector, tenant: &str) -> bool {
        self.with_entries(|entries| {
            entries.values().any(|entry| {
                let is_in_use = entry.reachable && !entry.draining;
                is_in_use
                    && entry.desktop.admits(tenant)
                    && matches_selector(&entry.desktop, selector)
            })
        })
    }

    /// Returns whether any desktop, free or not, matches the selector.
    #[must_use]
    pub fn could_serve(&self, selector: &DesktopSelector) -> bool {
        self.with_entries(|entries| {
            entries
                .values()
                .any(|entry| matches_selector(&entry.desktop, selector))
        })
    }
}

/// A desktop as the store has it.
struct StoredDesktop {
    desktop: Desktop,
    draining: bool,
}

impl TryFrom<ResourceRow> for StoredDesktop {
    type Error = String;

    fn try_from(row: ResourceRow) -> Result<Self, String> {
        let message = common::Desktop::decode(row.body).map_err(|error| error.to_string())?;
        let draining = message.state() == common::desktop::State::Draining;
        let desktop = Desktop::try_from(message).map_err(|error| error.to_string())?;
        Ok(Self { desktop, draining })
    }
}

fn matches_selector(desktop: &Desktop, selector: &DesktopSelector) -> bool {
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
