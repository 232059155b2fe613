//! What stands before the hands: the rules, the lease, and the once-only journal.
//!
//! The guard performs nothing. It says whether an action may be performed, by whom, and whether it has been already.
//!
//! Invariant: an action reaches a driver only after its rules were checked, under a live lease of the highest epoch,
//! and after its intent was written down.

pub mod addresses;
pub mod journal;
pub mod lease;
pub mod rate;
pub mod rules;
mod storage;
pub mod targets;

pub use storage::{Folder, StorageError};
