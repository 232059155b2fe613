//! Copies of the state of one executor: its journal and its lease, as a backup or a snapshot of its machine has them.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::time::Instant;

use crate::application::Application;

/// Interval of the copies.
const INTERVAL: Duration = Duration::from_millis(1_500);
/// Maximum number of kept copies.
const MAX_COPIES: usize = 6;
/// Number of actions by which a copy that is restored is older than the journal at least.
// Below it, the last action whose outcome the orchestrator knows may be in the copy: docs/threat-model.md, "Not defended".
const MIN_MISSING_ACTIONS: usize = 2;

#[derive(Debug)]
struct JournalCopy {
    folder: PathBuf,
    /// Number of inputs that the desktop had received before the copy was begun.
    received: usize,
}

/// Copies of the state folder of one executor.
#[derive(Debug)]
pub(crate) struct JournalCopies {
    state: PathBuf,
    copies: VecDeque<JournalCopy>,
    next_at: Instant,
    number: usize,
}

impl JournalCopies {
    /// Begins with the copies of the executor that has this data folder.
    pub(crate) fn of(data: &Path) -> Self {
        Self {
            state: data.join("executor"),
            copies: VecDeque::new(),
            next_at: Instant::now() + INTERVAL,
            number: 0,
        }
    }

    /// Copies the state while the executor runs, if the last copy is old enough.
    pub(crate) fn copy_if_due(&mut self, application: &Application) {
        if Instant::now() < self.next_at {
            return;
        }
        self.next_at = Instant::now() + INTERVAL;
        self.number += 1;
        let folder = self.state.with_extension(format!("copy{}", self.number));
        // An action that is written after the count and before the copy is in the copy, which only makes it newer.
        let received = application.received().len();
        // A file that is being replaced has another name for a moment: there is a next copy.
        if copy_folder(&self.state, &folder).is_err() {
            return;
        }
        self.copies.push_back(JournalCopy { folder, received });
        if self.copies.len() > MAX_COPIES {
            self.copies.pop_front();
        }
    }

    /// Returns whether a copy is old enough to be restored.
    pub(crate) fn has_older_copy(&self, application: &Application) -> bool {
        self.older(application).is_some()
    }

    /// Removes the state of the ended executor.
    pub(crate) fn lose(&mut self) {
        remove_state(&self.state);
    }

    /// Replaces the state of the ended executor by the newest copy that is old enough.
    pub(crate) fn restore_older(&mut self, application: &Application) {
        let Some(copy) = self.older(application) else {
            return;
        };
        remove_state(&self.state);
        copy_folder(&copy.folder, &self.state).expect("the copy is complete");
    }

    fn older(&self, application: &Application) -> Option<&JournalCopy> {
        let received = application.received().len();
        let is_older = |copy: &&JournalCopy| copy.received + MIN_MISSING_ACTIONS <= received;
        self.copies.iter().rev().find(is_older)
    }
}

fn remove_state(folder: &Path) {
    match fs::remove_dir_all(folder) {
        // It was lost before, and the executor was killed again before it had started.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        removed => removed.expect("it is the folder of a killed executor"),
    }
}

/// Copies a folder with its folders.
fn copy_folder(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let (entry, to) = (entry?.path(), to);
        let to = to.join(entry.file_name().unwrap_or_default());
        if entry.is_dir() {
            copy_folder(&entry, &to)?;
        } else {
            fs::copy(&entry, &to)?;
        }
    }
    Ok(())
}
