//! Parsing: from pixels to the things on them.
//!
//! [`detect`] finds controls, [`read`] finds text. Each is a trait with a seat for other implementations;
//! [`queue`] runs them. Merging what
//! they find, order, numbers and prompt lines are the matter of `marks`.

pub mod detect;
pub mod queue;
pub mod read;
