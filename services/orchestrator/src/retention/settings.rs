//! Settings of the retention, as written, and the validated policy.
//!
//! Nothing is deleted here: a sweep does that.

use std::collections::BTreeMap;
use std::time::Duration;

use motorium_kit::config::HumanDuration;
use motorium_proto::error::FieldError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Default of `unused_files`.
// Longer than a person takes between an upload and the task that names it.
const DEFAULT_UNUSED_FILES: Duration = Duration::from_secs(24 * 3600);
/// Minimum of `unused_files`.
// Longer than a full disk or a database that is away delays the event that names a file, and than clocks jump.
const MIN_UNUSED_FILES: Duration = Duration::from_secs(3600);
/// Default of `interval`.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(3600);
/// Minimum of `interval`.
// A sweep looks at every task and every file.
const MIN_INTERVAL: Duration = Duration::from_secs(60);

/// Minimum of `audit`.
// A log of a day is of little use, and each removal begins a file.
const MIN_AUDIT: Duration = Duration::from_secs(24 * 3600);
const MAX_DURATION: HumanDuration = HumanDuration(Duration::MAX);

/// Times for which tasks and their parts are kept, counted from the end of the task. Without a setting, they are kept until they are
/// deleted by a user (`motorium delete`, `motorium purge`). Tasks that have not ended are always kept.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RetentionSettings {
    /// Time after which an ended task is deleted, with everything that was stored for it.
    #[schemars(example = &"90d")]
    pub tasks: Option<HumanDuration>,
    /// Time after which a session without tasks is deleted, counted from the creation of the session or of its latest task.
    #[schemars(example = &"180d")]
    pub sessions: Option<HumanDuration>,
    /// Time after which the recording of an ended task is deleted. The task can then no longer be replayed.
    #[schemars(example = &"30d")]
    pub recordings: Option<HumanDuration>,
    /// Time after which the screenshots of an ended task are deleted, with the stored requests to models and their responses. The
    /// task keeps its events, its attachments and its result files.
    #[schemars(example = &"14d")]
    pub screenshots: Option<HumanDuration>,
    /// Times of single tenants, in place of all four above: what a tenant's table leaves out is kept for that tenant until a user
    /// deletes it.
    pub tenants: TenantTable,
    /// Time after which records of the audit log are removed, in whole files: some are kept for half as long again. Each
    /// orchestrator removes those of its own log.
    #[schemars(example = &"400d")]
    pub audit: Option<HumanDuration>,
    /// Time after which a file that no task uses is removed: an upload that no task names, with its note, or a file of a deleted task.
    /// At least 1h.
    pub unused_files: HumanDuration,
    /// Interval between sweeps, of all orchestrators on a store together. At least 1m.
    pub interval: HumanDuration,
}

impl Default for RetentionSettings {
    fn default() -> Self {
        Self {
            tasks: None,
            sessions: None,
            recordings: None,
            screenshots: None,
            tenants: TenantTable::new(),
            audit: None,
            unused_files: HumanDuration(DEFAULT_UNUSED_FILES),
            interval: HumanDuration(DEFAULT_INTERVAL),
        }
    }
}

/// Times by the name of a tenant.
type TenantTable = BTreeMap<String, RetentionTimes>;

/// Times for the tasks of one tenant, as written.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RetentionTimes {
    /// Like `orchestrator.retention.tasks`.
    #[schemars(example = &"90d")]
    pub tasks: Option<HumanDuration>,
    /// Like `orchestrator.retention.sessions`.
    #[schemars(example = &"180d")]
    pub sessions: Option<HumanDuration>,
    /// Like `orchestrator.retention.recordings`.
    #[schemars(example = &"30d")]
    pub recordings: Option<HumanDuration>,
    /// Like `orchestrator.retention.screenshots`.
    #[schemars(example = &"14d")]
    pub screenshots: Option<HumanDuration>,
}

/// Times for which tasks and their parts are kept. `None` is for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct KeepTimes {
    pub tasks: Option<Duration>,
    pub sessions: Option<Duration>,
    pub recordings: Option<Duration>,
    pub screenshots: Option<Duration>,
}

/// The validated settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetentionPolicy {
    /// Times of tenants that have none of their own.
    pub times: KeepTimes,
    pub tenants: BTreeMap<String, KeepTimes>,
    /// Time for which records of the audit log are kept.
    pub audit: Option<Duration>,
    pub unused_files: Duration,
    pub interval: Duration,
}

impl RetentionSettings {
    /// Validates the settings.
    ///
    /// # Errors
    /// If a duration is shorter than its minimum.
    pub fn resolve(&self) -> Result<RetentionPolicy, FieldError> {
        for (key, duration, minimum) in [
            ("unused_files", self.unused_files, MIN_UNUSED_FILES),
            ("interval", self.interval, MIN_INTERVAL),
            ("audit", self.audit.unwrap_or(MAX_DURATION), MIN_AUDIT),
        ] {
            if duration.0 < minimum {
                let field = format!("orchestrator.retention.{key}");
                let minimum = HumanDuration(minimum);
                let problem = format!("{duration} is too short; give at least {minimum}");
                return Err(FieldError::new(field, problem));
            }
        }
        let times = RetentionTimes {
            tasks: self.tasks,
            sessions: self.sessions,
            recordings: self.recordings,
            screenshots: self.screenshots,
        };
        let mut tenants = BTreeMap::new();
        for (tenant, times) in &self.tenants {
            let table = format!("orchestrator.retention.tenants.{tenant}");
            tenants.insert(tenant.clone(), times.resolve(&table)?);
        }
        Ok(RetentionPolicy {
            times: times.resolve("orchestrator.retention")?,
            tenants,
            audit: self.audit.map(|age| age.0),
            unused_files: self.unused_files.0,
            interval: self.interval.0,
        })
    }
}

impl RetentionTimes {
    fn resolve(&self, table: &str) -> Result<KeepTimes, FieldError> {
        let part = |key: &str, duration: Option<HumanDuration>| match duration {
            // Zero could be meant as "never".
            Some(HumanDuration(Duration::ZERO)) => Err(FieldError::new(
                format!("{table}.{key}"),
                "must not be zero; leave it out to keep them",
            )),
            duration => Ok(duration.map(|duration| duration.0)),
        };
        Ok(KeepTimes {
            tasks: part("tasks", self.tasks)?,
            sessions: part("sessions", self.sessions)?,
            recordings: part("recordings", self.recordings)?,
            screenshots: part("screenshots", self.screenshots)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_that_would_lose_files_are_refused() {
        let check = |change: fn(&mut RetentionSettings), problem: Option<&str>| {
            let mut settings = RetentionSettings::default();
            change(&mut settings);
            let refused = settings.resolve().err().map(|error| error.to_string());
            match problem {
                None => assert_eq!(refused, None),
                Some(problem) => assert!(
                    refused.as_ref().is_some_and(|it| it.contains(problem)),
                    "{refused:?}"
                ),
            }
        };
        check(|_| {}, None);
        check(|it| it.tasks = Some(HumanDuration::seconds(1)), None);
        check(
            |it| it.tasks = Some(HumanDuration::seconds(0)),
            Some("orchestrator.retention.tasks"),
        );
        check(
            |it| {
                let times = RetentionTimes {
                    screenshots: Some(HumanDuration::seconds(0)),
                    ..RetentionTimes::default()
                };
                it.tenants.insert("acme".to_owned(), times);
            },
            Some("orchestrator.retention.tenants.acme.screenshots"),
        );
        check(
            |it| it.unused_files = HumanDuration::seconds(60),
            Some("orchestrator.retention.unused_files"),
        );
        check(
            |it| it.interval = HumanDuration::seconds(1),
            Some("orchestrator.retention.interval"),
        );
    }
}
