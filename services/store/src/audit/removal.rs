//! Removal of old files of an audit log.
//!
//! A record in the log says up to which record the log was removed, with its hash, before any file goes. Verification accepts the
//! missing beginning only with such a record, so that it cannot be cut off further. Only whole files are removed, never the newest:
//! a new one begins in time, so that records are kept for up to half as long again.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;

use super::entry::{AuditEntry, Checkpoint, Phase, RETENTION, read};
use super::folder::files;
use super::writer::{AuditLog, OpenLog, last_record};
use crate::Error;

/// Maximum number of bytes of a line. Names in it are shortened, so that lines are a few kilobytes at most.
const MAX_LINE_BYTES: u64 = 64 * 1024;

impl AuditLog {
    /// Removes files whose records are all older than `keep`. Returns their number.
    ///
    /// # Errors
    /// Like [`AuditLog::record`]: nothing is removed that the log does not say.
    pub async fn remove_older(&self, keep: Duration, now: SystemTime) -> Result<usize, Error> {
        let Some(log) = self.0.clone() else {
            return Ok(0);
        };
        let removing = tokio::task::spawn_blocking(move || log.remove_older(keep, now));
        let removed = removing.await;
        removed.map_err(|error| Error::Failed(Box::new(error)))?
    }
}

/// Files to be removed, and the last record in them.
struct OldFiles {
    paths: Vec<PathBuf>,
    last: Checkpoint,
}

impl OpenLog {
    fn remove_older(&self, keep: Duration, now: SystemTime) -> Result<usize, Error> {
        let (Some(oldest), Some(begin)) = (before(now, keep), before(now, keep / 2)) else {
            return Ok(0);
        };
        let mut removed = 0;
        self.change(&mut |end| {
            let files = files(&self.folder)?;
            let newest = files.last().map(|(_, path)| first_time(path)).transpose()?;
            let begins_file = newest.flatten().is_some_and(|first| first < begin);
            let old = old_files(&files, oldest)?;
            if old.is_none() && !begins_file {
                return Ok(());
            }
            if begins_file {
                self.begin_file(end, end.last.seq + 1)?;
            }
            let last = old.as_ref().map(|old| old.last.to_string());
            self.write(end, &entry(now, last.unwrap_or_default()), None)?;
            for path in old.map(|old| old.paths).unwrap_or_default() {
                fs::remove_file(path)?;
                removed += 1;
            }
            Ok(())
        })?;
        Ok(removed)
    }
}

fn before(now: SystemTime, age: Duration) -> Option<Timestamp> {
    Timestamp::try_from(now.checked_sub(age)?).ok()
}

fn entry(now: SystemTime, resource: String) -> AuditEntry {
    AuditEntry {
        at: now,
        principal: "local".to_owned(),
        tenant: "default".to_owned(),
        what: RETENTION,
        phase: Phase::Ended,
        resource,
        kind: String::new(),
        outcome: "OK".to_owned(),
    }
}

/// Returns the files from the first on whose last record is older than a time.
fn old_files(files: &[(u64, PathBuf)], oldest: Timestamp) -> io::Result<Option<OldFiles>> {
    let mut old = None;
    let mut paths = Vec::new();
    let but_newest = files.len().saturating_sub(1);
    for (_, path) in &files[..but_newest] {
        let file = File::options().read(true).write(true).open(path)?;
        let (_, last) = last_record(&file)?;
        let Some(last) = last.filter(|last| last.at < oldest) else {
            break;
        };
        paths.push(path.clone());
        old = Some(last.checkpoint());
    }
    Ok(old.map(|last| OldFiles { paths, last }))
}

/// Returns the time of the first record of a file.
fn first_time(path: &Path) -> io::Result<Option<Timestamp>> {
    let mut line = String::new();
    let file = File::open(path)?.take(MAX_LINE_BYTES);
    BufReader::new(file).read_line(&mut line)?;
    Ok(read(line.trim_end()).map(|record| record.at))
}
