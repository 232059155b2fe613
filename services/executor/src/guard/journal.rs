//! Journal of actions for at-most-once execution: intent before the input, outcome after it.
//!
//! An append-only file of checksummed lines, with an index in memory. An intent is written before its input is sent.
//! An intent without an outcome at start-up was interrupted, and stays unknown. Only a keyed hash of each request is
//! stored: typed text can neither be read from the journal nor guessed without the key.
//!
//! Bounded: finished entries are evicted by count and age, and the file is rewritten when most of it is obsolete. "At
//! most once" holds while an entry is kept. After that the caller's lease is no longer valid.
//!
//! Invariant: an id is running in the index exactly between a [`Journal::begin`] that returned
//! [`BeginOutcome::Started`] and the matching [`Journal::finish`] or [`Journal::withdraw`].

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use hmac::{Hmac, KeyInit as _, Mac as _};
use motorium_proto::domain::effect::{ActionOutcome, ActionResult};
use motorium_proto::domain::geometry::CapturePoint;
use motorium_proto::domain::id::ActionId;
use rand::TryRngCore as _;
use serde::{Deserialize, Serialize};
use sha2::Sha256;
use xxhash_rust::xxh3::xxh3_64;

use super::storage::{StateFolder, StorageError, at};

const FILE: &str = "journal";
const KEY_FILE: &str = "journal.key";

/// The keyed hash of a request's body.
pub type Digest = [u8; 32];

/// Retention settings of the journal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Maximum number of finished entries.
    pub max_entries: usize,
    /// Maximum age of a finished entry.
    pub max_age: Duration,
    /// Sync each intent to disk before the input is sent. Without it a power failure may lose the last actions; a
    /// crash of the process does not.
    pub sync: bool,
}

/// Result of [`Journal::begin`].
#[derive(Debug, Clone, PartialEq)]
pub enum BeginOutcome {
    /// The action is new: perform it, then call [`Journal::finish`].
    Started,
    /// The action was performed before, with this outcome.
    AlreadyFinished(ActionOutcome),
    /// The action was started before, and its outcome is unknown.
    OutcomeUnknown,
    /// The id was used for a different action.
    IdReused,
}

/// Progress of an action.
#[derive(Debug, Clone, PartialEq)]
pub enum EntryProgress {
    NotStarted,
    Running,
    Finished(ActionOutcome),
    Unknown,
}

/// The journal of one desktop.
#[derive(Debug)]
pub struct Journal {
    folder: Arc<StateFolder>,
    file: File,
    key: [u8; 32],
    retention: Retention,
    entries: HashMap<String, Entry>,
    /// Ids in start order.
    order: VecDeque<String>,
    /// Number of lines in the file.
    lines: usize,
    /// The last line may be incomplete, as after a full disk. Appending to it would make the file unreadable.
    torn: bool,
}

#[derive(Debug, Clone)]
struct Entry {
    digest: Digest,
    begun_at: SystemTime,
    state: ActionState,
}

#[derive(Debug, Clone)]
enum ActionState {
    Running,
    Finished(ActionOutcome),
    Unknown,
}

/// A line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum JournalLine {
    Intent {
        id: String,
        #[serde(with = "hex")]
        digest: Digest,
        at_ms: u64,
    },
    Outcome {
        id: String,
        outcome: StoredOutcome,
    },
    /// Nothing was sent: the id is unused again.
    Withdrawn {
        id: String,
    },
}

impl Journal {
    /// Opens or creates the journal of a folder.
    ///
    /// # Errors
    /// If the file cannot be read or written, or is damaged anywhere but in its last line.
    pub fn open(
        folder: Arc<StateFolder>,
        retention: Retention,
        now: SystemTime,
    ) -> Result<Self, StorageError> {
        let key = key(&folder)?;
        let content = folder.read(FILE)?.unwrap_or_default();
        let lines = parse(&content).map_err(|what| StorageError::Damaged {
            path: folder.path(FILE),
            what,
        })?;
        let file = folder.append(FILE)?;
        let mut journal = Self {
            folder,
            file,
            key,
            retention,
            entries: HashMap::new(),
            order: VecDeque::new(),
            lines: lines.len(),
            torn: false,
        };
        for line in lines {
            journal.apply(line);
        }
        // The process that wrote these intents has ended.
        for entry in journal
            .entries
            .values_mut()
            .filter(|entry| matches!(entry.state, ActionState::Running))
        {
            entry.state = ActionState::Unknown;
        }
        journal.evict(now);
        journal.rewrite()?;
        Ok(journal)
    }

    /// The keyed hash of a request's body.
    #[must_use]
    pub fn digest(&self, body: &[u8]) -> Digest {
        let mut hash =
            Hmac::<Sha256>::new_from_slice(&self.key).expect("HMAC accepts keys of any length");
        hash.update(body);
        hash.finalize().into_bytes().into()
    }

    /// Returns the result of [`Journal::begin`] for an existing id without writing; `None` if the id is new.
    #[must_use]
    pub fn existing(&self, id: &ActionId, digest: Digest) -> Option<BeginOutcome> {
        let entry = self.entries.get(id.as_str())?;
        Some(match &entry.state {
            _ if entry.digest != digest => BeginOutcome::IdReused,
            ActionState::Finished(outcome) => BeginOutcome::AlreadyFinished(outcome.clone()),
            ActionState::Running | ActionState::Unknown => BeginOutcome::OutcomeUnknown,
        })
    }

    /// Records the intent of an action, unless the id exists.
    ///
    /// # Errors
    /// If the intent cannot be written. Then the action must not be performed.
    pub fn begin(
        &mut self,
        id: &ActionId,
        digest: Digest,
        now: SystemTime,
    ) -> Result<BeginOutcome, StorageError> {
        if let Some(known) = self.existing(id, digest) {
            return Ok(known);
        }
        let line = JournalLine::Intent {
            id: id.as_str().to_owned(),
            digest,
            at_ms: milliseconds(now),
        };
        self.append(&line)?;
        if self.retention.sync {
            self.file
                .sync_data()
                .map_err(|source| at(&self.folder.path(FILE), source))?;
        }
        self.apply(line);
        Ok(BeginOutcome::Started)
    }

    /// Records the outcome of an action.
    ///
    /// The outcome is kept in memory even if writing fails. After a restart it is then unknown.
    ///
    /// # Errors
    /// If the line cannot be written.
    pub fn finish(
        &mut self,
        id: &ActionId,
        outcome: &ActionOutcome,
        now: SystemTime,
    ) -> Result<(), StorageError> {
        let line = JournalLine::Outcome {
            id: id.as_str().to_owned(),
            outcome: outcome.into(),
        };
        let written = self.append(&line);
        self.apply(line);
        self.evict(now);
        written?;
        self.compact()
    }

    /// Records that nothing was sent for an action, so that the id may be used again.
    ///
    /// # Errors
    /// If the line cannot be written.
    pub fn withdraw(&mut self, id: &ActionId) -> Result<(), StorageError> {
        let line = JournalLine::Withdrawn {
            id: id.as_str().to_owned(),
        };
        let written = self.append(&line);
        self.apply(line);
        written
    }

    /// Progress of an action.
    #[must_use]
    pub fn look_up(&self, id: &ActionId) -> EntryProgress {
        match self.entries.get(id.as_str()).map(|entry| &entry.state) {
            None => EntryProgress::NotStarted,
            Some(ActionState::Running) => EntryProgress::Running,
            Some(ActionState::Unknown) => EntryProgress::Unknown,
            Some(ActionState::Finished(outcome)) => EntryProgress::Finished(outcome.clone()),
        }
    }

    fn append(&mut self, line: &JournalLine) -> Result<(), StorageError> {
        if self.torn {
            // The rewrite also includes entries whose lines could not be written.
            self.rewrite()?;
        }
        let written = self.file.write_all(&encode(line));
        self.torn = written.is_err();
        self.lines += 1;
        written.map_err(|source| at(&self.folder.path(FILE), source))
    }

    fn apply(&mut self, line: JournalLine) {
        match line {
            JournalLine::Intent { id, digest, at_ms } => {
                let begun_at = SystemTime::UNIX_EPOCH + Duration::from_millis(at_ms);
                self.order.push_back(id.clone());
                self.entries.insert(
                    id,
                    Entry {
                        digest,
                        begun_at,
                        state: ActionState::Running,
                    },
                );
            }
            JournalLine::Outcome { id, outcome } => {
                if let Some(entry) = self.entries.get_mut(&id) {
                    entry.state = outcome.into();
                }
            }
            JournalLine::Withdrawn { id } => {
                self.entries.remove(&id);
                self.order.retain(|known| *known != id);
            }
        }
    }

    /// Evicts entries beyond the maximum count or age. Running entries are kept.
    fn evict(&mut self, now: SystemTime) {
        while let Some(oldest) = self.order.front() {
            let Some(entry) = self.entries.get(oldest) else {
                self.order.pop_front();
                continue;
            };
            let too_many = self.entries.len() > self.retention.max_entries;
            let too_old = now
                .duration_since(entry.begun_at)
                .is_ok_and(|age| age > self.retention.max_age);
            if matches!(entry.state, ActionState::Running) || !(too_many || too_old) {
                return;
            }
            self.entries.remove(oldest);
            self.order.pop_front();
        }
    }

    /// Rewrites the file once most of its lines belong to evicted entries.
    fn compact(&mut self) -> Result<(), StorageError> {
        /// Below this size a rewrite costs more than it saves.
        const MIN_LINES_TO_COMPACT: usize = 1_000;
        // Two lines per entry: intent and outcome.
        let needed = 2 * self.entries.len();
        if self.lines < MIN_LINES_TO_COMPACT || self.lines < 2 * needed {
            return Ok(());
        }
        self.rewrite()
    }

    fn rewrite(&mut self) -> Result<(), StorageError> {
        // Set until the rewrite has succeeded: an interrupted one leaves `file` pointing to the old, replaced file.
        self.torn = true;
        let lines: Vec<JournalLine> = self.order.iter().flat_map(|id| self.lines_of(id)).collect();
        let content: Vec<u8> = lines.iter().flat_map(encode).collect();
        self.folder.replace(FILE, &content)?;
        self.file = self.folder.append(FILE)?;
        self.lines = lines.len();
        self.torn = false;
        Ok(())
    }

    fn lines_of(&self, id: &str) -> impl Iterator<Item = JournalLine> + use<> {
        let lines = self.entries.get(id).map(|entry| {
            let intent = JournalLine::Intent {
                id: id.to_owned(),
                digest: entry.digest,
                at_ms: milliseconds(entry.begun_at),
            };
            let outcome = match &entry.state {
                // Without an outcome line the entry is read back as unknown.
                ActionState::Running | ActionState::Unknown => None,
                ActionState::Finished(outcome) => Some(JournalLine::Outcome {
                    id: id.to_owned(),
                    outcome: outcome.into(),
                }),
            };
            (intent, outcome)
        });
        lines
            .into_iter()
            .flat_map(|(intent, outcome)| std::iter::once(intent).chain(outcome))
    }
}

/// Returns this desktop's hash key, which is created at the first start.
fn key(folder: &StateFolder) -> Result<[u8; 32], StorageError> {
    let path = folder.path(KEY_FILE);
    if let Some(content) = folder.read(KEY_FILE)? {
        return content.try_into().map_err(|_| StorageError::Damaged {
            path,
            what: "it is not a key of 32 bytes".to_owned(),
        });
    }
    let mut key = [0; 32];
    rand::rngs::OsRng
        .try_fill_bytes(&mut key)
        .map_err(|error| at(&path, std::io::Error::other(error)))?;
    folder.replace(KEY_FILE, &key)?;
    Ok(key)
}

fn milliseconds(time: SystemTime) -> u64 {
    let since = time
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Encodes a line: checksum, space, JSON, newline.
fn encode(line: &JournalLine) -> Vec<u8> {
    let json = serde_json::to_string(line).expect("a line is always serialisable");
    format!("{:016x} {json}\n", xxh3_64(json.as_bytes())).into_bytes()
}

/// Parses the lines of a file. An incomplete last line, as after a power failure, is dropped.
fn parse(content: &[u8]) -> Result<Vec<JournalLine>, String> {
    let mut parts: Vec<&[u8]> = content.split(|byte| *byte == b'\n').collect();
    // The text after the last newline: empty, or an incomplete line.
    parts.pop();
    let count = parts.len();
    let mut lines = Vec::with_capacity(count);
    for (number, part) in parts.into_iter().enumerate() {
        match decode(part) {
            Some(line) => lines.push(line),
            None if number + 1 == count => {}
            None => {
                return Err(format!(
                    "line {} of {count} does not match its checksum",
                    number + 1
                ));
            }
        }
    }
    Ok(lines)
}

fn decode(part: &[u8]) -> Option<JournalLine> {
    let text = std::str::from_utf8(part).ok()?;
    let (checksum, json) = text.split_once(' ')?;
    let is_whole = u64::from_str_radix(checksum, 16).ok()? == xxh3_64(json.as_bytes());
    is_whole.then(|| serde_json::from_str(json).ok()).flatten()
}

/// The stored form of an outcome.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredOutcome {
    result: StoredResult,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    detail: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pointer: Option<(i32, i32)>,
    elapsed_ns: u64,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    sent_nothing: bool,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredResult {
    Performed,
    Refused,
    Failed,
    Unknown,
    Cancelled,
}

impl From<&ActionOutcome> for StoredOutcome {
    fn from(outcome: &ActionOutcome) -> Self {
        Self {
            result: match outcome.result {
                ActionResult::Performed => StoredResult::Performed,
                ActionResult::Refused => StoredResult::Refused,
                ActionResult::Failed => StoredResult::Failed,
                ActionResult::Unknown => StoredResult::Unknown,
                ActionResult::Cancelled => StoredResult::Cancelled,
            },
            rule: outcome.rule.clone(),
            detail: outcome.detail.clone(),
            pointer: outcome.pointer.map(|point| (point.x, point.y)),
            elapsed_ns: u64::try_from(outcome.elapsed.as_nanos()).unwrap_or(u64::MAX),
            sent_nothing: outcome.sent_nothing,
        }
    }
}

impl From<StoredOutcome> for ActionState {
    fn from(stored: StoredOutcome) -> Self {
        ActionState::Finished(ActionOutcome {
            result: match stored.result {
                StoredResult::Performed => ActionResult::Performed,
                StoredResult::Refused => ActionResult::Refused,
                StoredResult::Failed => ActionResult::Failed,
                StoredResult::Unknown => ActionResult::Unknown,
                StoredResult::Cancelled => ActionResult::Cancelled,
            },
            rule: stored.rule,
            detail: stored.detail,
            pointer: stored.pointer.map(|(x, y)| CapturePoint::new(x, y)),
            elapsed: Duration::from_nanos(stored.elapsed_ns),
            already_performed: false,
            sent_nothing: stored.sent_nothing,
        })
    }
}

/// Serialises a digest as hexadecimal text.
mod hex {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    use super::Digest;

    pub(super) fn serialize<S: Serializer>(
        digest: &Digest,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(
            &digest
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect::<String>(),
        )
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Digest, D::Error> {
        let text = String::deserialize(deserializer)?;
        let byte = |nth: usize| {
            text.get(2 * nth..2 * nth + 2)
                .and_then(|pair| u8::from_str_radix(pair, 16).ok())
        };
        let mut digest = Digest::default();
        for (nth, slot) in digest.iter_mut().enumerate() {
            *slot = byte(nth).ok_or_else(|| D::Error::custom("not a digest"))?;
        }
        Ok(digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEPT: Retention = Retention {
        max_entries: 3,
        max_age: Duration::from_secs(100),
        sync: true,
    };

    fn at_second(second: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(second)
    }

    fn open(path: &std::path::Path) -> Journal {
        Journal::open(
            Arc::new(StateFolder::open(path).unwrap()),
            KEPT,
            at_second(10),
        )
        .unwrap()
    }

    fn begin(journal: &mut Journal, id: &str, body: &str) -> BeginOutcome {
        let digest = journal.digest(body.as_bytes());
        journal
            .begin(&ActionId::new(id), digest, at_second(10))
            .unwrap()
    }

    fn finish(journal: &mut Journal, id: &str) -> ActionOutcome {
        let mut outcome = ActionOutcome::new(ActionResult::Performed, "done");
        outcome.pointer = Some(CapturePoint::new(3, 4));
        outcome.elapsed = Duration::from_micros(1500);
        journal
            .finish(&ActionId::new(id), &outcome, at_second(10))
            .unwrap();
        outcome
    }

    #[test]
    fn action_id_starts_only_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = open(folder.path());
        assert_eq!(
            journal.look_up(&ActionId::new("a")),
            EntryProgress::NotStarted
        );
        assert_eq!(begin(&mut journal, "a", "click"), BeginOutcome::Started);
        assert_eq!(journal.look_up(&ActionId::new("a")), EntryProgress::Running);
        let outcome = finish(&mut journal, "a");
        assert_eq!(
            begin(&mut journal, "a", "click"),
            BeginOutcome::AlreadyFinished(outcome.clone())
        );
        assert_eq!(begin(&mut journal, "a", "type"), BeginOutcome::IdReused);
        drop(journal);
        let mut journal = open(folder.path());
        assert_eq!(
            begin(&mut journal, "a", "click"),
            BeginOutcome::AlreadyFinished(outcome.clone()),
            "across a restart"
        );
        assert_eq!(
            begin(&mut journal, "a", "type"),
            BeginOutcome::IdReused,
            "the key is persistent"
        );
        assert_eq!(
            journal.look_up(&ActionId::new("a")),
            EntryProgress::Finished(outcome)
        );
    }

    #[test]
    fn interrupted_action_has_an_unknown_outcome() {
        let folder = tempfile::tempdir().unwrap();
        begin(&mut open(folder.path()), "a", "click");
        for _ in 0..2 {
            let mut journal = open(folder.path());
            assert_eq!(
                begin(&mut journal, "a", "click"),
                BeginOutcome::OutcomeUnknown
            );
            assert_eq!(journal.look_up(&ActionId::new("a")), EntryProgress::Unknown);
        }
    }

    #[test]
    fn withdrawn_action_can_be_started_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = open(folder.path());
        begin(&mut journal, "a", "click");
        journal.withdraw(&ActionId::new("a")).unwrap();
        drop(journal);
        assert_eq!(
            begin(&mut open(folder.path()), "a", "click"),
            BeginOutcome::Started
        );
    }

    #[test]
    fn truncated_tail_is_dropped_and_corruption_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let mut journal = open(folder.path());
        begin(&mut journal, "a", "one");
        begin(&mut journal, "b", "two");
        drop(journal);
        let whole = std::fs::read(&path).unwrap();
        for cut in whole.len() / 2 + 1..whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let journal = open(folder.path());
            assert_eq!(
                journal.look_up(&ActionId::new("a")),
                EntryProgress::Unknown,
                "cut at {cut}"
            );
            assert_eq!(
                journal.look_up(&ActionId::new("b")),
                EntryProgress::NotStarted,
                "cut at {cut}"
            );
        }
        let mut damaged = whole;
        damaged[30] ^= 1;
        std::fs::write(&path, damaged).unwrap();
        let opened = Journal::open(
            Arc::new(StateFolder::open(folder.path()).unwrap()),
            KEPT,
            at_second(10),
        );
        assert!(matches!(opened, Err(StorageError::Damaged { .. })));
    }

    #[test]
    fn the_journal_is_bounded_by_number_and_age() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = open(folder.path());
        for nth in 0..2_000 {
            let id = format!("task/step/{nth}");
            begin(&mut journal, &id, "click");
            finish(&mut journal, &id);
        }
        assert_eq!(journal.entries.len(), KEPT.max_entries);
        assert!(journal.lines < 1_100, "{} lines", journal.lines);
        drop(journal);
        let journal = Journal::open(
            Arc::new(StateFolder::open(folder.path()).unwrap()),
            KEPT,
            at_second(10_000),
        )
        .unwrap();
        assert!(journal.entries.is_empty());
    }

    #[test]
    fn journal_does_not_reveal_request_contents() {
        let folder = tempfile::tempdir().unwrap();
        begin(&mut open(folder.path()), "a", "my diary");
        let content = std::fs::read_to_string(folder.path().join(FILE)).unwrap();
        assert!(!content.contains("diary"));
        let plain = <Sha256 as sha2::Digest>::digest(b"my diary");
        let plain: String = plain.iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(
            !content.contains(&plain),
            "a plain hash of a short text can be guessed"
        );
    }
}
