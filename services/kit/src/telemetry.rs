//! Structured logs on standard error, as text for people or as JSON for machines.
//!
//! Callers must not log secrets or pixels. Nothing is sent over the network. A panic is logged here, once, with its
//! location and span.

use std::io::{self, IsTerminal as _};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, Registry};

/// Settings of the section `[log]`, as written.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Log level, or directives such as `info,motorium_kit=debug`.
    pub level: String,
    /// Format: `auto`, `text` or `json`.
    pub format: Format,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            level: "info".to_owned(),
            format: Format::Auto,
        }
    }
}

/// Format of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Text on a terminal, JSON elsewhere.
    #[default]
    Auto,
    /// Text for people.
    Text,
    /// One JSON object per line.
    Json,
}

/// Resolved logging configuration.
#[derive(Debug, Clone)]
pub struct Config {
    directives: String,
    format: Format,
}

impl Settings {
    /// Validates the directives.
    ///
    /// # Errors
    /// If they are malformed.
    pub fn resolve(self) -> Result<Config, Error> {
        if let Err(problem) = EnvFilter::try_new(&self.level) {
            return Err(Error::InvalidLevel {
                level: self.level,
                problem: problem.to_string(),
            });
        }
        Ok(Config {
            directives: self.level,
            format: self.format,
        })
    }
}

/// An error while setting up logging.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The log level or the directives are malformed.
    #[error(
        "invalid log.level `{level}`: use a level (error, warn, info, debug, trace) or directives: {problem}"
    )]
    InvalidLevel {
        /// Level as it was given.
        level: String,
        /// Message of the parser.
        problem: String,
    },
    /// Logging is already set up in this process.
    #[error("logging is already set up in this process")]
    AlreadySet,
}

/// Sets up logging, including a hook that logs panics.
///
/// # Errors
/// If logging is already set up.
pub fn init(config: &Config) -> Result<(), Error> {
    let json = match config.format {
        Format::Auto => !io::stderr().is_terminal(),
        Format::Text => false,
        Format::Json => true,
    };
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr);
    let lines = if json {
        lines
            .json()
            .flatten_event(true)
            .with_current_span(true)
            .with_span_list(false)
            .boxed()
    } else {
        lines.with_ansi(io::stderr().is_terminal()).boxed()
    };
    let filter = EnvFilter::try_new(&config.directives)
        .expect("the directives were checked when they were resolved");
    Registry::default()
        .with(lines.with_filter(filter))
        .try_init()
        .map_err(|_| Error::AlreadySet)?;
    std::panic::set_hook(Box::new(log_panic));
    Ok(())
}

fn log_panic(panic: &std::panic::PanicHookInfo<'_>) {
    let place = panic
        .location()
        .map(ToString::to_string)
        .unwrap_or_default();
    let backtrace = std::backtrace::Backtrace::capture();
    let backtrace = (backtrace.status() == std::backtrace::BacktraceStatus::Captured)
        .then(|| backtrace.to_string());
    tracing::error!(
        message = "panic in the code; please report this bug",
        panic = panic.payload_as_str().unwrap_or("without a message"),
        place,
        backtrace,
    );
}
