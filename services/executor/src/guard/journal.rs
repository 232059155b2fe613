//! Journal of actions for at-most-once execution: intent before the input, outcome after it.
//!
//! An append-only file of checksummed lines, with an index in memory. An intent is written before its input is sent.
//! An intent without an outcome at start-up was interrupted, and stays unknown. Only a keyed hash of each request is
//! stored: typed text can neither be read from the journal nor guessed without the key.
//!
//! A fenced id and a checkpoint are entries that stand for no request: an Executor of an earlier version reads them as
//! used ids of which nothing was sent, so a downgrade performs no fenced action either.
//!
//! A journal that was lost or replaced by an older copy is recognised by the entries that the caller knows it to have: the
//! checkpoint of its lease, and its last action. A folder that is a copy has no checkpoints ([`StateFolder::is_copy`]). Not
//! recognised is the loss of an action alone: a snapshot of the machine from between the last known action and this one, or,
//! without [`Retention::sync`], a power failure. An action that was performed and is
//! lost in this way is fenced as not started, and its caller may repeat it.
//!
//! Bounded: finished entries are evicted by count and age, oldest first, and the file is rewritten when most of it is
//! obsolete, and every hour if any of it is. "At most once" holds while an entry is kept. An entry that is evicted may be of the
//! current lease, if that has lasted for as many actions or as long, and a call of it that a proxy delivers then is performed again. To
//! refuse it, the journal would have to refuse every action of a lease that outlives its checkpoint.
//!
//! Invariants: an id is running in the index exactly between a [`Journal::begin`] that returned
//! [`BeginOutcome::Started`] and the matching [`Journal::finish`] or [`Journal::withdraw`]. While a checkpoint is in the
//! journal, so is every action that was recorded after it.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
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
/// Beginning of the names of checkpoints.
const CHECKPOINT: &str = "checkpoint/";

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
    /// The id was fenced: its action must not be performed.
    Fenced,
}

/// Progress of an action.
#[derive(Debug, Clone, PartialEq)]
pub enum EntryProgress {
    NotStarted,
    Running,
    Finished(ActionOutcome),
    Unknown,
    /// The action had not started, and never will.
    Fenced,
}

/// Entries that the caller of [`Journal::fence`] knows the journal to have, unless it was lost or is an older copy.
#[derive(Debug, Clone, Copy, Default)]
pub struct ExpectedEntries<'a> {
    /// Checkpoint from before the action was sent.
    pub checkpoint: Option<&'a str>,
    /// An action from before this one.
    pub last_action: Option<&'a ActionId>,
}

/// The journal of one desktop.
#[derive(Debug)]
pub struct Journal {
    folder: Arc<StateFolder>,
    file: File,
    key: [u8; 32],
    /// Digest of the entries that stand for no request.
    fence: Digest,
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
            // No request has an empty body: its display and its id are required.
            fence: digest(&key, &[]),
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
        if journal.folder.is_copy()? {
            journal.drop_checkpoints();
        }
        journal.evict(now);
        journal.rewrite()?;
        Ok(journal)
    }

    /// Drops all checkpoints: a copy may lack what was recorded after them.
    fn drop_checkpoints(&mut self) {
        let entries = &mut self.entries;
        self.order.retain(|id| {
            let is_checkpoint = id.starts_with(CHECKPOINT);
            if is_checkpoint {
                entries.remove(id);
            }
            !is_checkpoint
        });
    }

    /// The keyed hash of a request's body.
    #[must_use]
    pub fn digest(&self, body: &[u8]) -> Digest {
        digest(&self.key, body)
    }

    /// Returns the result of [`Journal::begin`] for an existing id without writing; `None` if the id is new.
    #[must_use]
    pub fn existing(&self, id: &ActionId, digest: Digest) -> Option<BeginOutcome> {
        let entry = self.entries.get(id.as_str())?;
        Some(match &entry.state {
            _ if entry.digest == self.fence => BeginOutcome::Fenced,
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
        self.append(std::slice::from_ref(&line))?;
        self.sync()?;
        self.apply(line);
        Ok(BeginOutcome::Started)
    }

    /// Fences an action that has not started, so that [`Journal::begin`] refuses its id from now on, also after a
    /// restart. Returns its progress. If the journal does not have the `known` entries from before the action was sent, the
    /// action may have been performed and forgotten, and its progress is unknown instead of fenced.
    ///
    /// # Errors
    /// If the fence cannot be written. The action may then still start.
    pub fn fence(
        &mut self,
        id: &ActionId,
        known: ExpectedEntries<'_>,
        now: SystemTime,
    ) -> Result<EntryProgress, StorageError> {
        // Before the fence is written, which may evict the checkpoint.
        let is_complete = known.checkpoint.is_none_or(|name| self.is_reserved(name))
            && known
                .last_action
                .is_none_or(|id| self.entries.contains_key(id.as_str()));
        if !self.entries.contains_key(id.as_str()) {
            self.reserve(id.as_str(), is_complete, now)?;
        }
        Ok(match self.look_up(id) {
            EntryProgress::Fenced if !is_complete => EntryProgress::Unknown,
            progress => progress,
        })
    }

    /// Records a checkpoint and returns its name, by which [`Journal::fence`] recognises this journal later.
    ///
    /// # Errors
    /// If the checkpoint cannot be written.
    pub fn checkpoint(&mut self, now: SystemTime) -> Result<String, StorageError> {
        let number = u128::from_le_bytes(random(&self.folder.path(FILE))?);
        let name = format!("{CHECKPOINT}{number:032x}");
        self.reserve(&name, true, now)?;
        Ok(name)
    }

    /// Records an id that no request may use: as never started, or without an outcome if the journal may have lost one.
    fn reserve(
        &mut self,
        id: &str,
        is_complete: bool,
        now: SystemTime,
    ) -> Result<(), StorageError> {
        let intent = JournalLine::Intent {
            id: id.to_owned(),
            digest: self.fence,
            at_ms: milliseconds(now),
        };
        let nothing_sent = ActionOutcome::cancelled_unsent("fenced before it started");
        let outcome = is_complete.then(|| JournalLine::Outcome {
            id: id.to_owned(),
            outcome: (&nothing_sent).into(),
        });
        let lines: Vec<JournalLine> = [intent].into_iter().chain(outcome).collect();
        self.append(&lines)?;
        self.sync()?;
        for line in lines {
            self.apply(line);
        }
        if !is_complete && let Some(entry) = self.entries.get_mut(id) {
            // Nothing runs: the entry is as it would be read back.
            entry.state = ActionState::Unknown;
        }
        self.evict(now);
        self.compact()
    }

    fn is_reserved(&self, id: &str) -> bool {
        let entry = self.entries.get(id);
        entry.is_some_and(|entry| entry.digest == self.fence)
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
        let written = self.append(std::slice::from_ref(&line));
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
        let written = self.append(std::slice::from_ref(&line));
        self.apply(line);
        written
    }

    /// Progress of an action.
    #[must_use]
    pub fn look_up(&self, id: &ActionId) -> EntryProgress {
        match self.entries.get(id.as_str()).map(|entry| &entry.state) {
            None => EntryProgress::NotStarted,
            Some(ActionState::Finished(_)) if self.is_reserved(id.as_str()) => {
                EntryProgress::Fenced
            }
            Some(ActionState::Running) => EntryProgress::Running,
            Some(ActionState::Unknown) => EntryProgress::Unknown,
            Some(ActionState::Finished(outcome)) => EntryProgress::Finished(outcome.clone()),
        }
    }

    fn append(&mut self, lines: &[JournalLine]) -> Result<(), StorageError> {
        if self.torn {
            // The rewrite also includes entries whose lines could not be written.
            self.rewrite()?;
        }
        let content: Vec<u8> = lines.iter().flat_map(encode).collect();
        let written = self.file.write_all(&content);
        self.torn = written.is_err();
        self.lines += lines.len();
        written.map_err(|source| at(&self.folder.path(FILE), source))
    }

    fn sync(&self) -> Result<(), StorageError> {
        if !self.retention.sync {
            return Ok(());
        }
        let synced = self.file.sync_data();
        synced.map_err(|source| at(&self.folder.path(FILE), source))
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

    /// Removes entries beyond the maximum age from the file. Entries are also evicted when others are recorded; a desktop that is not
    /// used records none.
    ///
    /// # Errors
    /// If the file cannot be rewritten.
    pub fn expire(&mut self, now: SystemTime) -> Result<(), StorageError> {
        self.evict(now);
        // Two lines of a finished entry, one of any other.
        let needed: usize = self.order.iter().map(|id| self.lines_of(id).count()).sum();
        if self.lines > needed {
            self.rewrite()?;
        }
        Ok(())
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
    let key = random(&path)?;
    folder.replace(KEY_FILE, &key)?;
    Ok(key)
}

/// Returns random bytes for the content of a file.
fn random<const N: usize>(file: &Path) -> Result<[u8; N], StorageError> {
    let mut bytes = [0; N];
    rand::rngs::OsRng
        .try_fill_bytes(&mut bytes)
        .map_err(|error| at(file, std::io::Error::other(error)))?;
    Ok(bytes)
}

fn digest(key: &[u8; 32], body: &[u8]) -> Digest {
    let mut hash = Hmac::<Sha256>::new_from_slice(key).expect("HMAC accepts keys of any length");
    hash.update(body);
    hash.finalize().into_bytes().into()
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
    fn old_entries_leave_the_file_of_an_unused_journal() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = open(folder.path());
        begin(&mut journal, "old", "click");
        finish(&mut journal, "old");
        begin(&mut journal, "running", "click");
        let stored = || std::fs::read_to_string(folder.path().join(FILE)).unwrap();
        journal.expire(at_second(110)).unwrap();
        assert!(
            stored().contains("\"old\""),
            "not older than the maximum age"
        );
        journal.expire(at_second(111)).unwrap();
        assert!(!stored().contains("\"old\""));
        assert!(stored().contains("\"running\""));
        let written = std::fs::metadata(folder.path().join(FILE)).unwrap();
        journal.expire(at_second(112)).unwrap();
        let again = std::fs::metadata(folder.path().join(FILE)).unwrap();
        assert_eq!(
            written.modified().unwrap(),
            again.modified().unwrap(),
            "nothing is written without need"
        );
        assert_eq!(begin(&mut journal, "old", "click"), BeginOutcome::Started);
    }

    fn fence(journal: &mut Journal, id: &str, checkpoint: Option<&str>) -> EntryProgress {
        let known = ExpectedEntries {
            checkpoint,
            last_action: None,
        };
        journal
            .fence(&ActionId::new(id), known, at_second(10))
            .unwrap()
    }

    #[test]
    fn fenced_action_never_starts() {
        let folder = tempfile::tempdir().unwrap();
        for _ in 0..2 {
            let mut journal = open(folder.path());
            assert_eq!(fence(&mut journal, "a", None), EntryProgress::Fenced);
            assert_eq!(begin(&mut journal, "a", "click"), BeginOutcome::Fenced);
            assert_eq!(journal.look_up(&ActionId::new("a")), EntryProgress::Fenced);
        }
    }

    #[test]
    fn fence_changes_no_action_that_has_started() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = open(folder.path());
        begin(&mut journal, "a", "click");
        assert_eq!(fence(&mut journal, "a", None), EntryProgress::Running);
        let outcome = finish(&mut journal, "a");
        let finished = EntryProgress::Finished(outcome);
        assert_eq!(fence(&mut journal, "a", None), finished);
        begin(&mut journal, "b", "click");
        drop(journal);
        let mut journal = open(folder.path());
        assert_eq!(fence(&mut journal, "a", None), finished);
        assert_eq!(fence(&mut journal, "b", None), EntryProgress::Unknown);
        assert_eq!(
            begin(&mut journal, "b", "click"),
            BeginOutcome::OutcomeUnknown
        );
        begin(&mut journal, "c", "click");
        journal.withdraw(&ActionId::new("c")).unwrap();
        assert_eq!(fence(&mut journal, "c", None), EntryProgress::Fenced);
        assert_eq!(begin(&mut journal, "c", "click"), BeginOutcome::Fenced);
    }

    #[test]
    fn fence_that_a_crash_cut_still_holds() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE);
        let mut journal = open(folder.path());
        fence(&mut journal, "a", None);
        drop(journal);
        let whole = std::fs::read(&path).unwrap();
        let first_line = whole.iter().position(|byte| *byte == b'\n').unwrap() + 1;
        for cut in first_line..=whole.len() {
            std::fs::write(&path, &whole[..cut]).unwrap();
            let mut journal = open(folder.path());
            let begun = begin(&mut journal, "a", "click");
            assert_eq!(begun, BeginOutcome::Fenced, "cut at {cut}");
        }
    }

    #[test]
    fn journal_without_the_checkpoint_cannot_tell_what_was_not_started() {
        let folder = tempfile::tempdir().unwrap();
        let older = tempfile::tempdir().unwrap();
        drop(open(folder.path()));
        copy(folder.path(), older.path(), &[FILE, KEY_FILE]);
        let mut journal = open(folder.path());
        let checkpoint = journal.checkpoint(at_second(10)).unwrap();
        let checkpoint = Some(checkpoint.as_str());
        assert_eq!(fence(&mut journal, "a", checkpoint), EntryProgress::Fenced);
        drop(journal);
        let mut journal = open(folder.path());
        assert_eq!(fence(&mut journal, "b", checkpoint), EntryProgress::Fenced);

        let lost = tempfile::tempdir().unwrap();
        let without_entries = tempfile::tempdir().unwrap();
        copy(folder.path(), without_entries.path(), &[KEY_FILE]);
        let without_key = tempfile::tempdir().unwrap();
        copy(folder.path(), without_key.path(), &[FILE]);
        for path in [&older, &lost, &without_entries, &without_key] {
            // Twice: a caller that crashed asks again.
            for _ in 0..2 {
                let mut journal = open(path.path());
                let progress = fence(&mut journal, "c", checkpoint);
                assert_eq!(progress, EntryProgress::Unknown);
                assert_eq!(fence(&mut journal, "c", None), EntryProgress::Unknown);
                assert_eq!(begin(&mut journal, "c", "click"), BeginOutcome::Fenced);
            }
        }
    }

    #[test]
    fn copy_from_before_the_last_known_action_leaves_the_outcome_unknown() {
        let (folder, older) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut journal = open(folder.path());
        let checkpoint = journal.checkpoint(at_second(10)).unwrap();
        // Within the same lease: the copy has its checkpoint.
        copy(folder.path(), older.path(), &[FILE, KEY_FILE]);
        for id in ["known", "lost"] {
            begin(&mut journal, id, "click");
            finish(&mut journal, id);
        }
        let last = ActionId::new("known");
        let known = ExpectedEntries {
            checkpoint: Some(&checkpoint),
            last_action: Some(&last),
        };
        let fence = |journal: &mut Journal, id: &str| {
            let id = ActionId::new(id);
            journal.fence(&id, known, at_second(10)).unwrap()
        };
        assert_eq!(fence(&mut journal, "new"), EntryProgress::Fenced);
        let mut restored = open(older.path());
        assert_eq!(fence(&mut restored, "lost"), EntryProgress::Unknown);
    }

    fn copy(from: &Path, to: &Path, names: &[&str]) {
        for name in names {
            std::fs::copy(from.join(name), to.join(name)).unwrap();
        }
    }

    #[test]
    fn copied_folder_has_no_checkpoints() {
        let (folder, copied) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut journal = open(folder.path());
        let checkpoint = journal.checkpoint(at_second(10)).unwrap();
        journal.folder.confirm().unwrap();
        begin(&mut journal, "known", "click");
        finish(&mut journal, "known");
        // With everything that the caller knows it to have.
        copy(
            folder.path(),
            copied.path(),
            &[FILE, KEY_FILE, "lock", "identity"],
        );
        let kept = Some(checkpoint.as_str());
        assert_eq!(fence(&mut journal, "new", kept), EntryProgress::Fenced);
        let mut journal = open(copied.path());
        assert_eq!(fence(&mut journal, "new", kept), EntryProgress::Unknown);
        assert!(matches!(
            journal.look_up(&ActionId::new("known")),
            EntryProgress::Finished(_)
        ));
    }

    #[test]
    fn checkpoint_is_evicted_before_the_actions_after_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = open(folder.path());
        let checkpoint = journal.checkpoint(at_second(10)).unwrap();
        let kept = Some(checkpoint.as_str());
        for id in ["a", "b"] {
            begin(&mut journal, id, "click");
            finish(&mut journal, id);
        }
        assert_eq!(fence(&mut journal, "c", kept), EntryProgress::Fenced);
        assert_eq!(fence(&mut journal, "d", kept), EntryProgress::Unknown);
    }

    #[test]
    fn fences_and_checkpoints_are_bounded_too() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = open(folder.path());
        for nth in 0..1_000 {
            fence(&mut journal, &format!("task/step/{nth}"), None);
            journal.checkpoint(at_second(10)).unwrap();
        }
        assert_eq!(journal.entries.len(), KEPT.max_entries);
        assert!(journal.lines < 1_100, "{} lines", journal.lines);
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
