//! A task as data: its specification, its events, the fold over them, and the state machine that chooses the next step.
//!
//! Everything here is pure: no clock, no I/O, no async. A task is the fold of its events, and [`machine::directive`]
//! returns the next thing to do. The Orchestrator's run loop executes the directive, records the outcome as events, and
//! asks again. Invariant: a task recovered from the store continues exactly like one that was never interrupted.

pub mod approval;
pub mod approval_context;
mod artifact;
pub mod completion;
mod desktop_wait;
mod directive;
pub mod effect;
pub mod event;
mod fold;
pub mod invariants;
pub mod keyboard;
pub mod limits;
pub mod loop_detection;
mod loop_notice;
pub mod machine;
pub mod owner;
pub mod reason;
mod record;
pub mod retry;
mod retry_strategy;
pub mod risk;
#[cfg(test)]
mod samples;
pub mod screen;
pub mod secret_fields;
pub mod session;
mod shortened;
pub mod shown_text;
pub mod spec;
pub mod summary;
mod usage_tally;
pub mod view;
pub mod words;

pub use approval::{Approval, ApprovalState, ApprovalSubject};
pub use approval_context::ApprovalContext;
pub use desktop_wait::{DesktopHold, DesktopWait};
pub use event::{Event, RecordedEvent};
pub use fold::{AttachedImage, Lifecycle, Statement, Task};
pub use record::{Abandonment, ActionRecord, StepRecord};
pub use spec::TaskSpec;
pub use usage_tally::UsageTally;
