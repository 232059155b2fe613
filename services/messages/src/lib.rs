//! Messages that people read, in English and Chinese: questions, reasons, failures and progress.
//!
//! A [`Message`] names a text and its arguments; [`Message::text`] gives it in a [`Language`]. The texts are in
//! `locales/en.ftl` and `locales/zh.ftl`, in the format of Project Fluent (docs/adr/0016). Pure: the files are part of the
//! program. Deliberately not here: errors of API calls and log lines, which stay English; prompts of models, which are
//! templates of the Planner; texts that a model or a user wrote.
//!
//! Invariant: both files have the same ids with the same arguments.

mod catalogue;
mod language;
mod message;

pub use catalogue::{join_clauses, join_list, join_sentences};
pub use language::Language;
pub use message::Message;
