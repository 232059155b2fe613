//! What can be wrong with a configuration. Each message names the key and where its value came from.

use std::path::PathBuf;

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file that was named does not exist or cannot be read.
    #[error("reading the configuration file {path}: {source}")]
    Unreadable {
        /// As it was given.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file is not TOML.
    #[error("the configuration file {path} is not TOML: {text}")]
    NotToml {
        /// As it was given.
        path: PathBuf,
        /// The parser's own words, with line and column.
        text: String,
    },
    /// A key that no part of Motorium knows.
    #[error("unknown setting `{key}` ({origin}){suggestion}")]
    UnknownKey {
        /// The whole path of the key.
        key: String,
        /// Where it was set.
        origin: String,
        /// The known key that it resembles, as the end of the sentence.
        suggestion: String,
    },
    /// A value that the key cannot have.
    #[error("the setting `{key}` ({origin}) cannot be used: {problem}")]
    BadValue {
        /// The whole path of the key.
        key: String,
        /// Where it was set.
        origin: String,
        /// What is wrong and what is expected.
        problem: String,
    },
    /// A `--set` flag without `=`.
    #[error(
        "`--set {flag}` is not of the form key=value, such as perception.listen=127.0.0.1:7411"
    )]
    BadFlag {
        /// What stands after `--set`.
        flag: String,
    },
    /// A file that a setting names cannot be read.
    #[error("the file {path} named by the setting `{key}` cannot be read: {source}")]
    NamedFile {
        /// The whole path of the key.
        key: String,
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// Settings that contradict or need each other.
    #[error("{0}")]
    Inconsistent(String),
}
