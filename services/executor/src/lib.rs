//! Acts: a closed list of typed input actions, and nothing else. No code, no shell.
//!
//! [`drivers`] are the hands; the [`guard`] stands before them; a [`desktop`] is both together with its [`secrets`]
//! and [`files`]; the [`service`] is the contract's trait over one or several desktops. This is the only service that
//! can move the mouse, and the only one that reads secrets.

pub mod config;
pub mod desktop;
pub mod drivers;
pub mod error;
pub mod files;
pub mod guard;
pub mod secrets;
pub mod service;
pub mod terms;

pub use config::{Config, Settings};
pub use service::ExecutorService;
