//! HTTP endpoints of model providers, and the meaning of their failures.
//!
//! - [`endpoint`]: an endpoint with its key
//! - [`failure`]: classification of failures
//! - [`api_key`]: loading of keys
//!
//! Invariant: a key appears in no log, error or `Debug` output; requests go only to the configured address. Nothing is
//! retried here.

pub mod api_key;
pub mod endpoint;
pub mod failure;
mod schema_order;

pub use endpoint::Endpoint;
pub use failure::{FailureKind, ProviderFailure, RejectedRequest};
