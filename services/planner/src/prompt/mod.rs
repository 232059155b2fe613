//! What a model is told, as templates in files that a user can replace, in English and Chinese.
//!
//! - [`language`]: in which language
//! - [`templates`]: the files, and how one of them becomes text
//!
//! Invariant: text from the screen stands between delimiters that say so, and never in a system prompt.

pub mod language;
pub mod templates;

pub use language::Language;
pub use templates::{Error, Prompts};
