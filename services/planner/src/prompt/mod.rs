//! Prompts, as template files that a user can replace, in English and Chinese.
//!
//! - [`language`]: the language of a prompt
//! - [`templates`]: the template files and their rendering
//! - [`context`]: the values of a template
//! - [`history`], [`untrusted`](mod@untrusted), [`advice`]: parts of the context
//!
//! Invariant: text from the screen is always delimited as untrusted, and never part of a system prompt.

pub mod advice;
pub mod context;
pub mod history;
pub mod language;
pub mod templates;
pub mod untrusted;

pub use context::PromptContext;
pub use language::Language;
pub use templates::{Error, Prompts};
