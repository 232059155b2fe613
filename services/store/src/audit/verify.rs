//! Verifies and exports an audit log.
//!
//! It can prove that the records from the first to the last belong together, and that the log is as long as its head says. It
//! cannot tell a log that was written anew, with its head, from the original one: only a checkpoint from elsewhere can.

use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Write};
use std::path::{Path, PathBuf};

use super::entry::{Checkpoint, GAP, Hash, RETENTION, ReadRecord, read};
use super::folder::{files, head_of, read_head};

/// A log without a problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditReport {
    /// Number of records.
    pub records: u64,
    /// Number of the first record.
    pub first: u64,
    /// The last record. To be kept elsewhere, as proof of all records up to it.
    pub last: Checkpoint,
    /// True if a head confirms the end of the log. A single file has none.
    pub has_head: bool,
}

/// The first problem of a log.
#[derive(Debug, thiserror::Error)]
pub enum AuditProblem {
    #[error("{}: {error}", path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    #[error("{} has no records", path.display())]
    Empty { path: PathBuf },
    #[error("line {line} of {} is not a record, or was changed", path.display())]
    Changed { path: PathBuf, line: u64 },
    #[error(
        "record {found} is in the place of record {expected}: records were removed, inserted or moved"
    )]
    OutOfOrder { expected: u64, found: u64 },
    #[error("record {seq} does not continue the record before it: one of them was replaced")]
    Broken { seq: u64 },
    #[error(
        "records {from} to {to} are missing at the beginning; if they were archived, name the last of them as checkpoint"
    )]
    BeginningMissing { from: u64, to: u64 },
    #[error(
        "the log ends with record {last}, but its head says {head}: records were removed at the end"
    )]
    Truncated { last: u64, head: u64 },
    #[error(
        "record {seq} says that the log had lost its end or its head when the orchestrator started"
    )]
    LossRecorded { seq: u64 },
    #[error("the head is missing or damaged, so that records may be missing at the end")]
    HeadMissing,
    #[error("record {seq} is not the one of the head: the log was written anew")]
    HeadDiffers { seq: u64 },
    #[error("record {seq} is not the one of the checkpoint: the log was written anew")]
    CheckpointDiffers { seq: u64 },
    #[error("the checkpoint {seq} is not in the log: it has the records {first} to {last}")]
    CheckpointMissing { seq: u64, first: u64, last: u64 },
}

/// Verifies the log in a folder, or one file of a log.
///
/// # Errors
/// The first problem that is found.
pub fn verify(path: &Path, checkpoint: Option<&Checkpoint>) -> Result<AuditReport, AuditProblem> {
    let mut chain = Chain::new(path, checkpoint)?;
    for file in log_files(path)? {
        chain.read(&file)?;
    }
    chain.finish()
}

/// Writes the records of a log as they are, one JSON object per line. Does not verify them.
///
/// # Errors
/// If a file cannot be read, or the records cannot be written.
pub fn export(path: &Path, to: &mut dyn Write) -> Result<(), AuditProblem> {
    for path in log_files(path)? {
        let copied = File::open(&path).and_then(|mut file| io::copy(&mut file, to));
        copied.map_err(|error| AuditProblem::Unreadable { path, error })?;
    }
    Ok(())
}

fn log_files(path: &Path) -> Result<Vec<PathBuf>, AuditProblem> {
    let found = match fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => files(path),
        Ok(_) => Ok(vec![(0, path.to_owned())]),
        Err(error) => Err(error),
    };
    let found = found.map_err(|error| unreadable(path, error))?;
    if found.is_empty() {
        let path = path.to_owned();
        return Err(AuditProblem::Empty { path });
    }
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

fn unreadable(path: &Path, error: io::Error) -> AuditProblem {
    AuditProblem::Unreadable {
        path: path.to_owned(),
        error,
    }
}

/// The records read so far.
struct Chain<'a> {
    path: &'a Path,
    is_folder: bool,
    head: Option<Checkpoint>,
    head_found: bool,
    checkpoint: Option<&'a Checkpoint>,
    checkpoint_found: bool,
    first: Option<u64>,
    last: Option<Checkpoint>,
    records: u64,
    /// Last record of a beginning that is missing without a reason yet.
    missing: Option<u64>,
    /// Records with which a file ended: those up to which files may have been removed.
    ends: Vec<Checkpoint>,
}

impl<'a> Chain<'a> {
    fn new(path: &'a Path, checkpoint: Option<&'a Checkpoint>) -> Result<Self, AuditProblem> {
        let is_folder = path.is_dir();
        let head = match File::open(head_of(path)) {
            Ok(file) if is_folder => read_head(&file).map_err(|error| unreadable(path, error))?,
            _ => None,
        };
        Ok(Self {
            path,
            is_folder,
            head,
            head_found: false,
            checkpoint,
            checkpoint_found: false,
            first: None,
            last: None,
            records: 0,
            missing: None,
            ends: Vec::new(),
        })
    }

    fn read(&mut self, path: &Path) -> Result<(), AuditProblem> {
        let file = File::open(path).map_err(|error| unreadable(path, error))?;
        for (line, text) in (1..).zip(BufReader::new(file).split(b'\n')) {
            let text = text.map_err(|error| unreadable(path, error))?;
            let record = str::from_utf8(&text).ok().and_then(read);
            let Some(record) = record else {
                let path = path.to_owned();
                return Err(AuditProblem::Changed { path, line });
            };
            match &self.last {
                Some(last) => follows(last, record.seq, record.previous)?,
                None => self.begin(record.seq, record.previous)?,
            }
            if record.what == GAP {
                return Err(AuditProblem::LossRecorded { seq: record.seq });
            }
            self.explain_missing(&record);
            let read = record.checkpoint();
            self.compare(&read)?;
            self.records += 1;
            self.last = Some(read);
        }
        self.ends.extend(self.last.clone());
        Ok(())
    }

    /// Accepts a missing beginning if this record says that it was removed, up to a record that is known.
    fn explain_missing(&mut self, record: &ReadRecord) {
        if record.what != RETENTION {
            return;
        }
        let removed = record.resource.parse::<Checkpoint>();
        if removed.is_ok_and(|removed| self.ends.contains(&removed)) {
            self.missing = None;
        }
    }

    /// Notes what is missing before the first record, unless the checkpoint is the record before it.
    fn begin(&mut self, seq: u64, previous: Hash) -> Result<(), AuditProblem> {
        self.first = Some(seq);
        let before = Checkpoint {
            seq: seq.saturating_sub(1),
            hash: previous,
        };
        if before.seq > 0 {
            self.compare(&before)?;
        }
        let is_first = before.seq == 0 && before.hash == Hash::NONE;
        if !is_first && !self.checkpoint_found && self.is_folder {
            self.missing = Some(before.seq);
        }
        self.ends.push(before);
        Ok(())
    }

    /// Compares a record with the head and the checkpoint.
    fn compare(&mut self, read: &Checkpoint) -> Result<(), AuditProblem> {
        let seq = read.seq;
        if let Some(head) = self.head.as_ref().filter(|head| head.seq == seq) {
            if head != read {
                return Err(AuditProblem::HeadDiffers { seq });
            }
            self.head_found = true;
        }
        if let Some(checkpoint) = self.checkpoint.filter(|checkpoint| checkpoint.seq == seq) {
            if checkpoint != read {
                return Err(AuditProblem::CheckpointDiffers { seq });
            }
            self.checkpoint_found = true;
        }
        Ok(())
    }

    fn finish(self) -> Result<AuditReport, AuditProblem> {
        if let Some(to) = self.missing {
            return Err(AuditProblem::BeginningMissing { from: 1, to });
        }
        let (Some(first), Some(last)) = (self.first, self.last) else {
            let path = self.path.to_owned();
            return Err(AuditProblem::Empty { path });
        };
        match &self.head {
            None if self.is_folder => return Err(AuditProblem::HeadMissing),
            Some(head) if !self.head_found => {
                return Err(AuditProblem::Truncated {
                    last: last.seq,
                    head: head.seq,
                });
            }
            _ => {}
        }
        if let Some(checkpoint) = self.checkpoint
            && !self.checkpoint_found
        {
            return Err(AuditProblem::CheckpointMissing {
                seq: checkpoint.seq,
                first,
                last: last.seq,
            });
        }
        Ok(AuditReport {
            records: self.records,
            first,
            last,
            has_head: self.head.is_some(),
        })
    }
}

/// Checks that a record comes right after another one.
fn follows(last: &Checkpoint, seq: u64, previous: Hash) -> Result<(), AuditProblem> {
    let expected = last.seq + 1;
    if seq != expected {
        return Err(AuditProblem::OutOfOrder {
            expected,
            found: seq,
        });
    }
    if previous != last.hash {
        return Err(AuditProblem::Broken { seq });
    }
    Ok(())
}
