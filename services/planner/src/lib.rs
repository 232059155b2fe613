//! Decides: from a screen and a goal to the next typed decision.
//!
//! - [`backends`]: what decides, each in its own way; the [phrasebook](backends::phrasebook) needs no model
//! - [`router`]: asks them in order until one does
//! - [`matcher`]: finds on a screen what a description means
//! - [`picture`]: from a frame to what a model is sent, and back from its coordinates
//! - [`service`]: the Planner of the contract over all that
//!
//! It acts on nothing, reads no screen by itself and keeps nothing between two calls.

pub mod backends;
pub mod config;
pub mod error;
pub mod matcher;
pub mod picture;
pub mod pointer;
pub mod router;
pub mod service;
pub mod summary;
pub mod target;

pub use config::Settings;
pub use service::PlannerService;
