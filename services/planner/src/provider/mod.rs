//! The way to those who run models, and what their failures mean.
//!
//! - [`endpoint`]: an address with its key, that requests are posted to
//! - [`failure`]: what a provider's failure means
//! - [`key`]: where keys come from
//! - [`tokens`]: what an answer says that it used
//!
//! Invariant: a key is in no log, no error and no `Debug`; requests go to the configured address and to no other.
//! Nothing here retries.

pub mod endpoint;
pub mod failure;
pub mod key;
mod ordered;
pub mod tokens;

pub use endpoint::Endpoint;
pub use failure::{Failure, FailureKind, Refused};
pub use tokens::Tokens;
