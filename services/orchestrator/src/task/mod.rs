//! A task as data: what can happen to it, what it is after that, and what is to be done next.
//!
//! Everything here is pure: no clock, no I/O, no async. A task is the fold of its events; [`machine::directive`]
//! says what comes next. Whoever carries a task out ([`crate::run`]) does what the directive says, records what
//! happened as events, and asks again; so a task that was recovered from the store goes on exactly like one that
//! was never interrupted.

pub mod approval;
pub mod completion;
pub mod event;
mod fold;
pub mod invariants;
pub mod keyboard;
pub mod limits;
pub mod loops;
pub mod machine;
mod record;
pub mod retry;
pub mod risk;
#[cfg(test)]
mod samples;
pub mod screen;
pub mod secret_fields;
pub mod spec;
pub mod view;

pub use approval::{Approval, ApprovalState, Subject};
pub use event::{Event, Recorded};
pub use fold::{Lifecycle, Task};
pub use record::{ActionRecord, StepRecord};
pub use spec::TaskSpec;
