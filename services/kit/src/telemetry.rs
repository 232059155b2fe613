//! Logs: structured, on standard error, as text for a person and as JSON for a machine.
//!
//! There are no secrets and no pixels in them; whoever logs sees to that. Nothing is sent anywhere. A panic is
//! logged here, once, with its place and the span it happened in.

use std::io::{self, IsTerminal as _};

use serde::{Deserialize, Serialize};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;
use tracing_subscriber::{EnvFilter, Layer as _, Registry};

use crate::config;

/// How to log, as written: the section `[log]`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// A level, or directives such as `info,motorium_kit=debug`.
    pub level: String,
    /// `auto`, `text` or `json`.
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

/// What a line of the log looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Text on a terminal, JSON elsewhere.
    #[default]
    Auto,
    /// For people.
    Text,
    /// One object per line.
    Json,
}

/// How to log, as meant.
#[derive(Debug, Clone)]
pub struct Config {
    directives: String,
    format: Format,
}

impl Settings {
    /// Checks the directives.
    ///
    /// # Errors
    /// If they cannot be understood.
    pub fn resolve(self) -> Result<Config, config::Error> {
        EnvFilter::try_new(&self.level).map_err(|error| {
            config::Error::Inconsistent(format!(
                "log.level `{}` is neither a level (error, warn, info, debug, trace) nor directives: {error}",
                self.level
            ))
        })?;
        Ok(Config {
            directives: self.level,
            format: self.format,
        })
    }
}

/// Why logging cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Something else in this process has set up logging.
    #[error("logging was already set up in this process")]
    AlreadySet,
}

/// Begins logging and has panics logged.
///
/// # Errors
/// If it was called before.
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
        message = "a defect: the code panicked",
        panic = panic.payload_as_str().unwrap_or("without a message"),
        place,
        backtrace,
    );
}
