//! Decides: from a screen and a goal to the next typed decision.
//!
//! - [`answer`]: what models say, read as typed actions
//! - [`backends`]: what decides, each in its own way; the [phrasebook](backends::phrasebook) needs no model
//! - [`router`]: asks them in order until one does
//! - [`matcher`]: finds on a screen what a description means
//! - [`models`]: what is known of each model: tools, pictures, thinking, prices
//! - [`picture`]: from a frame to what a model is sent, and back from its coordinates
//! - [`prompt`]: what a model is told, as templates that a user can replace
//! - [`provider`]: the way to those who run models, and what their failures mean
//! - [`service`]: the Planner of the contract over all that
//!
//! It acts on nothing, reads no screen by itself and keeps nothing of a task between two calls: pictures that it has resized stay for a
//! while, under the checksum of what they were made from.

pub mod answer;
pub mod backends;
pub mod config;
pub mod error;
pub mod extract;
pub mod injection;
pub mod matcher;
pub mod models;
pub mod picture;
pub mod pointer;
pub mod prompt;
pub mod provider;
pub mod router;
pub mod service;
pub mod summary;
pub mod target;

pub use config::Settings;
pub use service::PlannerService;
