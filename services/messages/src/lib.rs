//! Messages that people read, in English and Chinese: questions, reasons, failures, progress, tables and exports.
//!
//! A [`Message`] names a text and its arguments; [`Message::text`] gives it in a [`Language`]. The texts are in
//! `locales/en.ftl` and `locales/zh.ftl`, in the format of Project Fluent (docs/adr/0016). Pure: the files are part of the
//! program. Deliberately not here: prompts of models, which are templates of the Planner; texts that a model or a user
//! wrote. These stay English, also within a message as its detail:
//!
//! - errors of API calls, and faults in requests and settings, which are named by their field
//! - details that another service or a library reports, such as the detail of an outcome from a driver of the Executor
//! - log lines, and the help of the command line
//! - names in output for programs, such as those in `--json` and `steps.jsonl`
//!
//! Invariant: both files have the same ids with the same arguments.

mod catalogue;
mod language;
mod message;

pub use catalogue::{choice_key, join_clauses, join_list, join_sentences};
pub use language::Language;
pub use message::Message;
