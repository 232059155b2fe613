//! What has been performed, so that it is never performed again: intent before, outcome after.
//!
//! An append-only file of checked lines, with an index in memory. An intent is on the disk before the input it is
//! about; an intent without an outcome, found at the start, was interrupted and counts as unknown for ever. Of a
//! request only a keyed hash is kept: what was typed cannot be read from the journal, nor guessed without its key.
//!
//! Bounded: finished entries are forgotten by number and by age, and the file is rewritten when most of it is
//! forgotten. "At most once" therefore holds for as long as an entry is kept, and beyond that because a caller of old
//! has no live lease any more.
//!
//! Invariant: an id is in the index as running exactly while [`Journal::begin`] has answered [`Begun::Now`] for it and
//! neither [`Journal::finish`] nor [`Journal::withdraw`] has been called.

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

use super::storage::{Folder, StorageError, at};

const FILE: &str = "journal";
const KEY_FILE: &str = "journal.key";

/// The keyed hash of a request's body.
pub type Digest = [u8; 32];

/// How the journal is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Finished entries that are kept at most.
    pub entries: usize,
    /// How long they are kept.
    pub age: Duration,
    /// Whether an intent must have reached the disk, and not only the operating system, before the input is sent.
    /// Without it a power cut may forget the last actions; the death of the process does not.
    pub sync: bool,
}

/// Answer to [`Journal::begin`].
#[derive(Debug, Clone, PartialEq)]
pub enum Begun {
    /// It is new: perform it, then say how it went.
    Now,
    /// It was performed before, with this outcome.
    Before(ActionOutcome),
    /// It was begun before and nobody knows how it ended.
    Unknown,
    /// The id was used for something else.
    Reused,
}

/// How far an action came.
#[derive(Debug, Clone, PartialEq)]
pub enum Progress {
    NotStarted,
    Running,
    Finished(ActionOutcome),
    Unknown,
}

/// The journal of one desktop.
#[derive(Debug)]
pub struct Journal {
    folder: Arc<Folder>,
    file: File,
    key: [u8; 32],
    retention: Retention,
    entries: HashMap<String, Entry>,
    /// Ids in the order in which they were begun.
    order: VecDeque<String>,
    /// Lines in the file.
    lines: usize,
    /// A line may have been written by half, as on a full disk. What followed it would make the file unreadable.
    torn: bool,
}

#[derive(Debug, Clone)]
struct Entry {
    digest: Digest,
    begun_at: SystemTime,
    state: State,
}

#[derive(Debug, Clone)]
enum State {
    Running,
    Finished(ActionOutcome),
    Unknown,
}

/// One line of the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Line {
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
    /// Nothing had been sent: the id is free again.
    Withdrawn {
        id: String,
    },
}

impl Journal {
    /// Opens the journal of a folder; a new one if there is none.
    ///
    /// # Errors
    /// If it cannot be read or written, or is damaged elsewhere than at its torn end.
    pub fn open(
        folder: Arc<Folder>,
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
        // Whoever wrote these intents is gone.
        for entry in journal
            .entries
            .values_mut()
            .filter(|entry| matches!(entry.state, State::Running))
        {
            entry.state = State::Unknown;
        }
        journal.forget(now);
        journal.rewrite()?;
        Ok(journal)
    }

    /// The keyed hash of a request's body.
    #[must_use]
    pub fn digest(&self, body: &[u8]) -> Digest {
        let mut hash =
            Hmac::<Sha256>::new_from_slice(&self.key).expect("a key of any length will do");
        hash.update(body);
        hash.finalize().into_bytes().into()
    }

    /// What [`Journal::begin`] would answer without writing anything; `None` if the id is new.
    #[must_use]
    pub fn known(&self, id: &ActionId, digest: Digest) -> Option<Begun> {
        let entry = self.entries.get(id.as_str())?;
        Some(match &entry.state {
            _ if entry.digest != digest => Begun::Reused,
            State::Finished(outcome) => Begun::Before(outcome.clone()),
            State::Running | State::Unknown => Begun::Unknown,
        })
    }

    /// Writes down that an action is about to be performed, unless it was before.
    ///
    /// # Errors
    /// If the intent cannot be written; then the action must not be performed.
    pub fn begin(
        &mut self,
        id: &ActionId,
        digest: Digest,
        now: SystemTime,
    ) -> Result<Begun, StorageError> {
        if let Some(known) = self.known(id, digest) {
            return Ok(known);
        }
        let line = Line::Intent {
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
        Ok(Begun::Now)
    }

    /// Writes down how an action went.
    ///
    /// The outcome is remembered even if it cannot be written: then it is unknown after a restart.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(
        &mut self,
        id: &ActionId,
        outcome: &ActionOutcome,
        now: SystemTime,
    ) -> Result<(), StorageError> {
        let line = Line::Outcome {
            id: id.as_str().to_owned(),
            outcome: outcome.into(),
        };
        let written = self.append(&line);
        self.apply(line);
        self.forget(now);
        written?;
        self.compact()
    }

    /// Writes down that nothing of an action was sent, so that it may be asked for again.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn withdraw(&mut self, id: &ActionId) -> Result<(), StorageError> {
        let line = Line::Withdrawn {
            id: id.as_str().to_owned(),
        };
        let written = self.append(&line);
        self.apply(line);
        written
    }

    /// How far an action came.
    #[must_use]
    pub fn look_up(&self, id: &ActionId) -> Progress {
        match self.entries.get(id.as_str()).map(|entry| &entry.state) {
            None => Progress::NotStarted,
            Some(State::Running) => Progress::Running,
            Some(State::Unknown) => Progress::Unknown,
            Some(State::Finished(outcome)) => Progress::Finished(outcome.clone()),
        }
    }

    fn append(&mut self, line: &Line) -> Result<(), StorageError> {
        if self.torn {
            // With it comes back what was not written down meanwhile.
            self.rewrite()?;
        }
        let written = self.file.write_all(&encode(line));
        self.torn = written.is_err();
        self.lines += 1;
        written.map_err(|source| at(&self.folder.path(FILE), source))
    }

    fn apply(&mut self, line: Line) {
        match line {
            Line::Intent { id, digest, at_ms } => {
                let begun_at = SystemTime::UNIX_EPOCH + Duration::from_millis(at_ms);
                self.order.push_back(id.clone());
                self.entries.insert(
                    id,
                    Entry {
                        digest,
                        begun_at,
                        state: State::Running,
                    },
                );
            }
            Line::Outcome { id, outcome } => {
                if let Some(entry) = self.entries.get_mut(&id) {
                    entry.state = outcome.into();
                }
            }
            Line::Withdrawn { id } => {
                self.entries.remove(&id);
                self.order.retain(|known| *known != id);
            }
        }
    }

    /// Forgets what is too much or too old. What is running is kept.
    fn forget(&mut self, now: SystemTime) {
        while let Some(oldest) = self.order.front() {
            let Some(entry) = self.entries.get(oldest) else {
                self.order.pop_front();
                continue;
            };
            let too_many = self.entries.len() > self.retention.entries;
            let too_old = now
                .duration_since(entry.begun_at)
                .is_ok_and(|age| age > self.retention.age);
            if matches!(entry.state, State::Running) || !(too_many || too_old) {
                return;
            }
            self.entries.remove(oldest);
            self.order.pop_front();
        }
    }

    /// Rewrites the file once most of its lines are about what has been forgotten.
    fn compact(&mut self) -> Result<(), StorageError> {
        /// Below this a rewrite is not worth its while.
        const FEWEST_LINES: usize = 1_000;
        let needed = 2 * self.entries.len();
        if self.lines < FEWEST_LINES || self.lines < 2 * needed {
            return Ok(());
        }
        self.rewrite()
    }

    fn rewrite(&mut self) -> Result<(), StorageError> {
        // Until it is done: half of it leaves a file behind that nobody reads again.
        self.torn = true;
        let lines: Vec<Line> = self.order.iter().flat_map(|id| self.lines_of(id)).collect();
        let content: Vec<u8> = lines.iter().flat_map(encode).collect();
        self.folder.replace(FILE, &content)?;
        self.file = self.folder.append(FILE)?;
        self.lines = lines.len();
        self.torn = false;
        Ok(())
    }

    fn lines_of(&self, id: &str) -> impl Iterator<Item = Line> + use<> {
        let lines = self.entries.get(id).map(|entry| {
            let intent = Line::Intent {
                id: id.to_owned(),
                digest: entry.digest,
                at_ms: milliseconds(entry.begun_at),
            };
            let outcome = match &entry.state {
                // Read back without an outcome, it is unknown again.
                State::Running | State::Unknown => None,
                State::Finished(outcome) => Some(Line::Outcome {
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

/// The key of this desktop's hashes, made at the first start.
fn key(folder: &Folder) -> Result<[u8; 32], StorageError> {
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

/// A line: checksum, space, JSON, newline.
fn encode(line: &Line) -> Vec<u8> {
    let json = serde_json::to_string(line).expect("a line has text keys and plain values");
    format!("{:016x} {json}\n", xxh3_64(json.as_bytes())).into_bytes()
}

/// The lines of a file. A torn last line, as a power cut leaves it, is as good as none.
fn parse(content: &[u8]) -> Result<Vec<Line>, String> {
    let mut parts: Vec<&[u8]> = content.split(|byte| *byte == b'\n').collect();
    // What follows the last newline: nothing, or what was being written.
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

fn decode(part: &[u8]) -> Option<Line> {
    let text = std::str::from_utf8(part).ok()?;
    let (checksum, json) = text.split_once(' ')?;
    let is_whole = u64::from_str_radix(checksum, 16).ok()? == xxh3_64(json.as_bytes());
    is_whole.then(|| serde_json::from_str(json).ok()).flatten()
}

/// An outcome as it is stored.
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
        }
    }
}

impl From<StoredOutcome> for State {
    fn from(stored: StoredOutcome) -> Self {
        State::Finished(ActionOutcome {
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
            recorded: false,
        })
    }
}

/// A digest as hexadecimal text.
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
        entries: 3,
        age: Duration::from_secs(100),
        sync: true,
    };

    fn at_second(second: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(second)
    }

    fn open(path: &std::path::Path) -> Journal {
        Journal::open(Arc::new(Folder::open(path).unwrap()), KEPT, at_second(10)).unwrap()
    }

    fn begin(journal: &mut Journal, id: &str, body: &str) -> Begun {
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
    fn an_action_is_begun_once() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = open(folder.path());
        assert_eq!(journal.look_up(&ActionId::new("a")), Progress::NotStarted);
        assert_eq!(begin(&mut journal, "a", "click"), Begun::Now);
        assert_eq!(journal.look_up(&ActionId::new("a")), Progress::Running);
        let outcome = finish(&mut journal, "a");
        assert_eq!(
            begin(&mut journal, "a", "click"),
            Begun::Before(outcome.clone())
        );
        assert_eq!(begin(&mut journal, "a", "type"), Begun::Reused);
        drop(journal);
        let mut journal = open(folder.path());
        assert_eq!(
            begin(&mut journal, "a", "click"),
            Begun::Before(outcome.clone()),
            "across a restart"
        );
        assert_eq!(
            begin(&mut journal, "a", "type"),
            Begun::Reused,
            "the key is kept as well"
        );
        assert_eq!(
            journal.look_up(&ActionId::new("a")),
            Progress::Finished(outcome)
        );
    }

    #[test]
    fn what_was_interrupted_stays_unknown() {
        let folder = tempfile::tempdir().unwrap();
        begin(&mut open(folder.path()), "a", "click");
        for _ in 0..2 {
            let mut journal = open(folder.path());
            assert_eq!(begin(&mut journal, "a", "click"), Begun::Unknown);
            assert_eq!(journal.look_up(&ActionId::new("a")), Progress::Unknown);
        }
    }

    #[test]
    fn what_was_withdrawn_may_be_begun_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut journal = open(folder.path());
        begin(&mut journal, "a", "click");
        journal.withdraw(&ActionId::new("a")).unwrap();
        drop(journal);
        assert_eq!(begin(&mut open(folder.path()), "a", "click"), Begun::Now);
    }

    #[test]
    fn a_torn_end_is_left_out_and_damage_is_not_overlooked() {
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
                Progress::Unknown,
                "cut at {cut}"
            );
            assert_eq!(
                journal.look_up(&ActionId::new("b")),
                Progress::NotStarted,
                "cut at {cut}"
            );
        }
        let mut damaged = whole;
        damaged[30] ^= 1;
        std::fs::write(&path, damaged).unwrap();
        let opened = Journal::open(
            Arc::new(Folder::open(folder.path()).unwrap()),
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
        assert_eq!(journal.entries.len(), KEPT.entries);
        assert!(journal.lines < 1_100, "{} lines", journal.lines);
        drop(journal);
        let journal = Journal::open(
            Arc::new(Folder::open(folder.path()).unwrap()),
            KEPT,
            at_second(10_000),
        )
        .unwrap();
        assert!(journal.entries.is_empty());
    }

    #[test]
    fn nothing_of_a_request_can_be_read() {
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
