//! The records of the audit log and their form: one JSON object per line, with its hash at the end.
//!
//! It opens no files, and does not decide what is recorded.

use std::fmt;
use std::str::FromStr;
use std::time::SystemTime;

use jiff::Timestamp;
use motorium_text::rfc3339;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// Maximum number of characters of a name in a record.
// Names of resources and principals are shorter; longer ones are not names.
const MAX_NAME_CHARS: usize = 256;
/// Stands for a text that is not a name, which may be anything that a caller or a model wrote.
const NOT_A_NAME: &str = "(not a name)";
/// Kind of the record of a log that has lost its end or its head.
pub(super) const GAP: &str = "gap";
/// Kind of the record of files that were removed because they were old. Its resource is the last record of them, or empty where a
/// new file begins so that older ones can be removed one day.
pub(super) const RETENTION: &str = "retention";
/// Text before the hash at the end of a line.
const BEFORE_HASH: &str = ",\"hash\":\"";
/// Text after it.
const AFTER_HASH: &str = "\"}";
/// Length of a hash in hexadecimal.
const HASH_CHARS: usize = 64;

/// Part of an audited event: its beginning or its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Recorded before it happens.
    Begun,
    /// Recorded after it, with its outcome.
    Ended,
}

/// An entry of the audit log, before it has a number and a hash.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditEntry {
    pub at: SystemTime,
    /// Name of the principal on whose behalf it happens.
    pub principal: String,
    pub tenant: String,
    /// Name of the call, or kind of the event: `action`, `approval`, `function`.
    pub what: &'static str,
    pub phase: Phase,
    /// Resource name.
    pub resource: String,
    /// Kind of the action, or name of the function; empty for none.
    pub kind: String,
    /// Code of the call, or result of the event; empty before the end.
    pub outcome: String,
}

/// A position of the log with its hash: everything up to it is fixed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Number of the record.
    pub seq: u64,
    pub hash: Hash,
}

/// The hash of a record.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Hash(pub(super) [u8; 32]);

impl Hash {
    /// Stands for the record before the first one.
    pub(super) const NONE: Self = Self([0; 32]);

    fn of(text: &str) -> Self {
        Self(Sha256::digest(text).into())
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Hash({self})")
    }
}

impl FromStr for Hash {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const PROBLEM: &str = "a hash has 64 hexadecimal digits";
        let digits = text.as_bytes();
        let is_digit = |digit: &u8| matches!(digit, b'0'..=b'9' | b'a'..=b'f');
        if digits.len() != HASH_CHARS || !digits.iter().all(is_digit) {
            return Err(PROBLEM);
        }
        let mut hash = [0; 32];
        for (index, byte) in hash.iter_mut().enumerate() {
            let pair = text.get(2 * index..2 * index + 2).ok_or(PROBLEM)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| PROBLEM)?;
        }
        Ok(Self(hash))
    }
}

impl fmt::Display for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.seq, self.hash)
    }
}

impl FromStr for Checkpoint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parsed = text.split_once(':').and_then(|(seq, hash)| {
            let (seq, hash) = (seq.parse().ok()?, hash.parse().ok()?);
            Some(Self { seq, hash })
        });
        parsed.ok_or_else(|| {
            format!("`{text}` is not a checkpoint; copy one that `motorium audit verify` printed")
        })
    }
}

/// A record as it is written, without its hash.
#[derive(Debug, Serialize, Deserialize)]
struct Written {
    seq: u64,
    time: String,
    principal: String,
    tenant: String,
    what: String,
    phase: Phase,
    resource: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    kind: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    outcome: String,
    /// Hash of the record before.
    previous: String,
}

/// Returns the line of an entry, which comes after this record, and its own position.
pub(super) fn line(entry: &AuditEntry, seq: u64, previous: Hash) -> (String, Checkpoint) {
    let written = Written {
        seq,
        time: rfc3339::format(entry.at),
        principal: shortened(&entry.principal),
        tenant: shortened(&entry.tenant),
        what: entry.what.to_owned(),
        phase: entry.phase,
        resource: name(&entry.resource),
        kind: name(&entry.kind),
        outcome: name(&entry.outcome),
        previous: previous.to_string(),
    };
    let mut text = serde_json::to_string(&written).expect("strings can be written into memory");
    text.truncate(text.len() - 1);
    let hash = Hash::of(&text);
    let line = format!("{text}{BEFORE_HASH}{hash}{AFTER_HASH}\n");
    (line, Checkpoint { seq, hash })
}

/// Returns the name of a principal or a tenant, which the operator or an issuer of tokens has chosen.
fn shortened(text: &str) -> String {
    text.chars().take(MAX_NAME_CHARS).collect()
}

/// Returns a name as it is, and a placeholder for any other text: a secret that is given as a name is not written down.
fn name(text: &str) -> String {
    let is_named = |letter: char| letter.is_ascii_alphanumeric() || "._-/:@+%()".contains(letter);
    match text.chars().count() <= MAX_NAME_CHARS && text.chars().all(is_named) {
        true => text.to_owned(),
        false => NOT_A_NAME.to_owned(),
    }
}

/// A record that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReadRecord {
    pub(super) seq: u64,
    pub(super) at: Timestamp,
    pub(super) what: String,
    pub(super) resource: String,
    pub(super) previous: Hash,
    pub(super) hash: Hash,
}

impl ReadRecord {
    pub(super) fn checkpoint(&self) -> Checkpoint {
        Checkpoint {
            seq: self.seq,
            hash: self.hash,
        }
    }
}

/// Reads a line without its end. `None` if it is not a record, or its hash is not that of its content.
pub(super) fn read(line: &str) -> Option<ReadRecord> {
    let rest = line.strip_suffix(AFTER_HASH)?;
    let (text, hash) = rest.rsplit_once(BEFORE_HASH)?;
    let hash: Hash = hash.parse().ok()?;
    if Hash::of(text) != hash {
        return None;
    }
    let written: Written = serde_json::from_str(&format!("{text}}}")).ok()?;
    Some(ReadRecord {
        seq: written.seq,
        at: written.time.parse().ok()?,
        what: written.what,
        resource: written.resource,
        previous: written.previous.parse().ok()?,
        hash,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(resource: &str) -> AuditEntry {
        AuditEntry {
            at: SystemTime::UNIX_EPOCH,
            principal: "spiffe://example.com/ann".to_owned(),
            tenant: "acme".to_owned(),
            what: "CancelTask",
            phase: Phase::Begun,
            resource: resource.to_owned(),
            kind: String::new(),
            outcome: String::new(),
        }
    }

    #[test]
    fn a_record_is_one_line_of_json() {
        let (line, at) = line(&entry("tasks/a"), 7, Hash::NONE);
        let read = read(line.trim_end()).unwrap();
        assert_eq!(
            (read.seq, read.previous, read.hash),
            (7, Hash::NONE, at.hash)
        );
        let json: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(json["principal"], "spiffe://example.com/ann");
        assert_eq!(json["time"], "1970-01-01T00:00:00.000Z");
        assert_eq!(json["hash"], at.hash.to_string());
        assert_eq!(at.to_string().parse(), Ok(at));
    }

    #[test]
    fn a_text_in_place_of_a_name_is_not_written() {
        for text in ["my secret", "geheim\n", "密码", &"a".repeat(300)] {
            let (line, _) = line(&entry(text), 1, Hash::NONE);
            assert!(
                !line.contains(text.trim()) && line.contains(NOT_A_NAME),
                "{line}"
            );
        }
    }
}
