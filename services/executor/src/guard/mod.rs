//! Checks before a driver acts: the rules, the lease, and the at-most-once journal.
//!
//! The guard performs no input. It decides whether an action may be performed and by which lease holder, and whether
//! it was performed before.
//!
//! Invariant: an action reaches a driver only after its rules were checked, under a valid lease of the highest epoch,
//! and after its intent was recorded.

pub mod allowed_windows;
pub mod journal;
pub mod lease;
pub mod named_hosts;
pub mod rate_limiter;
mod refusal;
pub mod rules;
pub mod secret_grants;
mod storage;
pub mod url_rules;

pub use refusal::Refusal;
pub use storage::{StateFolder, StorageError};
