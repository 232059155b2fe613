//! What a person sees on a terminal: progress of a task, lists, tables. Pure formatting; printing is the caller's.

pub(crate) mod json;
pub(crate) mod progress;
pub(crate) mod table;
