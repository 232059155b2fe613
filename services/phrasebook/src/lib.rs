//! Understands plain imperative sentences in English and Chinese, and finds on a screen what they name.
//!
//! - [`grammar`]: from a sentence to clauses, each one step
//! - [`matcher`]: from a description to the element or text on a screen that it means
//! - [`calendar`]: dates and times as fields take and show them
//! - [`target`]: from the target of a decision to a point on a screen
//!
//! Pure: no clock, no I/O, no model. Carrying the clauses out, one decision at a time, is the Planner's backend of the same name.

pub mod calendar;
pub mod grammar;
pub mod matcher;
#[cfg(feature = "screens")]
pub mod screens;
pub mod target;
