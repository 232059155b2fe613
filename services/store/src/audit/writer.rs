//! Appends to the audit log.
//!
//! The head is locked during an append, and says where the log ends: if another process has appended since, the end is
//! read anew. A record that cannot be written whole is cut off again, and its caller gets an error.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use super::entry::{AuditEntry, Checkpoint, GAP, Hash, Phase, ReadRecord, line, read};
use super::folder::{file_of, files, head_of, is_removed, open, read_head, write_head};
use crate::Error;
use crate::folder::{Durability, from_io_error, prepare};

/// Default size at which the next file begins. About 150 000 records, which a person's tools still open.
const DEFAULT_MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// Part of a file that is read for its last record at first. Several times as much as a record has.
const TAIL_BYTES: u64 = 8 * 1024;

/// An audit log. Clones share it. One that is off records nothing.
#[derive(Debug, Clone, Default)]
pub struct AuditLog(pub(super) Option<Arc<OpenLog>>);

#[derive(Debug)]
pub(super) struct OpenLog {
    pub(super) folder: PathBuf,
    durability: Durability,
    max_file_bytes: u64,
    /// The end of the log as this process knows it.
    end: Mutex<Option<End>>,
}

/// The end of the log.
#[derive(Debug)]
pub(super) struct End {
    head_file: File,
    file: File,
    length: u64,
    pub(super) last: Checkpoint,
}

impl AuditLog {
    /// Returns a log that records nothing: for replays and tests.
    #[must_use]
    pub fn off() -> Self {
        Self(None)
    }

    /// Opens the log in a folder, which is created if it is missing.
    ///
    /// # Errors
    /// `Unwritable` or `Full` if the folder cannot be written, `Corrupt` if its last file does not end with a record.
    pub fn open(folder: &Path, durability: Durability) -> Result<Self, Error> {
        Self::open_with(folder, durability, DEFAULT_MAX_FILE_BYTES)
    }

    /// Opens the log, with files that end at this size.
    ///
    /// # Errors
    /// Like [`Self::open`].
    pub fn open_with(
        folder: &Path,
        durability: Durability,
        max_file_bytes: u64,
    ) -> Result<Self, Error> {
        prepare(folder)?;
        let log = OpenLog {
            folder: folder.to_owned(),
            durability,
            max_file_bytes,
            end: Mutex::default(),
        };
        let head = log.append(&[])?;
        // The system's log keeps it apart from the folder, as a checkpoint.
        tracing::info!(folder = %folder.display(), %head, "the audit log is open");
        Ok(Self(Some(Arc::new(log))))
    }

    /// Appends entries. Returns once they are written.
    ///
    /// # Errors
    /// `Full` or `Unwritable` if they cannot be written: none of them is in the log then. `Corrupt` if its last file does
    /// not end with a record.
    pub async fn record(&self, entries: Vec<AuditEntry>) -> Result<(), Error> {
        let Some(log) = self.0.clone() else {
            return Ok(());
        };
        if entries.is_empty() {
            return Ok(());
        }
        let appending = tokio::task::spawn_blocking(move || log.append(&entries));
        let appended = appending.await;
        appended.map_err(|error| Error::Failed(Box::new(error)))??;
        Ok(())
    }
}

impl OpenLog {
    /// Appends entries and returns the head after them.
    fn append(&self, entries: &[AuditEntry]) -> Result<Checkpoint, Error> {
        self.change(&mut |end| {
            let mut entries = entries.iter();
            entries.try_for_each(|entry| self.write(end, entry, None))
        })
    }

    /// Makes a change at the end of the log, while no other process does, and returns the head after it.
    pub(super) fn change(
        &self,
        change: &mut dyn FnMut(&mut End) -> io::Result<()>,
    ) -> Result<Checkpoint, Error> {
        let mut end = self.end.lock().unwrap_or_else(PoisonError::into_inner);
        let known = end.take();
        let changed = self.change_after(known, change);
        // After a failure, the end is read anew.
        let known = end.insert(changed?);
        Ok(known.last.clone())
    }

    fn change_after(
        &self,
        known: Option<End>,
        change: &mut dyn FnMut(&mut End) -> io::Result<()>,
    ) -> Result<End, Error> {
        let fail = |error: io::Error| from_io_error(&self.folder, &error);
        let head_file = match known {
            Some(end) if !is_removed(&end.head_file).map_err(fail)? => {
                end.head_file.lock().map_err(fail)?;
                let changed = self.change_locked(Some(end), None, change);
                return unlocked(changed);
            }
            _ => open(&head_of(&self.folder)).map_err(fail)?,
        };
        head_file.lock().map_err(fail)?;
        let changed = self.change_locked(None, Some(head_file), change);
        unlocked(changed)
    }

    /// Makes a change while the head is locked. Either the end is known, or the head has just been opened.
    fn change_locked(
        &self,
        known: Option<End>,
        opened: Option<File>,
        change: &mut dyn FnMut(&mut End) -> io::Result<()>,
    ) -> Result<End, Error> {
        let fail = |error: io::Error| from_io_error(&self.folder, &error);
        let mut end = match (known, opened) {
            (Some(end), _) if self.is_current(&end).map_err(fail)? => end,
            (Some(end), _) => self.find_end(end.head_file)?,
            (None, Some(head_file)) => self.find_end(head_file)?,
            (None, None) => self.find_end(open(&head_of(&self.folder)).map_err(fail)?)?,
        };
        change(&mut end).map_err(fail)?;
        Ok(end)
    }

    /// Returns whether no other process has appended, and the files are still there.
    fn is_current(&self, end: &End) -> io::Result<bool> {
        let head = read_head(&end.head_file)?;
        let length = end.file.metadata()?.len();
        Ok(head.as_ref() == Some(&end.last) && length == end.length && !is_removed(&end.file)?)
    }

    /// Finds the end of the log. A log that ends before its head says so in its next record.
    fn find_end(&self, head_file: File) -> Result<End, Error> {
        let fail = |error: io::Error| from_io_error(&self.folder, &error);
        let head = read_head(&head_file).map_err(fail)?;
        let newest = files(&self.folder).map_err(fail)?.pop();
        let is_new = newest.is_none() && head.is_none();
        let path = newest.map_or_else(|| file_of(&self.folder, 1), |(_, path)| path);
        let file = open(&path).map_err(fail)?;
        let (length, last) = last_record(&file).map_err(fail)?;
        let last = match (last.map(|record| record.checkpoint()), length) {
            (Some(last), _) => last,
            (None, 0) => Checkpoint {
                seq: 0,
                hash: Hash::NONE,
            },
            (None, _) => {
                return Err(Error::Corrupt {
                    path,
                    detail: "its last line is not a record of an audit log".to_owned(),
                });
            }
        };
        let mut end = End {
            head_file,
            file,
            length,
            last,
        };
        let missing = match &head {
            Some(head) if head.seq > end.last.seq => Some(head.seq),
            None if !is_new => Some(end.last.seq),
            _ => None,
        };
        if let Some(known) = missing {
            let gap = AuditEntry {
                at: SystemTime::now(),
                principal: "local".to_owned(),
                tenant: "default".to_owned(),
                what: GAP,
                phase: Phase::Ended,
                resource: String::new(),
                kind: String::new(),
                outcome: "RECORDS_MISSING".to_owned(),
            };
            tracing::error!(
                folder = %self.folder.display(), last = end.last.seq, head = known,
                "the audit log ends before its head, or has lost it; run motorium audit verify"
            );
            self.write(&mut end, &gap, Some(known + 1)).map_err(fail)?;
        } else {
            write_head(&end.head_file, &end.last).map_err(fail)?;
        }
        Ok(end)
    }

    /// Begins a new file with the next record.
    pub(super) fn begin_file(&self, end: &mut End, seq: u64) -> io::Result<()> {
        end.file = open(&file_of(&self.folder, seq))?;
        end.length = 0;
        Ok(())
    }

    /// Writes a record, by default with the next number.
    pub(super) fn write(
        &self,
        end: &mut End,
        entry: &AuditEntry,
        seq: Option<u64>,
    ) -> io::Result<()> {
        let seq = seq.unwrap_or(end.last.seq + 1);
        let (line, last) = line(entry, seq, end.last.hash);
        if end.length > 0 && end.length + line.len() as u64 > self.max_file_bytes {
            self.begin_file(end, seq)?;
        }
        end.file.seek(SeekFrom::Start(end.length))?;
        if let Err(error) = end.file.write_all(line.as_bytes()) {
            // The part of a record that was written would be taken for damage.
            end.file.set_len(end.length)?;
            return Err(error);
        }
        if self.durability == Durability::Full {
            end.file.sync_data()?;
        }
        end.length += line.len() as u64;
        end.last = last;
        write_head(&end.head_file, &end.last)?;
        if self.durability == Durability::Full {
            end.head_file.sync_data()?;
        }
        Ok(())
    }
}

/// Unlocks the head after an append. A failed append has closed it, which unlocks it too.
fn unlocked(end: Result<End, Error>) -> Result<End, Error> {
    let end = end?;
    let unlocked = end.head_file.unlock();
    unlocked.map_err(|error| Error::Failed(Box::new(error)))?;
    Ok(end)
}

/// Returns the length of a file up to its last record, and that record. Cuts off a record that was not written whole, which
/// no caller was told of. Reads the end of the file only: with several writers, this happens at every append.
pub(super) fn last_record(file: &File) -> io::Result<(u64, Option<ReadRecord>)> {
    let size = file.metadata()?.len();
    let (start, content) = last_line(file, size)?;
    let whole = content.iter().rposition(|byte| *byte == b'\n');
    let length = start + whole.map_or(0, |at| at as u64 + 1);
    if length < size {
        file.set_len(length)?;
    }
    let lines = content.get(..whole.unwrap_or(0)).unwrap_or_default();
    let last = lines.rsplit(|byte| *byte == b'\n').next();
    let last = last.and_then(|line| read(str::from_utf8(line).ok()?));
    Ok((length, last))
}

/// Reads the end of a file from before the beginning of its last whole line. Returns the offset as well.
fn last_line(mut file: &File, size: u64) -> io::Result<(u64, Vec<u8>)> {
    let mut piece = TAIL_BYTES;
    loop {
        let start = size.saturating_sub(piece);
        let mut content = Vec::new();
        file.seek(SeekFrom::Start(start))?;
        file.take(size - start).read_to_end(&mut content)?;
        let ends = content.iter().filter(|byte| **byte == b'\n').take(2);
        if start == 0 || ends.count() == 2 {
            return Ok((start, content));
        }
        piece *= 2;
    }
}
