//! Structured logs on standard error, as text for people or as JSON for machines.
//!
//! Callers must not log secrets or pixels. Nothing is sent over the network. A panic is logged here, once, with its
//! location and span. A program that fails ends the log with [`end`] before it prints its error; errors and panics are
//! logged also after that.

use std::io::{self, IsTerminal as _};
use std::sync::{Mutex, PoisonError};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tracing::{Level, Metadata};
use tracing_subscriber::fmt::MakeWriter;
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

/// True once the log of this process has ended.
static HAS_ENDED: Mutex<bool> = Mutex::new(false);

/// Ends the log: later lines below the level ERROR are dropped, so that what the program prints next is its last line.
///
/// The parts of a program that fails end one after the other, and log that they have lost each other. Errors and panics
/// among this are failures of their own.
pub fn end() {
    *HAS_ENDED.lock().unwrap_or_else(PoisonError::into_inner) = true;
}

/// Creates the outputs of log lines on standard error.
struct LogOutputs {
    has_ended: &'static Mutex<bool>,
}

impl MakeWriter<'_> for LogOutputs {
    type Writer = LogOutput<io::Stderr>;

    fn make_writer(&self) -> Self::Writer {
        LogOutput {
            has_ended: self.has_ended,
            outlives_end: false,
            output: io::stderr(),
        }
    }

    fn make_writer_for(&self, line: &Metadata<'_>) -> Self::Writer {
        LogOutput {
            outlives_end: *line.level() == Level::ERROR,
            ..self.make_writer()
        }
    }
}

/// The output of one line, which is dropped after the log has ended unless it outlives that.
#[derive(Debug)]
struct LogOutput<W> {
    has_ended: &'static Mutex<bool>,
    outlives_end: bool,
    output: W,
}

impl<W: io::Write> io::Write for LogOutput<W> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        // Held while the line is written, so that no line is under way when `end` returns.
        let has_ended = self.has_ended.lock();
        let has_ended = has_ended.unwrap_or_else(PoisonError::into_inner);
        if *has_ended && !self.outlives_end {
            return Ok(line.len());
        }
        self.output.write(line)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
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
    let lines = tracing_subscriber::fmt::layer().with_writer(LogOutputs {
        has_ended: &HAS_ENDED,
    });
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

#[cfg(test)]
mod tests {
    use std::io::Write as _;
    use std::sync::Arc;

    use tracing::{Event, Subscriber};
    use tracing_subscriber::Layer;
    use tracing_subscriber::layer::Context;

    use super::*;

    #[test]
    fn only_errors_are_written_to_a_log_that_has_ended() {
        static ENDED: Mutex<bool> = Mutex::new(false);
        let written = |outlives_end| {
            let mut log = LogOutput {
                has_ended: &ENDED,
                outlives_end,
                output: Vec::new(),
            };
            log.write_all(b"line\n").unwrap();
            log.output
        };
        assert_eq!(written(false), b"line\n");
        *ENDED.lock().unwrap() = true;
        assert_eq!(written(false), b"");
        assert_eq!(written(true), b"line\n");
    }

    #[test]
    fn only_lines_of_the_level_error_outlive_the_end() {
        /// Keeps, for each event, if its line outlives the end of the log.
        struct Outliving(Arc<Mutex<Vec<bool>>>);

        impl<S: Subscriber> Layer<S> for Outliving {
            fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
                let outputs = LogOutputs {
                    has_ended: &HAS_ENDED,
                };
                let output = outputs.make_writer_for(event.metadata());
                self.0.lock().unwrap().push(output.outlives_end);
            }
        }

        let outliving = Arc::default();
        let log = Registry::default().with(Outliving(Arc::clone(&outliving)));
        tracing::subscriber::with_default(log, || {
            tracing::error!("the outcome could not be recorded");
            tracing::warn!("the connection was lost");
            tracing::info!("stopped");
        });
        assert_eq!(*outliving.lock().unwrap(), [true, false, false]);
    }
}
