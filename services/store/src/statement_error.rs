//! Errors of statements, before database errors are classified.
//!
//! They do not leave this crate: each database maps them to [`Error`].

use crate::Error;

/// Error of a statement: rejected by the store, or failed in the database.
#[derive(Debug)]
pub(crate) enum StatementError {
    Rejected(Error),
    Database(sqlx::Error),
}

impl From<Error> for StatementError {
    fn from(error: Error) -> Self {
        Self::Rejected(error)
    }
}

impl From<sqlx::Error> for StatementError {
    fn from(error: sqlx::Error) -> Self {
        Self::Database(error)
    }
}
