//! Soak: tasks without a pause and without faults, with retention on, and what the programs take meanwhile.
//!
//! The minimum of an hour for which files are kept that no task uses is passed in a minute: the times of stored files are set
//! back. Everything else has its own time.

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

/// Course of a quantity over a run.
#[derive(Debug, Serialize)]
struct Course {
    /// At the end of the warm-up.
    first: f64,
    last: f64,
    max: f64,
    /// Slope of the line through the samples after the warm-up, for an hour.
    per_hour: f64,
}

/// Samples by what was measured, with their times in seconds.
#[derive(Debug, Default)]
struct Samples(BTreeMap<String, Vec<(f64, f64)>>);

/// Runs tasks for this time and returns the courses as JSON.
pub(crate) async fn run(scope: &RunOptions, store: Store, time: Duration) -> serde_json::Value {
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
                samples.add(at, format!("{name}, memory in KiB"), memory_kib(process));
                samples.add(at, format!("{name}, open files"), open_files(process));
            }
            for (name, size) in disk_use(&data) {
                samples.add(at, format!("{name}, bytes"), size);
            }
        }
        fleet.restart_ended();
        sleep(Duration::from_millis(100)).await;
    }
    let reports = crowd.end_after_current().await;
    let ended = reports.iter().filter(|report| report.has_ended).count();
    let repeated = fleet.repeated_actions();
    fleet.stop().await;
    serde_json::json!({
        "store": store,
        "seconds": began.elapsed().as_secs(),
        "tasks": ended,
        "actions_received_twice": repeated,
        "courses": samples.courses(),
    })
}

impl Samples {
    fn add(&mut self, at: f64, what: String, value: Option<u64>) {
        // A program that has just ended has no value.
        if let Some(value) = value {
            let value = value as f64;
            self.0.entry(what).or_default().push((at, value));
        }
    }

    fn courses(&self) -> BTreeMap<&str, Course> {
        let courses = self.0.iter().filter_map(|(what, samples)| {
            let (end, last) = *samples.last()?;
            let warm: Vec<(f64, f64)> = samples
                .iter()
                .copied()
                .filter(|(at, _)| *at >= end * WARM_UP)
                .collect();
            let course = Course {
                first: warm.first()?.1,
                last,
                max: samples.iter().map(|(_, value)| *value).fold(0.0, f64::max),
                per_hour: slope(&warm) * 3600.0,
            };
            Some((what.as_str(), course))
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

/// Returns the resident memory of a process that is its own.
fn memory_kib(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("RssAnon:"))?;
    line.split_whitespace().next()?.parse().ok()
}

fn open_files(process: u32) -> Option<u64> {
    let entries = fs::read_dir(format!("/proc/{process}/fd")).ok()?;
    Some(entries.count() as u64)
}

/// Returns the sizes of the parts of a data folder.
fn disk_use(data: &Path) -> Vec<(String, Option<u64>)> {
    let part = |name: &str| {
        let files = files_below(&data.join(name));
        let sizes = files.iter().filter_map(|file| fs::metadata(file).ok());
        let size = sizes.map(|metadata| metadata.len()).sum();
        (name.to_owned(), Some(size))
    };
    let parts = ["tasks.db", "tasks.db-wal", "blobs", "audit"];
    parts.into_iter().map(part).collect()
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
}
