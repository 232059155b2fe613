//! Configuration errors. Each message names the key and the source of its value.
//!
//! Values of secrets are not in a message.

use std::path::PathBuf;

/// A configuration error.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The configuration file does not exist or cannot be read.
    #[error("reading the configuration file {path}: {source}")]
    Unreadable {
        /// Path as it was given.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// The file is not TOML.
    #[error("the configuration file {path} is not TOML: {text}")]
    NotToml {
        /// Path as it was given.
        path: PathBuf,
        /// Message of the parser, with line and column.
        text: String,
    },
    /// The key is unknown.
    #[error("unknown setting `{key}` ({origin}){suggestion}")]
    UnknownKey {
        /// Full path of the key.
        key: String,
        /// Source of the setting.
        origin: String,
        /// Suggested key, or the list of known keys, as the end of the sentence.
        suggestion: String,
    },
    /// The value is invalid.
    #[error("invalid setting `{key}` ({origin}): {problem}")]
    BadValue {
        /// Full path of the key.
        key: String,
        /// Source of the setting.
        origin: String,
        /// Problem, and the expected value.
        problem: String,
    },
    /// A `--set` flag has no `=`.
    #[error(
        "`--set {flag}` is not of the form key=value, such as perception.listen=127.0.0.1:7411"
    )]
    BadFlag {
        /// Text after `--set`.
        flag: String,
    },
    /// A file that a setting names cannot be read.
    #[error("the file {path} named by the setting `{key}` cannot be read: {source}")]
    NamedFile {
        /// Full path of the key.
        key: String,
        /// The file.
        path: PathBuf,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// Settings contradict or require each other.
    #[error("{0}")]
    Inconsistent(String),
}
