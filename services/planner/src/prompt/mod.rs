//! Prompts, as template files that a user can replace, in English and Chinese.
//!
//! - [`templates`]: the template files and their rendering
//! - [`context`]: the values of a template
//! - [`background`](mod@background), [`history`], [`untrusted`](mod@untrusted), [`advice`]: parts of the context
//!
//! Invariant: text from the screen is always delimited as untrusted, and never part of a system prompt.

pub mod advice;
pub mod background;
pub mod context;
pub mod history;
pub mod templates;
pub mod untrusted;

pub use background::background;
pub use context::PromptContext;
pub use motorium_messages::Language;
pub use templates::{Error, Prompts};
