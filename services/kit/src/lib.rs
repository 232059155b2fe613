//! What every Motorium server shares, so that a service is its own code and nothing else.
//!
//! - [`config`]: settings from a file, the environment and flags, each value with its source
//! - [`telemetry`]: structured logs on standard error
//! - [`server`]: a gRPC server with health, reflection, TLS, tokens, limits and an orderly end
//! - [`client`]: channels to other services, with the same limits and the caller's deadline
//! - [`outbound`]: HTTP clients for calls to others
//! - [`clock`], [`blocking`]: the time, passed in; heavy work, out of the way
//! - [`deadline`]: how much time a call has left, on both sides and through every hop
//! - [`caller`]: whom a call comes from
//! - [`shutdown`]: one signal that everything in a process listens to
//!
//! It knows nothing of what a service does, holds no domain logic and speaks to no one by itself.
//!
//! A whole server looks like this (`examples/minimal.rs`; a real one has its service in place of the empty one):
//!
//! ```no_run
#![doc = include_str!("../examples/minimal.rs")]
//! ```

pub mod blocking;
pub mod caller;
pub mod client;
pub mod clock;
pub mod config;
pub mod deadline;
mod error_info;
pub mod limits;
pub mod outbound;
mod panics;
pub mod server;
pub mod shutdown;
pub mod telemetry;

use std::error::Error as StdError;
use std::io::Write as _;
use std::process::ExitCode;

/// What can keep a server from starting or make it end badly.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] config::Error),
    /// The logs cannot be set up.
    #[error(transparent)]
    Telemetry(#[from] telemetry::Error),
    /// The server cannot start or did not end well.
    #[error(transparent)]
    Server(#[from] server::Error),
    /// The operating system's signals cannot be listened to.
    #[error("listening for signals: {0}")]
    Signals(#[from] std::io::Error),
    /// The service itself failed.
    #[error(transparent)]
    Service(Box<dyn StdError + Send + Sync>),
}

impl Error {
    /// An error of the service, as opposed to one of what all servers share.
    pub fn service(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Service(error.into())
    }
}

/// What `main` returns: success, or the error and everything it was caused by on standard error, and 1.
///
/// The text does not go through the log, because an error of the configuration comes before there is one.
pub fn exit_code(result: Result<(), Error>) -> ExitCode {
    let Err(error) = result else {
        return ExitCode::SUCCESS;
    };
    // Nothing useful can be done when standard error is closed.
    let _ = writeln!(std::io::stderr(), "error: {}", chain(&error));
    ExitCode::FAILURE
}

/// An error and its causes on one line, each said once.
pub(crate) fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        source = cause.source();
    }
    text
}
