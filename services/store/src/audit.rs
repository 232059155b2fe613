//! The audit log: who did what and when, in files that show a later change.
//!
//! Each record has the hash of the one before it, so a record that is changed, removed, inserted or moved breaks the chain.
//! A small file beside the log, the head, has the number and the hash of the last record, so that a shortened log is found.
//! Someone who can write the folder can compute a new chain and a new head: only a checkpoint that is kept elsewhere
//! ([`Checkpoint`]) proves that the log up to it is the original one.
//!
//! - `entry`: what is recorded, and the form of a record
//! - `folder`: the files of a log, and its head
//! - `writer`: appends
//! - `refusals`: records calls that were refused before a service saw them
//! - `removal`: removes old files
//! - `verify`: checks and exports
//!
//! It does not decide what is recorded. Records have names, kinds and outcomes; no texts, values or images.
//!
//! Invariant: a record that was confirmed is in the file, and its head is not behind it. Several processes may append.

mod entry;
mod folder;
mod refusals;
mod removal;
mod verify;
mod writer;

pub use entry::{AuditEntry, Checkpoint, Phase};
pub use refusals::RefusalRecorder;
pub use verify::{AuditProblem, AuditReport, export, verify};
pub use writer::AuditLog;
