//! Planner: returns the next typed decision for a screen and a goal.
//!
//! - [`response`]: parses model responses into typed actions
//! - [`backends`]: the backends that decide; the [phrasebook](backends::phrasebook) needs no model
//! - [`router`]: calls the backends in order until one decides
//! - [`models`]: data about each model: tools, images, thinking, prices
//! - [`screenshot`]: renders frames for a model, and converts its coordinates back
//! - [`prompt`]: prompt templates, which a user can replace
//! - [`provider`]: HTTP endpoints of model providers, and the meaning of their errors
//! - `text_entry`: how texts of several lines are entered
//! - [`service`]: the Planner service
//!
//! It performs no actions, captures no screens and keeps no task state between calls. Resized images stay in a cache for a while,
//! keyed by the checksum of the original.

pub mod backends;
pub mod config;
pub mod error;
pub mod extract;
pub mod injection;
pub mod models;
pub mod pointer;
pub mod prompt;
pub mod provider;
pub mod response;
pub mod router;
pub mod screenshot;
pub mod service;
pub mod summary;
pub mod target;
mod text_entry;

pub use config::Settings;
pub use service::PlannerService;
