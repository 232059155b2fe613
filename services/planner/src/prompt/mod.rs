//! What a model is told, as templates in files that a user can replace, in English and Chinese.
//!
//! - [`language`]: in which language
//! - [`templates`]: the files, and how one of them becomes text
//! - [`situation`]: what a request has to say, as the values of a template
//! - [`history`], [`untrusted`](mod@untrusted), [`advice`]: parts of that
//!
//! Invariant: text from the screen stands between delimiters that say so, and never in a system prompt.

pub mod advice;
pub mod history;
pub mod language;
pub mod situation;
pub mod templates;
pub mod untrusted;

pub use language::Language;
pub use situation::Situation;
pub use templates::{Error, Prompts};
