//! Soak: tasks without a pause and without faults, with retention on, and what the programs take meanwhile.
//!
//! The minimum of an hour for which files are kept that no task uses is passed in a minute: the times of stored files are set
//! back. Everything else has its own time. Memory, open files and disk must not grow after the warm-up. The audit log alone is
//! measured and not judged: its records are kept for a day at least, and their times cannot be set back in a chain of hashes. The
//! log of the database is never made smaller, only used again, so that its largest size is judged.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::Serialize;
use tokio::time::{Instant, sleep};

use crate::RunOptions;
use crate::fleet::{Fleet, Store};
use crate::user::Users;

const SAMPLE_INTERVAL: Duration = Duration::from_secs(5);
/// Age at which the time of a stored file is set back, and by how much.
const AGEING_AFTER: Duration = Duration::from_secs(60);
const AGEING: Duration = Duration::from_secs(2 * 3600);
/// Part of a run before the slopes are measured: programs fill their caches and pools in it, and the first tasks get too old.
const WARM_UP: f64 = 1.0 / 3.0;

/// Part of its value by which a quantity may grow after the warm-up. A leak of every task is far more in a run of an hour.
const MAX_RELATIVE_GROWTH: f64 = 0.1;

/// A measured quantity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Quantity {
    /// Memory of a process, in bytes.
    Memory,
    /// Open files of a process.
    OpenFiles,
    /// Size of a part of a data folder, in bytes.
    Disk,
    /// Size of the log of a database, in bytes.
    DatabaseLog,
    /// Size of an audit log, in bytes, which grows with what is done.
    AuditLog,
}

impl Quantity {
    /// Returns by how much it may always grow after the warm-up; `None` if it is not judged.
    fn min_allowance(self) -> Option<f64> {
        match self {
            // Allocators keep pages of their own.
            Self::Memory => Some(f64::from(4 << 20)),
            // Connections of tasks that run.
            Self::OpenFiles => Some(8.0),
            // Free pages of a database, files of tasks that run.
            Self::Disk => Some(f64::from(8 << 20)),
            Self::DatabaseLog | Self::AuditLog => None,
        }
    }

    /// Returns its maximum; `None` if only its growth is judged.
    fn max(self) -> Option<f64> {
        match self {
            // The bytes between two checkpoints, and what is written while one runs.
            Self::DatabaseLog => Some(f64::from(512 << 20)),
            _ => None,
        }
    }
}

/// Parts of the data folder of an Orchestrator.
const STORE: [(Quantity, &str); 3] = [
    (Quantity::Disk, "tasks.db"),
    (Quantity::DatabaseLog, "tasks.db-wal"),
    (Quantity::Disk, "blobs"),
];

/// Course of a quantity over a run.
#[derive(Debug, Serialize)]
struct Course {
    /// At the end of the warm-up.
    first: f64,
    last: f64,
    max: f64,
    /// Slope of the line through the samples after the warm-up, for an hour.
    per_hour: f64,
    /// Growth along this line after the warm-up.
    growth: f64,
    /// Maximum of the growth. `None` if it is not judged.
    max_growth: Option<f64>,
    /// Maximum of all values. `None` if they are not judged.
    limit: Option<f64>,
}

impl Course {
    /// Returns the course of these samples, which are times in seconds and values.
    fn of(quantity: Quantity, samples: &[(f64, f64)]) -> Option<Self> {
        let (end, last) = *samples.last()?;
        let warm = samples.iter().copied();
        let warm: Vec<(f64, f64)> = warm.filter(|(at, _)| *at >= end * WARM_UP).collect();
        let (begin, first) = *warm.first()?;
        let slope = slope(&warm);
        let allowance = quantity.min_allowance();
        Some(Self {
            first,
            last,
            max: samples.iter().map(|(_, value)| *value).fold(0.0, f64::max),
            per_hour: slope * 3600.0,
            growth: slope * (end - begin),
            max_growth: allowance.map(|least| least.max(first * MAX_RELATIVE_GROWTH)),
            limit: quantity.max(),
        })
    }

    fn is_flat(&self) -> bool {
        self.max_growth.is_none_or(|max| self.growth <= max)
            && self.limit.is_none_or(|limit| self.max <= limit)
    }
}

/// Samples by what was measured, with their times in seconds.
#[derive(Debug, Default)]
struct Samples(BTreeMap<(Quantity, String), Vec<(f64, f64)>>);

/// Result of a soak on one store.
#[derive(Debug, Serialize)]
pub(crate) struct SoakReport {
    store: Store,
    seconds: u64,
    /// Tasks that have ended.
    tasks: usize,
    actions_received_twice: usize,
    courses: BTreeMap<String, Course>,
}

impl SoakReport {
    /// Returns what is not as it should be, one sentence each.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let grown = self.courses.iter().filter(|(_, course)| !course.is_flat());
        let grown = grown.map(|(what, course)| {
            let Course { growth, max, .. } = course;
            let allowed = course.max_growth.or(course.limit).unwrap_or_default();
            format!("{what}: {max:.0} at most, grew by {growth:.0} after the warm-up, of {allowed:.0} allowed")
        });
        let repeated = self.actions_received_twice;
        let repeated = (repeated > 0).then(|| format!("{repeated} actions were received twice"));
        let idle = (self.tasks == 0).then(|| "no task has ended".to_owned());
        grown.chain(repeated).chain(idle).collect()
    }
}

/// Runs tasks for this time and returns the courses.
pub(crate) async fn run(scope: &RunOptions, store: Store, time: Duration) -> SoakReport {
    let began = Instant::now();
    let mut fleet = Fleet::start(scope, store).await;
    let crowd = Users::start(scope, &fleet, crate::MAX_TASKS_PER_DESKTOP * scope.desktops);
    let mut samples = Samples::default();
    let mut next = began;
    while began.elapsed() < time && !crowd.has_finished() {
        if Instant::now() >= next {
            next += SAMPLE_INTERVAL;
            let data = fleet.data().to_owned();
            age_files(&data.join("blobs"));
            let at = began.elapsed().as_secs_f64();
            for (name, process) in fleet.processes() {
                samples.add(
                    at,
                    Quantity::Memory,
                    format!("{name}, memory"),
                    memory(process),
                );
                let open_files = open_files(process);
                samples.add(
                    at,
                    Quantity::OpenFiles,
                    format!("{name}, open files"),
                    open_files,
                );
            }
            for (quantity, name) in STORE {
                let size = size(&data.join(name));
                samples.add(at, quantity, name.to_owned(), Some(size));
            }
            let of_executor = fleet.executor_data();
            for (name, size) in [
                ("orchestrator0, audit log", size(&data.join("audit"))),
                ("executor0, audit log", size(&of_executor.join("audit"))),
            ] {
                samples.add(at, Quantity::AuditLog, name.to_owned(), Some(size));
            }
            for (name, part) in [
                ("executor0, state", "executor"),
                ("executor0, files", "files"),
            ] {
                let size = size(&of_executor.join(part));
                samples.add(at, Quantity::Disk, name.to_owned(), Some(size));
            }
        }
        fleet.restart_ended();
        sleep(Duration::from_millis(100)).await;
    }
    let reports = crowd.end_after_current().await;
    let ended = reports.iter().filter(|report| report.has_ended).count();
    let repeated = fleet.repeated_actions();
    fleet.stop().await;
    SoakReport {
        store,
        seconds: began.elapsed().as_secs(),
        tasks: ended,
        actions_received_twice: repeated,
        courses: samples.courses(),
    }
}

impl Samples {
    fn add(&mut self, at: f64, quantity: Quantity, name: String, value: Option<u64>) {
        // A program that has just ended has no value.
        if let Some(value) = value {
            let samples = self.0.entry((quantity, name)).or_default();
            samples.push((at, value as f64));
        }
    }

    fn courses(&self) -> BTreeMap<String, Course> {
        let courses = self.0.iter().filter_map(|((quantity, name), samples)| {
            Some((name.clone(), Course::of(*quantity, samples)?))
        });
        courses.collect()
    }
}

/// Returns the slope of the line with the least squares of distances.
fn slope(samples: &[(f64, f64)]) -> f64 {
    let count = samples.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| samples.iter().map(of).sum::<f64>() / count;
    let (mean_at, mean_value) = (mean(|sample| sample.0), mean(|sample| sample.1));
    let covariance: f64 = samples
        .iter()
        .map(|(at, value)| (at - mean_at) * (value - mean_value))
        .sum();
    let variance: f64 = samples.iter().map(|(at, _)| (at - mean_at).powi(2)).sum();
    if variance == 0.0 {
        0.0
    } else {
        covariance / variance
    }
}

/// Returns the resident memory of a process that is its own, in bytes.
fn memory(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
    Some(kib * 1024)
}

fn open_files(process: u32) -> Option<u64> {
    let entries = fs::read_dir(format!("/proc/{process}/fd")).ok()?;
    Some(entries.count() as u64)
}

/// Returns the size of a file, or of the files in a folder, in bytes.
fn size(path: &Path) -> u64 {
    let files = files_below(path);
    let sizes = files.iter().filter_map(|file| fs::metadata(file).ok());
    sizes.map(|metadata| metadata.len()).sum()
}

/// Sets the times of files back that are old enough, once.
fn age_files(folder: &Path) {
    let now = SystemTime::now();
    for path in files_below(folder) {
        // Files come and go meanwhile.
        let Ok(file) = File::open(&path) else {
            continue;
        };
        let modified = file.metadata().and_then(|metadata| metadata.modified());
        let age = modified.ok().and_then(|at| now.duration_since(at).ok());
        if age.is_some_and(|age| age > AGEING_AFTER && age < AGEING) {
            let _ = file.set_modified(now - AGEING - AGEING_AFTER);
        }
    }
}

/// Returns a file, or the files in a folder and those below it.
fn files_below(path: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(path) else {
        return vec![path.to_owned()];
    };
    let entries = entries.flatten().map(|entry| entry.path());
    entries.flat_map(|entry| files_below(&entry)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slope_is_that_of_the_line() {
        let line = [(0.0, 5.0), (10.0, 25.0), (20.0, 45.0)];
        assert!((slope(&line) - 2.0).abs() < 1e-9);
        assert!(slope(&[(0.0, 7.0), (9.0, 7.0)]).abs() < 1e-9);
        assert!(slope(&[(3.0, 7.0)]).abs() < 1e-9);
    }

    /// Returns the course of a quantity that grows at a constant rate for one hour.
    fn course(quantity: Quantity, at_start: f64, per_hour: f64) -> Course {
        let samples = (0..720).map(|number| {
            let at = f64::from(number) * 5.0;
            (at, at_start + per_hour * at / 3600.0)
        });
        Course::of(quantity, &samples.collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn a_leak_is_no_flat_course() {
        const MIB: f64 = 1_048_576.0;
        assert!(course(Quantity::Memory, 40.0 * MIB, 5.0 * MIB).is_flat());
        assert!(!course(Quantity::Memory, 40.0 * MIB, 9.0 * MIB).is_flat());
        assert!(!course(Quantity::OpenFiles, 60.0, 15.0).is_flat());
        assert!(!course(Quantity::Disk, 10.0 * MIB, 20.0 * MIB).is_flat());
        assert!(course(Quantity::Disk, 10.0 * MIB, -20.0 * MIB).is_flat());
        assert!(course(Quantity::AuditLog, 0.0, 900.0 * MIB).is_flat());
        assert!(course(Quantity::DatabaseLog, 0.0, 500.0 * MIB).is_flat());
        assert!(!course(Quantity::DatabaseLog, 0.0, 600.0 * MIB).is_flat());
    }

    #[test]
    fn growth_of_the_warm_up_is_not_judged() {
        let samples = (0..90).map(|at| (f64::from(at), f64::from(at.min(30)) * 1e9));
        let course = Course::of(Quantity::Memory, &samples.collect::<Vec<_>>()).unwrap();
        assert!(course.is_flat(), "{course:?}");
    }
}
