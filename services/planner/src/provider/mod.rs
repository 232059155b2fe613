//! The way to those who run models, and what their failures mean.
//!
//! - [`tokens`]: what an answer says that it used

pub mod tokens;

pub use tokens::Tokens;
