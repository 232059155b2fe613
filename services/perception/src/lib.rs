//! Perception: from a screen to a numbered list of elements.
//!
//! [`capture`] takes screenshots, [`parse`] detects elements and text on them, [`marks`] merges these into a numbered
//! scene, [`frames`] keeps recent frames, and [`settle`] waits until the screen is idle. [`service`] implements the
//! gRPC contract with these parts. Nothing here acts on a screen or writes to disk.

mod areas;
pub mod capture;
pub mod config;
pub mod error;
pub mod frames;
pub mod marks;
pub mod parse;
pub mod service;
pub mod settle;

pub use config::{Config, Settings};
pub use service::PerceptionService;
