//! The Executor: performs a closed list of typed input actions. It runs no code and no shell.
//!
//! [`drivers`] send the input, the [`guard`] checks each action first, and a [`desktop`] combines both with its
//! [`secrets`] and [`files`]. The [`service`] implements the contract's trait over one or more desktops, [`start`] starts it
//! by its [`config`], and code of the same process calls it as [`InProcessExecutor`]. This is the
//! only service that can move the mouse and the only one that reads secrets.

mod audited;
pub mod config;
pub mod desktop;
pub mod drivers;
pub mod error;
pub mod files;
pub mod guard;
mod in_process;
pub mod policy;
pub mod secrets;
pub mod service;
pub mod start;

pub use config::{Config, Settings};
pub use in_process::InProcessExecutor;
pub use service::ExecutorService;
