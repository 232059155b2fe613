//! Sees: from a screen to a numbered list of things.
//!
//! [`capture`] takes pictures, [`parse`] finds what is on them, [`marks`] makes a numbered scene of it, [`frames`]
//! keeps what was seen, and [`settle`] waits until the screen is quiet. [`service`] puts them together as the contract
//! wants it. Nothing here acts on a screen, and nothing is kept on disk.

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
