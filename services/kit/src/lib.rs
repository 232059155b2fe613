//! Shared foundation of every Motorium server: configuration, telemetry, server, client.
//!
//! - [`config`]: settings from a file, the environment and flags, each value with its source
//! - [`telemetry`]: structured logs on standard error
//! - [`server`]: a gRPC server with health, reflection, TLS, tokens, limits and graceful shutdown
//! - [`client`]: channels to other services, with the same limits and deadline propagation
//! - [`address`], [`host_pattern`]: addresses of services, and patterns that list some of them or of other hosts
//! - [`http_client`], `own_connections`: HTTP clients for external services, and for servers of this user alone
//! - [`clock`], [`blocking`]: injected wall-clock time; blocking work off the async threads
//! - [`deadline`]: deadlines on servers and clients, and their propagation
//! - [`callers`], [`jwt`], [`authorisation`]: callers with names, tokens of an issuer, and the roles that each method needs
//! - [`connection_origin`]: the connection that a call comes from
//! - [`bearer`]: tokens in the `authorization` header
//! - [`loopback_token`]: the token that servers on the loopback address demand, found by clients of the same user
//! - [`principal`]: the authenticated caller of a call, its tenant and its roles
//! - [`shutdown`], [`end_signals`]: the shutdown signal of a process, and the signals of the system that trigger it
//! - [`watched_file`]: follows the content of files while a process runs
//! - [`private_file`]: files and folders that only this user can open
//! - [`file_identity`]: what tells a file from its copies
//! - `service_manager`: messages to systemd
//!
//! This crate has no domain logic and makes no calls of its own.
//!
//! A complete server (`examples/minimal.rs`; a real one also mounts its service):
//!
//! ```no_run
#![doc = include_str!("../examples/minimal.rs")]
//! ```

pub mod address;
pub mod authorisation;
pub mod bearer;
pub mod blocking;
pub mod callers;
pub mod client;
pub mod clock;
pub mod config;
pub mod connection_origin;
pub mod deadline;
pub mod end_signals;
mod error_info;
pub mod file_identity;
pub mod host_pattern;
pub mod http_client;
pub mod jwt;
pub mod limits;
pub mod loopback_token;
mod own_connections;
mod panics;
pub mod principal;
pub mod private_file;
mod secret;
pub mod server;
#[cfg(target_os = "linux")]
pub mod service_manager;
pub mod shutdown;
pub mod socket_owner;
pub mod telemetry;
mod text_format;
mod values;
pub mod watched_file;

use std::error::Error as StdError;
use std::io::Write as _;
use std::process::ExitCode;

/// Tells systemd that the service is ready, alive and, once it shuts down, ending. Call it when everything is served. Does
/// nothing if systemd has not started this process.
pub fn notify_service_manager(shutdown: &shutdown::Shutdown) {
    #[cfg(target_os = "linux")]
    service_manager::notify(shutdown);
    #[cfg(not(target_os = "linux"))]
    let _ = shutdown;
}

/// An error that prevents a server from starting or ends it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The configuration is invalid.
    #[error(transparent)]
    Config(#[from] config::Error),
    /// Logging cannot be set up.
    #[error(transparent)]
    Telemetry(#[from] telemetry::Error),
    /// The server cannot start, or failed.
    #[error(transparent)]
    Server(#[from] server::Error),
    /// The signal handlers cannot be installed.
    #[error("listening for signals: {0}")]
    Signals(#[from] std::io::Error),
    /// The service itself failed.
    #[error(transparent)]
    Service(Box<dyn StdError + Send + Sync>),
}

impl Error {
    /// Wraps an error of the service itself.
    pub fn service(error: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        Self::Service(error.into())
    }
}

/// Returns the exit code for `main`, after printing an error and its causes to standard error.
///
/// The text does not go through the log, because a configuration error occurs before logging is set up. It is the last
/// line: the log ends before it. Only errors and panics of parts that are still ending may follow.
pub fn exit_code(result: Result<(), Error>) -> ExitCode {
    let Err(error) = result else {
        return ExitCode::SUCCESS;
    };
    telemetry::end();
    // Ignored: if standard error is closed, there is nowhere to report to.
    let _ = writeln!(std::io::stderr(), "error: {}", chain(&error));
    ExitCode::FAILURE
}

/// Formats an error and its causes on one line, without repeating a cause that its parent already quotes.
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
